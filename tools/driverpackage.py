#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run driver-package`: the kernel driver as a Debian package, towpath-dkms, which builds the module where it is installed.

It holds the module's sources for DKMS, the rule for udev, the header for programs, the manual page and the licences; its version is the
workspace's. Needs dpkg-deb, and neither a network nor root.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import clibrary
import drivermanual
from clibrary import ROOT

DRIVER = ROOT / "driver/linux"
PACKAGING = DRIVER / "packaging"
# What DKMS builds from: no tests, and no Makefile, for it calls the kernel's own.
SOURCES = ["*.c", "*.h", "Kbuild", "LICENSE", "contract/*.h", "uapi/*.h"]
LEFT_BY_BUILDS = "*.mod.c"


def filled_in(source: Path, version: str, size: int = 0) -> str:
    return source.read_text().replace("@VERSION@", version).replace("@SIZE@", str(size))


def stage(folder: Path, version: str) -> None:
    """Puts everything into an empty folder, as it shall lie on a system."""
    sources = folder / f"usr/src/towpath-{version}"
    found = [path for pattern in SOURCES for path in sorted(DRIVER.glob(pattern)) if not path.match(LEFT_BY_BUILDS)]
    copies = [(path, sources / path.relative_to(DRIVER)) for path in found]
    copies += [
        (PACKAGING / "60-towpath.rules", folder / "usr/lib/udev/rules.d/60-towpath.rules"),
        (DRIVER / "uapi/towpath.h", folder / "usr/include/linux/towpath.h"),
        (DRIVER / "LICENSE", folder / "usr/share/doc/towpath-dkms/copyright"),
    ]
    for source, target in copies:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    (sources / "dkms.conf").write_text(filled_in(PACKAGING / "dkms.conf", version))
    manual = folder / "usr/share/man/man4/towpath.4.gz"
    manual.parent.mkdir(parents=True)
    manual.write_bytes(gzip.compress(drivermanual.page().encode(), mtime=0))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    about = folder / "DEBIAN"
    about.mkdir()
    for source in sorted((PACKAGING / "debian").iterdir()):
        (about / source.name).write_text(filled_in(source, version, size // 1024))
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() or (path.parent == about and path.name != "control") else 0o644)


def build(folder: Path, version: str) -> Path:
    """Leaves the package in `folder`, and says where."""
    package = folder / f"towpath-dkms_{version}_all.deb"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        staged = Path(scratch) / "package"
        staged.mkdir()
        stage(staged, version)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", staged, package], check=True, stdout=subprocess.DEVNULL)
    return package


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./run driver-package", description="Make a Debian package of the kernel driver.")
    parser.add_argument("--output", type=Path, default=Path(), help="the folder that it goes to: this one")
    options = parser.parse_args(arguments)
    os.umask(0o022)
    if shutil.which("dpkg-deb") is None:
        print(
            "driver-package: dpkg-deb is missing: it comes with Debian and its like; elsewhere, make -C driver/linux install",
            file=sys.stderr,
        )
        return 1
    try:
        package = build(options.output.absolute(), clibrary.version())
    except (drivermanual.PageError, OSError, subprocess.SubprocessError) as error:
        print(f"driver-package: {error}", file=sys.stderr)
        return 1
    print(f"driver-package: {package}; to install it, as root: apt-get install {package}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
