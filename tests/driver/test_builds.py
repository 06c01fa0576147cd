# SPDX-License-Identifier: Apache-2.0
"""The driver builds for the kernels of Debian's releases without a warning, and sparse and checkpatch find nothing in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import headers  # noqa: E402
import kernel  # noqa: E402

DRIVER = kernel.ROOT / "driver/linux"
# Of checkpatch's opinions: what is only right for drivers within the kernel's tree.
NOT_ASKED = "LINUX_VERSION_CODE,CONSTANT_COMPARISON,MACRO_ARG_REUSE"
# And of tracepoints: their macros look as they do in the kernel's own headers.
NOT_ASKED_OF = {"trace.h": f"{NOT_ASKED},COMPLEX_MACRO,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT"}

OPTIONAL = {"tp_uring_command", "tp_latency_add"}
# What programs were built with: structures do not grow.
SIZES = {
    "towpath_card_info": 88,
    "towpath_channel_info": 84,
    "towpath_channel_qos": 24,
    "towpath_plugin_info": 32,
    "towpath_window": 48,
    "towpath_register": 16,
    "towpath_interrupt": 32,
    "towpath_interrupt_event": 16,
    "towpath_link_counters": 56,
    "towpath_register_buffer": 32,
    "towpath_allocate_buffer": 32,
    "towpath_import_buffer": 24,
    "towpath_unregister_buffer": 16,
    "towpath_queue": 16,
    "towpath_piece": 24,
    "towpath_transfer": 40,
    "towpath_completion": 24,
    "towpath_exchange": 64,
    "towpath_fill_level": 32,
    "towpath_uring_transfer": 16,
    "towpath_message_start": 32,
    "towpath_moderation": 16,
    "towpath_channel_statistics": 72,
}


def make(folder: Path, version: str, *arguments: str) -> str:
    """What a build of a copy of the driver says; the build is good."""
    try:
        tree = headers.headers(version)
    except kernel.Missing as why:
        pytest.skip(str(why))
    copy = shutil.copytree(DRIVER, folder / "driver")
    # The last step is left out for the newest: the kernel's program for it wants a newer C library than there may be.
    target = "towpath.o" if version == "newest" else "modules"
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "ARCH")}
    command = ["make", f"-C{tree}", f"M={copy}", *headers.OPTIONS, *arguments, target]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and (copy / target.replace("modules", "towpath.ko")).exists(), said[-6000:]
    return said


def defined(module: Path) -> set[str]:
    """The functions of a module, and what else it defines."""
    return set(subprocess.run(["nm", "--defined-only", "-j", module], capture_output=True, text=True, check=True).stdout.split())


def complaints(said: str) -> list[str]:
    """Lines about our files."""
    return [line for line in said.splitlines() if re.search(r"/driver/\S+:\d+.*(warning|error)", line)]


@pytest.mark.parametrize("version", headers.KERNELS)
def test_it_builds_without_a_warning(tmp_path: Path, version: str) -> None:
    assert complaints(make(tmp_path, version, "W=1")) == []
    wanted = subprocess.run(["nm", "--undefined-only", "-j", tmp_path / "driver/towpath.o"], capture_output=True, text=True, check=True)
    exported = {line.split("\t")[1] for line in (headers.headers(version) / "Module.symvers").read_text().splitlines()}
    assert len(exported) > 1000 and set(wanted.stdout.split()) - exported <= {"__this_module"}
    # The oldest knows no commands of rings that can be ended.
    assert OPTIONAL & defined(tmp_path / "driver/towpath.o") == (OPTIONAL if version != "6.1" else {"tp_latency_add"})


def test_it_builds_for_a_kernel_without_tracing_and_debugfs(tmp_path: Path) -> None:
    """Options that the kernel's headers know are taken back before they are read."""
    options = "TRACING TRACEPOINTS EVENT_TRACING FTRACE FTRACE_SYSCALLS FUNCTION_TRACER BPF_EVENTS PERF_EVENTS DEBUG_FS".split()
    without = tmp_path / "without.h"
    without.write_text("".join(f"#undef CONFIG_{option}\n" for option in options))
    assert complaints(make(tmp_path, "6.1", "W=1", f"KCFLAGS=-include {without}")) == []
    symbols = subprocess.run(["nm", tmp_path / "driver/towpath.ko"], capture_output=True, text=True, check=True).stdout
    assert "tp_latency_add" in symbols and "__tracepoint_" not in symbols


@pytest.mark.parametrize("version", headers.KERNELS)
def test_it_builds_without_its_optional_parts(tmp_path: Path, version: str) -> None:
    """test_it_builds_without_a_warning() builds it with them."""
    assert complaints(make(tmp_path, version, "W=1", "CONFIG_TOWPATH_URING=n", "CONFIG_TOWPATH_LATENCY=n")) == []
    assert not OPTIONAL & defined(tmp_path / "driver/towpath.o")


@pytest.mark.parametrize("version", ["6.1", "6.12"])
def test_sparse_finds_nothing(tmp_path: Path, version: str) -> None:
    """The older knows no transfers by io_uring."""
    try:
        checker = headers.sparse()
    except kernel.Missing as why:
        pytest.skip(str(why))
    said = make(tmp_path, version, "C=2", f"CHECK={checker}")
    assert "CHECK " in said and complaints(said) == []


def test_programs_of_32_bits_see_the_same_structures(tmp_path: Path) -> None:
    """Sizes and places of all fields, as the compiler gives them for both."""
    text = (DRIVER / "uapi/towpath.h").read_text()
    structures = re.findall(r"^struct (\w+) {\n(.*?)^};", text, re.MULTILINE | re.DOTALL)
    asked = []
    for name, body in structures:
        fields = re.findall(r"^\t__\w+ (\w+)(?:\[\w+\])?;", body, re.MULTILINE)
        assert len(fields) == len(re.findall(r"^\t__", body, re.MULTILINE)) > 0, name
        asked += [f"sizeof(struct {name})", *(f"__builtin_offsetof(struct {name}, {field})" for field in fields)]
    numbers = re.findall(r"^#define (TOWPATH_IOC_\w+) ", text, re.MULTILINE)
    assert len(structures) > 15 and len(numbers) > 15
    assert {name for name, _ in structures} == SIZES.keys()
    source = tmp_path / "layout.c"
    # The kernel's headers for programs, which are the same for both.
    machine = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    # As text, for how numbers are written depends on the machine.
    found = []
    for bits in ("-m32", "-m64"):
        lines = [f'asm("#found %c0" :: "i" ((unsigned int)({what})));' for what in asked + numbers]
        source.write_text(f'#include "{DRIVER}/uapi/towpath.h"\nvoid ask(void) {{\n{chr(10).join(lines)}\n}}\n')
        done = subprocess.run(["gcc", bits, f"-isystem/usr/include/{machine}", "-S", "-o-", source], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.append([int(word) & 0xFFFF_FFFF for word in re.findall(r"#found (-?\d+)", done.stdout)])
    assert found[0] == found[1] and len(found[0]) == len(asked + numbers)
    sizes = {name: size for name, size in zip(asked, found[0], strict=False) if name.startswith("sizeof")}
    assert sizes == {f"sizeof(struct {name})": size for name, size in SIZES.items()}


def test_checkpatch_finds_nothing() -> None:
    try:
        tree = kernel.build("plain")
    except kernel.Missing as why:
        pytest.skip(str(why))
    sources = {path.name: path for path in (*DRIVER.glob("*.[ch]"), *DRIVER.glob("uapi/*.h"))}
    command = ["perl", tree / "scripts/checkpatch.pl", "--no-tree", "--strict", "--terse", "--max-line-length=100"]
    runs = [([sources.pop(name)], ignored) for name, ignored in NOT_ASKED_OF.items()]
    for files, ignored in [*runs, (list(sources.values()), NOT_ASKED)]:
        done = subprocess.run([*command, f"--ignore={ignored}", "--file", *files], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
