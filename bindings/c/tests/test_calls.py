# SPDX-License-Identifier: Apache-2.0
"""Every function of the C library, called with good and with bad arguments from C, plain and under the address and undefined-behaviour
sanitizers, which count leaks, too. These see the C code alone, so some tests run under valgrind as well, which sees all of the process: the
library's Rust and the simulated card. The tests themselves are the TESTs of the .c files here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import clibrary
import install
import pytest

from conftest import ROOT, SANITIZED, Compile, run

HERE = Path(__file__).parent
SOURCES = sorted(HERE.glob("*.c"))
TESTS = {source.stem: re.findall(r"^TEST\((\w+)\)", source.read_text(), re.M) for source in SOURCES}
NAMES = [name for names in TESTS.values() for name in names]
VARIANTS = {"plain": ["-O2"], "sanitized": SANITIZED}

# Uninitialised values that decide something, accesses to memory that is not there, and leaks. Valgrind runs one thread at a time; without
# the fair scheduler, threads that call without a pause keep the one that ends them waiting for minutes.
MEMCHECK = [
    "valgrind",
    "--quiet",
    "--fair-sched=yes",
    "--error-exitcode=99",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite,indirect",
]
needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is missing: install the package valgrind")

LEAK = """
#include "check.h"
void check_add(const char *name, void (*test)(void)) { (void)name, (void)test; }
int main(void) {
    towpath_device *device = NULL;
    towpath_channel *in, *out;
    OK(towpath_open("sim:loopback", NULL, &device));
    OK(towpath_open_channel(device, "in", TOWPATH_H2C, NULL, &in));
    OK(towpath_open_channel(device, "out", TOWPATH_C2H, NULL, &out));
    OK(towpath_send(in, "lost", 4, NULL, NULL));
    towpath_received_message *message;
    OK(towpath_recv_message(out, TOWPATH_CHANNEL_TIMEOUT, &message));
    message = NULL;
    OK(towpath_close_channel(in));
    OK(towpath_close_channel(out));
    OK(towpath_close(device));
}
"""


@pytest.fixture(scope="session", autouse=True)
def standin(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The stand-in for a GPU's driver, which no test but those of gpu.c loads."""
    library = tmp_path_factory.mktemp("standin") / "libstandin.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-pthread", ROOT / "tests/gpu/standin.c", "-o", library], check=True)
    os.environ["TOWPATH_CUDA_LIBRARY"] = str(library)


@pytest.fixture(scope="session")
def programs(compile_c: Compile) -> dict[str, Path]:
    return {variant: compile_c(variant, *SOURCES, options=options) for variant, options in VARIANTS.items()}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", NAMES)
def test_call(programs: dict[str, Path], variant: str, name: str) -> None:
    done = run(programs[variant], name)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"ok {name}\n", ""), done.stderr


def test_a_card_that_another_process_serves_is_listed(programs: dict[str, Path], tmp_path: Path) -> None:
    name = f"vfio-user:{tmp_path / 'card'}"
    variables = {"XDG_RUNTIME_DIR": str(tmp_path), "TOWPATH_TEST_SERVED": name}
    command = [install.command_line(), "sim", "loopback", "--socket", tmp_path / "card", "--set", "serial=0x5eed"]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | variables, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == f"{name}\n"
            test = "cards_are_listed_with_order_and_serial_number"
            done = run(programs["sanitized"], test, **variables)
            assert (done.returncode, done.stdout, done.stderr) == (0, f"ok {test}\n", ""), done.stderr
        finally:
            server.terminate()


def test_every_function_is_called(programs: dict[str, Path]) -> None:
    said = subprocess.run(["nm", "--undefined-only", programs["plain"]], check=True, capture_output=True, text=True).stdout
    assert sorted(set(re.findall(r"\bU (towpath_\w+)", said))) == clibrary.exported()


@needs_valgrind
@pytest.mark.parametrize("source", ["bad", "handle", "ticket"])
def test_nothing_wrong_inside_the_library(programs: dict[str, Path], source: str) -> None:
    done = run(*MEMCHECK, programs["plain"], *TESTS[source])
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(f"ok {name}" for name in TESTS[source])


@needs_valgrind
def test_a_leak_inside_the_library_is_found(compile_c: Compile, tmp_path: Path) -> None:
    source = tmp_path / "leak.c"
    source.write_text(LEAK)
    done = run(*MEMCHECK, compile_c("inside", source, options=["-O2"]))
    assert done.returncode == 99 and "definitely lost" in done.stderr and "towpath_recv_message" in done.stderr, done.stderr


def test_a_leak_is_found(compile_c: Compile, tmp_path: Path) -> None:
    source = tmp_path / "leak.c"
    source.write_text(LEAK)
    done = run(compile_c("leak", source, options=SANITIZED))
    assert done.returncode != 0 and "LeakSanitizer: detected memory leaks" in done.stderr, done.stderr


def test_the_header_for_c_plus_plus(compile_c: Compile) -> None:
    done = run(compile_c("handles", ROOT / "bindings/c++/tests/handles.cpp", options=SANITIZED))
    assert (done.returncode, done.stderr) == (0, "")


def test_coroutines_and_spans_of_c_plus_plus_20(compile_c: Compile) -> None:
    source = ROOT / "bindings/c++/tests/coroutines.cpp"
    done = run(compile_c("coroutines", source, options=[*SANITIZED, "-std=c++20"]))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
