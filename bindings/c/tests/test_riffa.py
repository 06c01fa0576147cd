# SPDX-License-Identifier: Apache-2.0
"""RIFFA's calls (bindings/riffa): each rule of theirs, over a simulated core; from C, Python and Java."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import ancestors
import javalibrary
import pytest

from conftest import ROOT, SANITIZED, WARNINGS, run

RIFFA = ROOT / "bindings/riffa"
CORE = "sim:tests/cores/transactions"
SEED = os.environ.get("TOWPATH_SEED") or str(random.randrange(1 << 32))


@pytest.fixture(scope="session")
def riffa(library: Path) -> Path:
    """The folder with libriffa.so, beside libtowpath.so."""
    ancestors.build_riffa(library)
    return library


def compiled(riffa: Path, source: Path, folder: Path, *options: str) -> Path:
    program = folder / source.stem
    command = ["cc", "-std=c11", "-D_GNU_SOURCE", *WARNINGS, *options, f"-I{RIFFA / 'include'}", str(source), "-o", str(program)]
    subprocess.run([*command, f"-L{riffa}", "-lriffa", "-pthread", f"-Wl,-rpath,{riffa}", f"-Wl,-rpath-link,{riffa}"], check=True)
    return program


@pytest.mark.parametrize("options", [[], SANITIZED], ids=["plain", "sanitized"])
def test_each_rule(riffa: Path, options: list[str], tmp_path: Path) -> None:
    source = RIFFA / "tests/behaviour.c"
    done = run(compiled(riffa, source, tmp_path, *options), SEED, TOWPATH_DEVICE=CORE)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == re.findall(r"\bRUN\((\w+)\)", source.read_text().partition("int main")[2])


def test_what_a_core_for_riffa_sends_back(riffa: Path, tmp_path: Path) -> None:
    chains = os.environ.get("TOWPATH_ROUNDS", "150")
    done = run(compiled(riffa, RIFFA / "tests/echo.c", tmp_path), SEED, chains, TOWPATH_DEVICE="sim:riffa_echo")
    assert (done.returncode, done.stdout) == (0, "all came back\n"), f"seed {SEED}: {done.stderr}"


def test_the_second_card_of_a_list_is_the_second(riffa: Path, tmp_path: Path) -> None:
    source = tmp_path / "two.c"
    source.write_text("""
        #include <stdio.h>
        #include <riffa.h>
        int main(void) {
            fpga_info_list list;
            if (fpga_list(&list) != 0) return 1;
            printf("%d %d %d %.16s\\n", list.num_fpgas, list.num_chnls[0], list.num_chnls[1], list.name[1]);
            int word = 1234, got = 0;
            fpga_t *one = fpga_open(0), *other = fpga_open(1);
            if (fpga_send(other, 0, &word, 1, 0, 1, 0) != 1) return 2;
            if (fpga_recv(one, 0, &got, 1, 1) != 0) return 3;
            if (fpga_recv(other, 0, &got, 1, 0) != 1 || got != word) return 4;
            fpga_close(one);
            fpga_close(other);
            return fpga_open(2) != NULL;
        }
    """)
    done = run(compiled(riffa, source, tmp_path), TOWPATH_DEVICE=f"{CORE}; sim:loopback")
    assert (done.returncode, done.stdout) == (0, "2 3 1 sim:loopback\n"), done.stderr


def test_only_riffas_names_are_exported(riffa: Path) -> None:
    said = subprocess.run(["nm", "-D", "--defined-only", riffa / ancestors.SONAME], check=True, capture_output=True, text=True).stdout
    header = re.sub(r"/\*.*?\*/", "", (RIFFA / "include/riffa.h").read_text(), flags=re.DOTALL)
    declared = re.findall(r"\b(fpga_\w+)\(", header)
    assert sorted(re.findall(r" T (\S+)$", said, re.M)) == sorted(declared)
    assert len(declared) == 9


@pytest.mark.parametrize("standard", ["c99", "c++11"])
def test_the_headers_are_c_and_c_plus_plus(standard: str) -> None:
    language = "c++" if standard.startswith("c++") else "c"
    header = RIFFA / "include/riffa.h"
    subprocess.run(["cc", f"-std={standard}", "-x", language, *WARNINGS, "-fsyntax-only", header], check=True)


PYTHON = """
import array
import riffa

print(riffa.fpga_list())
fd = riffa.fpga_open(0)
assert riffa.fpga_open(1) is None
sent = array.array("I", range(1, 201))
got = array.array("I", [0] * 300)
assert riffa.fpga_send(fd, 0, sent, 200, 7, False, 0) == 200
assert riffa.fpga_send(fd, 0, bytes(range(64)), 100, 0, True, 0) == 16  # read-only, and shorter than said
assert riffa.fpga_recv(fd, 0, got, 0) == 16
assert got[:7] == array.array("I", [0] * 7) and got[7:207] == sent
assert got[207:223].tobytes() == bytes(range(64)) and not any(got[223:])
assert riffa.fpga_send(fd, 0, None, 0, 0, True, 0) == 0
assert riffa.fpga_recv(fd, 0, None, 0) == 0
assert riffa.fpga_recv(fd, 0, bytearray(8), 1) == 0
assert riffa.fpga_send(fd, 3, sent, 1, 0, True, 0) == 0
riffa.fpga_reset(fd)
riffa.fpga_close(fd)
"""


def test_the_module_of_python(riffa: Path) -> None:
    done = run(sys.executable, "-c", PYTHON, TOWPATH_DEVICE=CORE, PYTHONPATH=str(RIFFA / "python"), LD_LIBRARY_PATH=str(riffa))
    assert done.returncode == 0, done.stderr
    assert "num fpgas: 1\nfpga (0) id: 0\nfpga (0) name: sim:tests/cores\nfpga (0) num_chnls: 3\n" in done.stdout


@pytest.mark.skipif(javalibrary.jdk() is None, reason="no JDK: install the package openjdk-17-jdk-headless")
def test_the_class_of_java(riffa: Path, tmp_path: Path) -> None:
    home, jar = javalibrary.jdk(), tmp_path / "riffa.jar"
    assert home is not None
    javalibrary.build_riffa(home, riffa, jar)
    java = [str(home / "bin/java"), "-Xshare:auto", "-XX:TieredStopAtLevel=1", f"-Djava.library.path={riffa}", "-cp", str(jar)]
    done = run(*java, str(RIFFA / "tests/Rules.java"), TOWPATH_DEVICE=CORE)
    print(done.stdout, done.stderr)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stderr
    assert "num fpgas: 1\nid: 0\nname: sim:tests/cores\nnum channels: 3\n" in done.stdout
