# SPDX-License-Identifier: Apache-2.0
"""The audit of ./run wheel refuses a wheel whose name promises too much, and only a wheel that passes it is left for others."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import pythonwheel

MACHINE = os.uname().machine
# One function of the C library, of 2.17, and one of Python's stable ABI.
GOOD = "int clock_gettime(); void PyErr_Clear(); void PyInit__it() { PyErr_Clear(); clock_gettime(); }"


def planted(folder: Path, code: str = GOOD, options: tuple[str, ...] = (), tag: str = "", library: str = "_it.abi3.so") -> Path:
    """A wheel of one small library, with its tag."""
    tag = tag or f"cp311-abi3-manylinux_2_17_{MACHINE}"
    source, built, wheel = folder / "it.c", folder / library, folder / f"it-1.0-{tag}.whl"
    source.write_text(code)
    subprocess.run(["cc", "-shared", "-fPIC", "-nostartfiles", source, "-o", built, *options], check=True)
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.write(built, f"it/{library}")
        packed.writestr("it-1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nGenerator: none\nRoot-Is-Purelib: false\nTag: {tag}\n")
        packed.writestr("it-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: it\nVersion: 1.0\n")
        packed.writestr("it-1.0.dist-info/RECORD", f"it/{library},,\n")
    return wheel


def test_a_wheel_that_is_what_its_name_says(tmp_path: Path) -> None:
    assert pythonwheel.audit(planted(tmp_path)) == []
    both = f"cp311-abi3-manylinux2014_{MACHINE}.manylinux_2_17_{MACHINE}"
    assert pythonwheel.audit(planted(tmp_path, tag=both)) == []


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"code": GOOD.replace("clock_gettime", "arc4random")}, "auditwheel finds that it runs on manylinux_2_36_"),
        ({"tag": f"cp311-abi3-manylinux_2_17_{MACHINE}.manylinux_2_12_{MACHINE}"}, "its name says manylinux_2_17_"),
        ({"options": ("-Wl,--no-as-needed", "-llz4")}, "needs liblz4.so.1"),
        ({"code": GOOD.replace("PyErr_Clear", "_PyErr_Fetch")}, "_PyErr_Fetch, which is not in the stable ABI"),
        ({"code": GOOD.replace("PyErr_Clear", "PyLong_AsInt")}, "since Python 3.13 only"),
        ({"code": "int clock_gettime(); void PyInit__it() { clock_gettime(); }"}, "uses nothing of Python"),
        ({"library": "_it.cpython-311.so"}, "is called .abi3.so"),
        ({"library": "_it.data"}, "there is no library in it"),
        ({"tag": f"cp311-cp311-manylinux_2_17_{MACHINE}"}, "not that of the stable ABI"),
    ],
)
def test_what_the_audit_refuses(changes: dict, said: str, tmp_path: Path) -> None:
    found = pythonwheel.audit(planted(tmp_path, **changes))
    assert any(said in finding for finding in found), found


@pytest.fixture
def maturin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stand-in, which hands out the wheel that a test puts there."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/maturin").write_text(f'#!/bin/sh\nfor out; do :; done\necho compiling; cp "{tmp_path}/made/"*.whl "$out"\n')
    (tmp_path / "bin/maturin").chmod(0o755)
    (tmp_path / "made").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path / "made"


def test_a_good_wheel_is_left_where_it_was_wanted(maturin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = planted(maturin)
    assert pythonwheel.main(["--output", str(tmp_path / "new")]) == 0
    assert [wheel.name for wheel in (tmp_path / "new").iterdir()] == [made.name]
    assert f"{tmp_path / 'new' / made.name}; audited" in capsys.readouterr().out


def test_a_wheel_that_fails_the_audit_is_not_left(maturin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted(maturin, GOOD.replace("clock_gettime", "arc4random"))
    assert pythonwheel.main(["--output", str(tmp_path / "new")]) == 1
    assert not (tmp_path / "new").exists()
    assert "the audit refuses it" in capsys.readouterr().err


def test_a_build_that_fails_shows_its_end(maturin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pythonwheel.main(["--output", str(tmp_path / "new")]) == 1
    said = capsys.readouterr().err
    assert "maturin failed" in said and "compiling" in said


def test_another_processor_needs_its_library_of_rust(
    maturin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = next(processor for processor in pythonwheel.PROCESSORS if processor != MACHINE)
    planted(maturin)
    stand_in = tmp_path / "bin/rustc"
    stand_in.write_text(f'#!/bin/sh\ncase "$*" in *--target={other}-unknown-linux-gnu) echo {tmp_path}/lib;; *) exit 1;; esac\n')
    stand_in.chmod(0o755)
    assert pythonwheel.main(["--output", str(tmp_path / "new"), "--processor", other]) == 1
    assert f"rustup target add {other}-unknown-linux-gnu" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libstd-0.rlib").touch()
    assert pythonwheel.main(["--output", str(tmp_path / "new"), "--processor", other]) == 0


def test_an_audit_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pythonwheel.main(["--audit", str(planted(tmp_path))]) == 0
    assert "is what its name says" in capsys.readouterr().out
    assert pythonwheel.main(["--audit", str(planted(tmp_path, tag=f"cp311-abi3-manylinux_2_12_{MACHINE}"))]) == 1
