# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Names on the card as the driver shows them: name.h, which is compiled here as it stands."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

DRIVER = Path(__file__).resolve().parents[1]
TEXT = '#include "name.h"\nvoid clean(char *name, u32 bytes);\nvoid clean(char *name, u32 bytes) { tp_name_clean(name, bytes); }\n'


@pytest.fixture(scope="module", params=["-fsigned-char", "-funsigned-char"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """As it is compiled for the kernel, and for one who means something else by `char`."""
    path = tmp_path_factory.mktemp("name") / "name.so"
    options = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{DRIVER}", request.param)
    subprocess.run(["cc", *options, "-x", "c", "-", "-o", path], input=TEXT, text=True, check=True)
    return ctypes.CDLL(str(path))


def clean(library: ctypes.CDLL, name: bytes) -> bytes:
    """With a byte behind it that is not the name's."""
    memory = ctypes.create_string_buffer(name + b"\xee")
    library.clean(memory, ctypes.c_uint32(len(name)))
    assert memory.raw[len(name)] == 0xEE
    return memory.raw[: len(name)]


def test_a_name_stays_as_it_is(library: ctypes.CDLL) -> None:
    printable = bytes(range(0x20, 0x7F))
    assert clean(library, printable) == printable
    assert clean(library, b"loopback".ljust(32, b"\0")) == b"loopback".ljust(32, b"\0")
    assert clean(library, bytes(32)) == bytes(32)


def test_any_other_byte_is_a_question_mark(library: ctypes.CDLL) -> None:
    others = [*range(1, 0x20), *range(0x7F, 0x100)]
    assert clean(library, bytes(others)) == b"?" * len(others)
    assert clean(library, b"\x1b[31mred\xc3\xa4\n" + bytes(4)) == b"?[31mred???" + bytes(4)


def test_nothing_is_behind_its_end(library: ctypes.CDLL) -> None:
    hidden = b"in\0\x1b[31mhidden\0too"
    assert clean(library, hidden) == b"in".ljust(len(hidden), b"\0")
