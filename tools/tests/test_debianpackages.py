# SPDX-License-Identifier: Apache-2.0
"""./run package: what an installation has is in one package each, and the packages say what they need. Small stand-ins take the place of
the library and of the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import clibrary
import debianpackages
import install

VERSION = clibrary.version()
TEXTS = [
    "include/towpath.h",
    "include/towpath.hpp",
    "include/riffa.h",
    "include/sPcie.h",
    "share/man/man1/towpath.1",
    "share/man/man3/towpath_open.3",
    "share/man/man7/towpath.7",
    "share/bash-completion/completions/towpath",
    "share/zsh/site-functions/_towpath",
    "share/fish/vendor_completions.d/towpath.fish",
    "share/doc/towpath/LICENSE",
    "share/towpath/gateware/lib/tp_skid.sv",
    "share/towpath/verilator",
    "share/riffa/riffa.py",
]


def staged(folder: Path, prefix: Path, libdir: str, others: bool = True) -> None:
    """As install.stage, with little in it."""
    assert prefix == Path("/usr") and not others
    for name in (*TEXTS, f"{libdir}/pkgconfig/towpath.pc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\n")
    code = folder.parent / "it.c"
    code.write_text("int towpath_it(void); int main(void) { return towpath_it(); }\n")
    function = ["-x", "c", "-", "-shared", "-fPIC"]
    libraries = folder / libdir
    for name, soname in (("libtowpath.so." + VERSION, clibrary.SONAME), ("libriffa.so.1", "libriffa.so.1"), ("libepee.so", "libepee.so")):
        command = ["cc", *function, f"-Wl,-soname={soname}", "-o", str(libraries / name)]
        subprocess.run(command, input="int towpath_it(void) { return 0; }\n", text=True, check=True)
    for link in (clibrary.SONAME, "libtowpath.so"):
        (libraries / link).symlink_to("libtowpath.so." + VERSION)
    (libraries / "libriffa.so").symlink_to("libriffa.so.1")
    (folder / "bin").mkdir()
    subprocess.run(["cc", code, f"-L{libraries}", "-ltowpath", "-o", folder / "bin/towpath"], check=True)
    code.unlink()


def told(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(install, "stage", staged)
        return debianpackages.build(tmp_path_factory.mktemp("made"))


def unpacked(packages: list[Path], folder: Path) -> dict[str, str]:
    """By each file of the packages but those in share/doc, the package that has it."""
    found: dict[str, str] = {}
    for package in packages:
        into = folder / package.name
        into.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", package, into], check=True)
        for path in into.rglob("*"):
            name = path.relative_to(into).as_posix()
            if (path.is_symlink() or path.is_file()) and not name.startswith("usr/share/doc/"):
                assert name not in found
                found[name] = package.name.partition("_")[0]
    return found


def test_each_file_is_in_one_package(made: list[Path], tmp_path: Path) -> None:
    found = unpacked(made, tmp_path / "unpacked")
    places = {name.rpartition("/")[2]: package for name, package in found.items()}
    assert len(found) == len(TEXTS) + 7
    assert places[f"libtowpath.so.{VERSION}"] == places[clibrary.SONAME] == "libtowpath0"
    dev = ("libtowpath.so", "towpath.h", "towpath.hpp", "towpath.pc", "towpath_open.3.gz", "towpath.7.gz")
    assert {places[name] for name in dev} == {"libtowpath-dev"}
    own = ("towpath", "towpath.1.gz", "_towpath", "towpath.fish", "tp_skid.sv")
    assert found["usr/bin/towpath"] == "towpath" and {places[name] for name in own} == {"towpath"}
    assert {places[name] for name in ("libriffa.so", "libriffa.so.1", "libepee.so", "riffa.h", "sPcie.h", "riffa.py")} == {"towpath-compat"}
    assert "usr/share/zsh/vendor-completions/_towpath" in found


def test_packages_say_what_they_need(made: list[Path]) -> None:
    named = {package.name.partition("_")[0]: package for package in made}
    needed = {name: told("dpkg-deb", "-f", package, "Depends").strip() for name, package in named.items()}
    assert f"libtowpath0 (>= {VERSION})" in needed["towpath"] and "libc6" in needed["towpath"]
    assert needed["libtowpath-dev"] == f"libtowpath0 (= {VERSION}), libc6-dev"
    for name, package in named.items():
        assert told("dpkg-deb", "-f", package, "Version").strip() == VERSION
        assert f"./usr/share/doc/{name}/copyright\n" in told("dpkg-deb", "-c", package)
    assert f"libtowpath {clibrary.ABI} libtowpath{clibrary.ABI} " in told("dpkg-deb", "-I", named["libtowpath0"], "shlibs")
    assert "ldconfig" in told("dpkg-deb", "-I", named["libtowpath0"], "triggers")


def test_two_builds_are_the_same(made: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "stage", staged)
    assert [package.read_bytes() for package in debianpackages.build(tmp_path)] == [package.read_bytes() for package in made]


def test_a_file_that_no_package_has_is_an_error() -> None:
    moved, packages = debianpackages.described()
    names = [f"usr/{name}" for name in TEXTS]
    with pytest.raises(clibrary.BuildError, match="usr/share/new.txt goes into no package"):
        debianpackages.shares([*names, "usr/share/new.txt"], moved, packages)
    with pytest.raises(clibrary.BuildError, match="libtowpath0: usr/lib.*no such file"):
        debianpackages.shares(names, moved, packages)
