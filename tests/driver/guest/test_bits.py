# SPDX-License-Identifier: Apache-2.0
"""A program of 32 bits beside one of 64, of the same source and the header that programs have: bits.c."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest
from inside import IN_QEMU, ROOT, Card, Module, until

needs_both = pytest.mark.skipif(not IN_QEMU, reason="User-Mode Linux of 64 bits runs no programs of 32")
# It has no library, and no memory but its own; headers are those of this machine's kernel.
OPTIONS = ["-ffreestanding", "-nostdlib", "-static", "-fno-pie", "-fno-stack-protector", "-O1", "-Wall", "-Wextra", "-Werror"]


@pytest.mark.parametrize("bits", [pytest.param(32, marks=needs_both), 64])
def test_a_program_of_so_many_bits(driver: Module, card: Card, tmp_path: Path, bits: int) -> None:
    until(lambda: "in" in card.files, "the card's files are there")
    (tmp_path / "linux").mkdir()
    (tmp_path / "linux/towpath.h").write_text((ROOT / "driver/linux/uapi/towpath.h").read_text())
    system = f"/usr/include/{platform.machine()}-linux-gnu"
    program = tmp_path / "bits"
    command = [
        "gcc",
        f"-m{bits}",
        *OPTIONS,
        f"-I{tmp_path}",
        "-isystem",
        system,
        f'-DFOLDER="/dev/{card.name}"',
        Path(__file__).with_name("bits.c"),
    ]
    compiled = subprocess.run([*command, "-o", program], capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
    assert program.read_bytes()[4] == {32: 1, 64: 2}[bits], "as ELF says"
    assert subprocess.run([program], timeout=60).returncode == 0, "the line of bits.c that failed, modulo 256"
