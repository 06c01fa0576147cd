# SPDX-License-Identifier: Apache-2.0
"""Debian's packages for tests: fetched and unpacked into a folder of ours. Nothing is installed, and root is not needed.

For programs and sources that a test needs and most machines lack. Not for what every build needs: that is tools/setup.sh's.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class Missing(Exception):
    """Packages cannot be had here; the text says why."""


class Apt:
    """Debian's package manager with lists and files of its own, in `folder`, for the given releases of Debian."""

    def __init__(self, folder: Path, *releases: str) -> None:
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise Missing("apt-get and dpkg-deb are not installed")
        if not KEYS.exists():
            raise Missing(f"{KEYS} is not there: apt-get install debian-archive-keyring")
        self.folder = folder
        for name in ("state/lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        sources = folder / "sources.list"
        sources.write_text("".join(f"deb [signed-by={KEYS}] {MIRROR} {release} main\n" for release in releases))
        settings = {
            "Dir::State": folder / "state",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache",
            "Dir::Etc::sourcelist": sources,
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "APT::Architecture": "amd64",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "",
            "Acquire::Languages": "none",
            "Acquire::Retries": "2",
        }
        self.options = [f"-o{name}={value}" for name, value in settings.items()]
        self("apt-get", "update")

    def __call__(self, program: str, *arguments: str) -> str:
        command = [program, *self.options, *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=900)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise Missing(f"{program} {arguments[0]} failed: {said[-1] if said else done.returncode}; is there a way to {MIRROR}?")
        return done.stdout

    def download(self, *packages: str) -> list[Path]:
        """The files of these packages, without what they depend on."""
        before = set(self.folder.glob("*.deb"))
        self("apt-get", "download", *packages)
        return sorted(set(self.folder.glob("*.deb")) - before)

    def download_all(self, package: str, release: str) -> list[Path]:
        """The files of a package and of all that it depends on, down to the C library."""
        self("apt-get", "install", "--download-only", "--yes", f"--target-release={release}", package)
        return sorted(self.folder.glob("cache/archives/*.deb"))


def unpack(packages: list[Path], into: Path) -> None:
    """All of them, or nothing is there."""
    half = into.with_name(into.name + ".half")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    for package in packages:
        subprocess.run(["dpkg-deb", "-x", package, half], check=True)
    shutil.rmtree(into, ignore_errors=True)
    half.rename(into)
