# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian's that tests use in a guest and most machines lack, fetched as packages into the cache; nothing is installed.

pv and xxd, which the tests would do without, but users do not; udev, which says itself what our rule comes to; and fio, which tries
and verifies a memory's file.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kernel import CACHE, RELEASE, Apt, locked, unpack

# Each with what it is linked with, but for the C library.
UDEV = ("udev", "libkmod2", "libacl1", "libblkid1", "libcap2", "libselinux1", "libpcre2-8-0", "libzstd1", "liblzma5", "libssl3")
FIO = (
    "fio libaio1 libargon2-1 libboost-iostreams1.74.0 libboost-thread1.74.0 libbz2-1.0 libcom-err2 libcryptsetup12 libdaxctl1 "
    "libdevmapper1.02.1 libffi8 libfmt9 libgfapi0 libgfrpc0 libgfxdr0 libglusterfs0 libgmp10 libgnutls30 libgssapi-krb5-2 libhogweed6 "
    "libibverbs1 libicu72 libidn2-0 libjson-c5 libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0 liblzma5 libnbd0 libndctl6 "
    "libnettle8 libnl-3-200 libnl-route-3-200 libnuma1 libp11-kit0 libpmem1 libpmemblk1 librados2 librbd1 librdmacm1 libstdc++6 "
    "libtasn1-6 libtirpc3 libudev1 libunistring2 libuuid1 libxml2 zlib1g"
).split()
PACKAGES = ("pv", "xxd", *dict.fromkeys([*UDEV, *FIO]))
# Of another name when there are other packages.
FOLDER = CACHE / "utilities-2"


def fetch() -> Path:
    """Their folder; 34 MB to download, once. Or Missing is raised."""
    with locked("utilities"):
        if not FOLDER.is_dir():
            work = CACHE / "apt-utilities"
            shutil.rmtree(work, ignore_errors=True)
            unpack(Apt(work, RELEASE).download(*PACKAGES), FOLDER)
            shutil.rmtree(work)
    return FOLDER
