# SPDX-License-Identifier: Apache-2.0
"""The library for Java (bindings/java), over simulated cards: its rules, its example, and that it knows what the C library has."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import clibrary
import javalibrary
import pytest

from conftest import ROOT, run

JAVA = ROOT / "bindings/java"
RULES = JAVA / "src/test/java/io/towpath/Rules.java"
SEED = os.environ.get("TOWPATH_SEED") or str(random.randrange(1 << 32))
HOME = javalibrary.jdk()
needs_jdk = pytest.mark.skipif(HOME is None, reason="no JDK: install the package openjdk-17-jdk-headless")


@pytest.fixture(scope="module")
def java(library: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs a class or a source with the library, up to the class path's other entries."""
    assert HOME is not None
    jar = tmp_path_factory.mktemp("java") / "towpath.jar"
    javalibrary.build(HOME, library, jar)
    options = ["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xcheck:jni", f"-Djava.library.path={library}"]
    return [str(HOME / "bin/java"), *options, "-cp", str(jar)]


@needs_jdk
def test_each_rule(java: list[str], tmp_path: Path) -> None:
    assert HOME is not None
    javalibrary.compile(HOME, "17", RULES.parent, tmp_path, "-cp", java[-1])
    done = run(java[0], "-Xmx48m", *java[1:-1], f"{java[-1]}:{tmp_path}", "io.towpath.Rules", SEED)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == re.findall(r'rules\.holds\("(\w+)"', RULES.read_text()), "-Xcheck:jni says nothing, either"


@needs_jdk
def test_the_example(java: list[str]) -> None:
    done = run(*java, str(ROOT / "examples/java/Edges.java"))
    assert (done.returncode, done.stdout) == (0, "320 x 200 pixels, 0 wrong\n"), done.stderr


def test_the_statuses_are_those_of_the_header() -> None:
    header = (ROOT / "bindings/c/include/towpath.h").read_text()
    enum = header[: header.index("} towpath_status;")].rpartition("typedef enum {")[2]
    numbered = {int(number): name for name, number in re.findall(r"\bTOWPATH_(\w+) = (\d+),", enum)}
    text = (JAVA / "src/main/java/io/towpath/Status.java").read_text()
    names = re.findall(r"^    ([A-Z_]+)[,;]$", text, re.M)
    assert names == [numbered[n] for n in range(len(numbered))] and len(names) > 30


def test_mavens_version_is_the_librarys() -> None:
    pom = (JAVA / "pom.xml").read_text()
    assert re.search(r"<artifactId>towpath</artifactId>\s*<version>(.*?)</version>", pom)[1] == clibrary.version()  # type: ignore[index]
