# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian's that tests use in a guest and most machines lack, fetched as packages into the cache; nothing is installed.

pv, which every pipe of the tests would do without, but users do not; and udev, which says itself what our rule comes to.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kernel import CACHE, RELEASE, Apt, locked, unpack

# Each with what it is linked with, but for the C library.
UDEV = ("udev", "libkmod2", "libacl1", "libblkid1", "libcap2", "libselinux1", "libpcre2-8-0", "libzstd1", "liblzma5", "libssl3")
PACKAGES = ("pv", *UDEV)
FOLDER = CACHE / "utilities"


def fetch() -> Path:
    """Their folder; 4 MB to download, once. Or Missing is raised."""
    with locked("utilities"):
        if not FOLDER.is_dir():
            work = CACHE / "apt-utilities"
            shutil.rmtree(work, ignore_errors=True)
            unpack(Apt(work, RELEASE).download(*PACKAGES), FOLDER)
            shutil.rmtree(work)
    return FOLDER
