#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run package`: the C library, the command line and the simulator's gateware as Debian packages, for this release and processor.

tools/debian.toml says what goes into which. Java's library and the MEX files for Octave are not among them: ./run install makes these where
it finds the tools. The kernel module has a package of its own, ./run driver-package. Needs dpkg-dev, and neither a network nor root.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import clibrary
import install
import manpages
from clibrary import ROOT, BuildError

DESCRIPTION = Path(__file__).resolve().with_name("debian.toml")
PROGRAMS = ("usr/bin/towpath", "usr/share/towpath/verilator")
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Towpath

Files: *
Copyright: @YEAR@ The Towpath authors
License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
"""


@dataclass
class Package:
    """One of them, as debian.toml has it."""

    name: str
    section: str
    files: list[str]
    about: str
    text: str
    depends: str = ""
    recommends: str = ""
    suggests: str = ""
    shlibs: str = ""


def described() -> tuple[dict[str, str], list[Package]]:
    read = tomllib.loads(DESCRIPTION.read_text())
    return read["moved"], [Package(**package) for package in read["package"]]


def shares(names: list[str], moved: dict[str, str], packages: list[Package]) -> dict[str, list[tuple[str, str]]]:
    """What each package has: a file's name where it was staged, and where it goes. Raises BuildError if something is left over."""
    result: dict[str, list[tuple[str, str]]] = {package.name: [] for package in packages}
    used: set[str] = set()
    for name in names:
        place = moved.get(name, name)
        if name in moved:
            used.add(name)
        if not place:
            continue
        fits = next(((package, pattern) for package in packages for pattern in package.files if fnmatch(place, pattern)), None)
        if fits is None:
            raise BuildError(f"{DESCRIPTION.name}: {place} goes into no package")
        used.add(f"{fits[0].name}: {fits[1]}")
        result[fits[0].name].append((name, place))
    wanted = [*moved, *(f"{package.name}: {pattern}" for package in packages for pattern in package.files)]
    if idle := [name for name in wanted if name not in used]:
        raise BuildError(f"{DESCRIPTION.name}: {idle[0]}: no such file was made")
    return result


def said(*command: str | Path, within: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=within, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise BuildError(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def moment() -> int:
    """The time that the packages carry: two builds of one commit are the same."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip() else int((ROOT / "CHANGELOG.md").stat().st_mtime)


def maintainer(without: str = "") -> str:
    """Whoever packs it, as Debian's tools are told; `without`: what stands for an address that is not."""
    name = os.environ.get("DEBFULLNAME", "The Towpath authors")
    address = os.environ.get("DEBEMAIL")
    return f"{name} <{address}>" if address else f"{name} {without}".strip()


def squeezed(text: bytes) -> bytes:
    return gzip.compress(text, mtime=0)


def lay(package: Package, share: list[tuple[str, str]], staged: Path, folder: Path, version: str) -> None:
    """Puts a package's files into its folder, as they shall lie on a system."""
    for name, place in share:
        source, target = staged / name, folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(os.readlink(source))
        elif place.startswith("usr/share/man/"):
            target.with_name(target.name + ".gz").write_bytes(squeezed(source.read_bytes()))
        else:
            shutil.copyfile(source, target)
            if "/bin/" in place or ".so" in target.name:
                said("strip", "--strip-unneeded", "--remove-section=.comment", "--remove-section=.note", target)
    documents = folder / f"usr/share/doc/{package.name}"
    documents.mkdir(parents=True)
    (documents / "copyright").write_text(COPYRIGHT.replace("@YEAR@", time.strftime("%Y", time.gmtime(moment()))))
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(moment()))
    entry = f"towpath ({version}) unstable; urgency=medium\n\n  * As CHANGELOG.md has it.\n\n -- {maintainer('<>')}  {date}\n"
    (documents / "changelog.gz").write_bytes(squeezed(entry.encode()))


def needs(folder: Path, all_folders: list[Path]) -> str:
    """What the programs and libraries in a package are linked with, as packages of Debian."""
    linked = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"]
    if not linked:
        return ""
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "debian").mkdir()
        (Path(scratch) / "debian/control").write_text("Source: towpath\n\nPackage: towpath\nArchitecture: any\n")
        places = [f"-S{each}" for each in all_folders]
        told = said("dpkg-shlibdeps", "-O", "--warnings=0", *places, *linked, within=Path(scratch))
    return told.strip().removeprefix("shlibs:Depends=")


def describe(package: Package, folder: Path, architecture: str, version: str, linked: str) -> None:
    """Writes what dpkg reads of a package."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and "DEBIAN" not in path.parts)
    size = sum(-(-path.stat().st_size // 1024) for path in files) + sum(1 for path in folder.rglob("*") if path.is_dir())
    fields = {
        "Package": package.name,
        "Source": "towpath" if package.name != "towpath" else "",
        "Version": version,
        "Architecture": architecture,
        "Maintainer": maintainer(),
        "Installed-Size": str(size),
        "Depends": ", ".join(part for part in (linked, package.depends.replace("@VERSION@", version)) if part),
        "Recommends": package.recommends,
        "Suggests": package.suggests,
        "Section": package.section,
        "Priority": "optional",
        "Multi-Arch": "same" if package.name == "libtowpath0" else "",
        "Description": package.about + "".join(f"\n {line}" for line in package.text.strip().splitlines()),
    }
    about = folder / "DEBIAN"
    (about / "control").write_text("".join(f"{name}: {value}\n" for name, value in fields.items() if value))
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (about / "md5sums").write_text("".join(sums))


def build(output: Path) -> list[Path]:
    """Leaves the packages in `output`."""
    version = clibrary.version()
    architecture = said("dpkg", "--print-architecture").strip()
    libdir = f"lib/{said('dpkg-architecture', '-qDEB_HOST_MULTIARCH').strip()}"
    moved, packages = described()
    with tempfile.TemporaryDirectory() as scratch:
        staged = Path(scratch) / "staged"
        (staged / "usr").mkdir(parents=True)
        install.stage(staged / "usr", Path("/usr"), libdir, others=False)
        names = sorted(path.relative_to(staged).as_posix() for path in staged.rglob("*") if path.is_symlink() or path.is_file())
        folders = {package.name: Path(scratch) / package.name for package in packages}
        for name, share in shares(names, moved, packages).items():
            lay(next(package for package in packages if package.name == name), share, staged, folders[name], version)
        for package in packages:
            about = folders[package.name] / "DEBIAN"
            about.mkdir()
            if package.shlibs:  # dpkg-shlibdeps reads there which package has the library that others are linked with
                (about / "shlibs").write_text(f"{package.shlibs} {package.name} (>= {version})\n")
                (about / "triggers").write_text("activate-noawait ldconfig\n")
        output.mkdir(parents=True, exist_ok=True)
        made = []
        for package in packages:
            folder = folders[package.name]
            describe(package, folder, architecture, version, needs(folder, list(folders.values())))
            for path in folder.rglob("*"):
                if not path.is_symlink():
                    path.chmod(0o755 if path.is_dir() or path.relative_to(folder).as_posix() in PROGRAMS else 0o644)
            file = output / f"{package.name}_{version}_{architecture}.deb"
            variables = os.environ | {"SOURCE_DATE_EPOCH": str(moment())}
            command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(folder), str(file)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=variables)
            made.append(file)
        return made


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run package", description="Make Debian packages of the library and the command line.")
    parser.add_argument("--output", type=Path, default=Path(), help="the folder that they go to: this one")
    options = parser.parse_args(arguments)
    os.umask(0o022)
    if missing := [tool for tool in ("dpkg-deb", "dpkg-shlibdeps", "dpkg-architecture") if shutil.which(tool) is None]:
        print(
            f"package: {missing[0]} is missing; on Debian and its like: apt-get install dpkg-dev; elsewhere: ./run install", file=sys.stderr
        )
        return 1
    try:
        made = build(options.output.absolute())
    except (BuildError, manpages.PageError, OSError, subprocess.SubprocessError) as error:
        print(f"package: {error}", file=sys.stderr)
        return 1
    for file in made:
        print(f"package: {file}; {file.stat().st_size / 1e6:.1f} MB")
    print(f"package: to install them, as root: apt-get install {' '.join(str(file) for file in made)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
