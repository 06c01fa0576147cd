# SPDX-License-Identifier: Apache-2.0
"""`./run install` into a folder of its own: the examples compile with nothing but what it put there, and run outside the repository;
uninstall takes away just that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import install
import javalibrary
import loopback
import octavelibrary
import pytest

from conftest import ROOT, WARNINGS

TOOL = ROOT / "tools/install.py"


def tool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, timeout=600)


def as_user(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The tool where root has no more rights than others."""
    plain = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    return subprocess.run([*plain, sys.executable, TOOL, *arguments], capture_output=True, text=True, timeout=600)


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or path.is_file())


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    done = tool("install", "--prefix", folder)
    assert done.returncode == 0, done.stderr
    return folder


def environment(prefix: Path) -> dict[str, str]:
    """Of a user who has installed it there and has nothing of the repository, but Verilator."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("TOWPATH") or key == "TOWPATH_CACHE"}
    return own | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "LD_LIBRARY_PATH": str(prefix / "lib")}


STANDARDS = {"edges.cpp": "-std=c++20"}


def compiled(prefix: Path, source: Path, folder: Path) -> Path:
    compiler = "c++" if source.suffix == ".cpp" else "cc"
    standard = STANDARDS.get(source.name, "-std=c++11" if source.suffix == ".cpp" else "-std=c99")
    program = folder / source.stem
    command = f'{compiler} {standard} {" ".join(WARNINGS)} "{source}" $(pkg-config --cflags --libs towpath) -o "{program}"'
    subprocess.run(["sh", "-c", command], cwd=folder, env=environment(prefix), check=True)
    return program


EXAMPLES = {name: said for name, said in loopback.SAYS.items() if not name.endswith(".py")}


def test_every_example_is_tried() -> None:
    assert sorted([*EXAMPLES, "c++/edges.cpp"]) == sorted(
        f"{folder}/{path.name}" for folder in ("c", "c++") for path in (ROOT / "examples" / folder).iterdir()
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_with_nothing_but_the_installation(prefix: Path, name: str, tmp_path: Path) -> None:
    program = compiled(prefix, ROOT / "examples" / name, tmp_path)
    with loopback.served(tmp_path, prefix / "bin/towpath") as served:
        for arguments in ([], ["sim:loopback"], [served]):
            command = [program, *arguments]
            done = subprocess.run(command, cwd=tmp_path, env=environment(prefix), capture_output=True, text=True, timeout=300)
            assert (done.returncode, done.stdout, done.stderr) == (0, EXAMPLES[name], ""), (arguments, done.stderr)


def test_the_demo_in_c_plus_plus(prefix: Path, tmp_path: Path) -> None:
    program = compiled(prefix, ROOT / "examples/c++/edges.cpp", tmp_path)
    pixels = bytes((x * x + 7 * y * (x // 5)) % 256 for y in range(70) for x in range(301))
    (tmp_path / "picture.pgm").write_bytes(b"P5\n301 70\n255\n" + pixels)
    for arguments, said in (((), "200 x 150"), (("picture.pgm", "edges.pgm"), "301 x 70")):
        done = subprocess.run([program, *arguments], cwd=tmp_path, env=environment(prefix), capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout == f"{said} pixels: identical to the host's filter\n", done.stderr
    edges = (tmp_path / "edges.pgm").read_bytes()
    assert len(edges) == len(b"P5\n301 70\n255\n") + len(pixels) and len(set(edges[-len(pixels) :])) > 50


def test_aes_in_c(prefix: Path, tmp_path: Path) -> None:
    """The vector of NIST SP 800-38A, F.5.1, enciphered; a longer text comes back."""
    program = compiled(prefix, ROOT / "examples/fields/aes/aes.c", tmp_path)
    folder = tmp_path / "core"
    shutil.copytree(ROOT / "examples/fields/aes", folder)

    def aes(text: bytes) -> bytes:
        command = [program, f"sim:{folder}", "2b7e151628aed2a6abf7158809cf4f3c", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"]
        done = subprocess.run(command, cwd=tmp_path, env=environment(prefix), input=text, capture_output=True, timeout=300)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    assert aes(bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a57")).hex() == "874d6191b620e3261bef6864990db6ce9806f66b"
    text = bytes(n * n % 251 for n in range(10000))
    assert aes(aes(text)) == text != aes(text)
    digits = "2b7e151628aed2a6abf7158809cf4f3c"
    for wrong in (digits[:-1], digits + "0", 2 * digits, "0x" + digits[2:], " " + digits[1:], digits[:-1] + "g", ""):
        for arguments in ((wrong, digits), (digits, wrong)):
            done = subprocess.run([program, "sim:none", *arguments], env=environment(prefix), input=text, capture_output=True, timeout=300)
            assert (done.returncode, done.stdout) == (2, b"") and b"must have 32 hexadecimal digits" in done.stderr, (
                arguments,
                done.stderr,
            )
    command = [program, f"sim:{folder}", digits, digits]
    with open("/dev/full", "wb") as full:  # the error comes with the last bytes, when the stream is closed
        done = subprocess.run(command, env=environment(prefix), input=b"few", stdout=full, stderr=subprocess.PIPE, timeout=300)
    assert done.returncode == 1 and b"standard output" in done.stderr


def test_a_program_for_riffa_is_compiled_as_for_riffa(prefix: Path, tmp_path: Path) -> None:
    program = tmp_path / "threads"
    command = ["cc", ROOT / "bindings/riffa/tests/threads.c", f"-I{prefix / 'include'}", f"-L{prefix / 'lib'}", "-lriffa", "-pthread"]
    subprocess.run([*command, f"-Wl,-rpath-link,{prefix / 'lib'}", "-o", program], check=True)
    own = environment(prefix) | {"TOWPATH_DEVICE": "sim:loopback"}
    done = subprocess.run([program], cwd=tmp_path, env=own, capture_output=True, text=True, timeout=300)
    lines = [f"{words} words sent, {words} received, 0 wrong" for words in (4, 32, 256, 2048, 16384)]
    assert (done.returncode, done.stdout.splitlines()) == (0, ["0: sim:loopback, channels: 1", *lines]), done.stderr
    assert (prefix / "share/riffa/riffa.py").is_file()


@pytest.mark.skipif(javalibrary.jdk() is None, reason="no JDK: install the package openjdk-17-jdk-headless")
def test_java_finds_the_installation(prefix: Path, tmp_path: Path) -> None:
    command = ["java", "-cp", prefix / "share/java/towpath.jar", ROOT / "examples/java/Edges.java"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(prefix), capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "320 x 200 pixels, 0 wrong\n"), done.stderr


@pytest.mark.skipif(not octavelibrary.there(), reason=octavelibrary.MISSING)
def test_octave_finds_the_installation(prefix: Path, tmp_path: Path) -> None:
    own = {key: value for key, value in environment(prefix).items() if key != "LD_LIBRARY_PATH"}  # a MEX file finds the library by itself
    command = ["octave-cli", "--norc", "--no-history", "-p", prefix / "share/towpath/octave", ROOT / "examples/octave/edges.m"]
    done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "160 x 100 pixels, 0 wrong\n"), done.stderr


def test_without_the_gateware_the_error_names_the_variable(prefix: Path, tmp_path: Path) -> None:
    program = compiled(prefix, ROOT / "examples/c/echo.c", tmp_path)
    moved = tmp_path / "lib"
    shutil.copytree(prefix / "lib", moved, symlinks=True)
    alone = environment(prefix) | {"LD_LIBRARY_PATH": str(moved)}
    done = subprocess.run([program], cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "no such device" in done.stderr and "TOWPATH_HOME" in done.stderr, done.stderr
    named = alone | {"TOWPATH_HOME": str(prefix / "share/towpath")}
    done = subprocess.run([program], cwd=tmp_path, env=named, capture_output=True, text=True, timeout=300)
    assert done.stdout == EXAMPLES["c/echo.c"], done.stderr


def test_the_command_line_is_there(prefix: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [prefix / "bin/towpath", "list"], cwd=tmp_path, env=environment(prefix), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and "sim:loopback" in done.stdout, done.stderr


def test_the_command_line_has_its_manual_and_its_completions(prefix: Path) -> None:
    there = files(prefix)
    assert {"share/man/man1/towpath.1", "share/man/man1/towpath-pipe.1"} <= set(there), there
    for shell in ("bash-completion/completions/towpath", "zsh/site-functions/_towpath", "fish/vendor_completions.d/towpath.fish"):
        assert "doctor" in (prefix / "share" / shell).read_text()


def test_no_test_bench_is_installed(prefix: Path) -> None:
    assert not [
        name for name in files(prefix) if "/tb/" in name or "/formal/" in name or (name.endswith(".py") and name != "share/riffa/riffa.py")
    ]


def test_uninstall_takes_away_just_what_install_put_there(tmp_path: Path) -> None:
    root = tmp_path / "destination/opt/towpath"
    mine = ["include/mine.h", "share/doc/towpath/notes", "lib/libmine.so"]
    for name in mine:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    arguments = ("--prefix", "/opt/towpath", "--destdir", tmp_path / "destination")
    assert tool("install", *arguments, "--libdir", "lib/here").returncode == 0
    assert "prefix=/opt/towpath\n" in (root / "lib/here/pkgconfig/towpath.pc").read_text()
    # Once more, with the libraries elsewhere: what is where it no longer belongs goes.
    again = tool("install", *arguments)
    assert again.returncode == 0, again.stderr
    assert not (root / "lib/here").exists() and (root / "lib/libtowpath.so").is_symlink()
    assert str(root / "include/towpath.h") in again.stdout
    done = tool("uninstall", *arguments)
    assert done.returncode == 0, done.stderr
    assert files(root) == sorted(mine) and not (root / "bin").exists() and not (root / "share/towpath").exists()
    done = tool("uninstall", *arguments)
    assert done.returncode == 1 and "nothing is installed" in done.stderr


def test_a_missing_right_is_found_before_anything_is_built(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "share").write_text("a file where a folder goes")
    in_the_way = tool("install", "--prefix", tmp_path)
    assert in_the_way.returncode == 1 and f"'{tmp_path / 'share'}'" in in_the_way.stderr, in_the_way.stderr
    (tmp_path / "share").unlink()
    (tmp_path / "lib").chmod(0o555)
    refused = as_user("install", "--prefix", tmp_path)
    (tmp_path / "lib").chmod(0o755)
    assert refused.returncode == 1, refused.stderr
    assert str(tmp_path / "lib") in refused.stderr and "--prefix with a folder of yours" in refused.stderr
    assert in_the_way.stdout == refused.stdout == "", "nothing was begun"


def stop_at(name: str, doing: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
    def put(source: Path, target: Path) -> None:
        if target.name == name:
            install.half(target).write_text("not all of it")
            raise KeyboardInterrupt
        doing(source, target)

    return put


@pytest.mark.parametrize("upgrade", [False, True])
def test_an_installation_that_was_interrupted_can_be_taken_away(
    upgrade: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "destination"
    (root / "lib").mkdir(parents=True)
    (root / "lib/mine").write_text("mine")

    def stage(names: list[str]) -> Callable[[Path, Path, str], None]:
        def stage(folder: Path, _prefix: Path, _libdir: str) -> None:
            for name in names:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(name)

        return stage

    arguments = ["--prefix", str(root)]
    if upgrade:
        monkeypatch.setattr(install, "stage", stage(["bin/old", "lib/deep/old"]))
        assert install.main(["install", *arguments]) == 0
    monkeypatch.setattr(install, "stage", stage(["bin/a", "lib/b/c", "lib/d", "share/e"]))
    with monkeypatch.context() as patch:
        patch.setattr(install, "put", stop_at("d", install.put))
        assert install.main(["install", *arguments]) == 130
    assert "uninstall" in capsys.readouterr().err
    assert {"bin/a", "lib/.d.new", "lib/b/c"} <= set(files(root))
    assert install.main(["uninstall", *arguments]) == 0
    assert files(root) == ["lib/mine"] and [path.name for path in root.iterdir()] == ["lib"]
