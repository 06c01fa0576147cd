# SPDX-License-Identifier: Apache-2.0
"""Virtual machines for tests: QEMU and a Debian kernel, fetched as packages and unpacked (nothing is installed, and root is not needed),
and an initial file system with one program of ours. The kernel driver's tests (tests/driver/qemu.py) bring a kernel and files of their own.

QEMU comes from Debian 13 and its backports, with all that it needs down to the C library, so that it runs on any Debian or Ubuntu; it is
10.1 or newer, for `vfio-user-pci`. The kernel is Debian 12's, 6.1: newer ones are kinder to a program that maps memory. `TOWPATH_QEMU`
names another program; `TOWPATH_KERNEL` a folder into which another kernel's package was unpacked.
"""

from __future__ import annotations

import functools
import gzip
import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from packages import MIRROR, Apt, Missing, unpack  # noqa: E402

CACHE = Path(os.environ.get("TOWPATH_CACHE", ROOT / ".towpath" / "cache")) / "machine"
KERNEL_PACKAGE = "linux-image-cloud-amd64"
MODULES = ("vfio-pci", "vfio_iommu_type1")
# What the guest runs beside our program: the commands that administrators are told to type, without sudo.
PROGRAMS = ("sh", "tee", "chown")


# --- QEMU and the kernel -------------------------------------------------------------------------------------------------------


def fetch() -> None:
    """QEMU and the kernel into the cache: 90 MB to download, 280 MB to keep, about a minute."""
    if (CACHE / "qemu").is_dir() and (CACHE / "kernel").is_dir():
        return
    print(f"fetching QEMU and a kernel from {MIRROR}, once", flush=True)
    folder = CACHE / "apt"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        apt = Apt(folder, "trixie", "trixie-backports", "bookworm")
        qemu = apt.download_all("qemu-system-x86", "trixie-backports")
    except Missing as why:
        raise Missing(f"{why}; or name a QEMU in TOWPATH_QEMU and a kernel's folder in TOWPATH_KERNEL") from why
    # A package without files, whose version's one dependency is the kernel's own.
    versions = apt("apt-cache", "show", KERNEL_PACKAGE)
    found = re.search(r"^Depends: (linux-image-6\.1\.\S+)", versions, re.M)
    if found is None:
        raise Missing(f"{MIRROR} has no {KERNEL_PACKAGE} of 6.1 any more")
    unpack(qemu, CACHE / "qemu")
    unpack(apt.download(found[1]), CACHE / "kernel")
    shutil.rmtree(folder)


def qemu_command() -> list[str]:
    if named := os.environ.get("TOWPATH_QEMU"):
        return [named]
    root = CACHE / "qemu"
    libraries = root / "usr/lib/x86_64-linux-gnu"
    data = [word for name in ("qemu", "seabios") for word in ("-L", str(root / "usr/share" / name))]
    loader = str(libraries / "ld-linux-x86-64.so.2")
    return [loader, "--library-path", str(libraries), str(root / "usr/bin/qemu-system-x86_64"), *data]


@functools.cache
def ready() -> None:
    """What a machine needs is there, or Missing is raised."""
    if os.uname().machine != "x86_64":
        raise Missing(f"the guest's program is built for this machine, a {os.uname().machine}, and the guest is an x86_64")
    if not (os.environ.get("TOWPATH_QEMU") and os.environ.get("TOWPATH_KERNEL")):
        fetch()
    try:
        done = subprocess.run([*qemu_command(), "--version"], capture_output=True, text=True, timeout=60)
    except OSError as error:
        raise Missing(f"QEMU does not start: {error}") from error
    if done.returncode != 0:
        raise Missing(f"QEMU does not run: {done.stderr.strip()}")


def has_device(name: str) -> bool:
    done = subprocess.run([*qemu_command(), "-device", "help"], capture_output=True, text=True, timeout=60)
    return f'"{name}"' in done.stdout


def kernel() -> Path:
    return Path(os.environ.get("TOWPATH_KERNEL", CACHE / "kernel"))


# --- the initial file system ---------------------------------------------------------------------------------------------------


class Archive:
    """A file system in the format that the kernel unpacks (cpio, "newc")."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.names: set[str] = set()

    def add(self, name: str, content: bytes, mode: int = 0o100755) -> None:
        parent = os.path.dirname(name)
        if parent and parent not in self.names:
            self.add(parent, b"", 0o040755)
        self.names.add(name)
        self.entry(name, content, mode)

    def entry(self, name: str, content: bytes, mode: int) -> None:
        path = name.encode() + b"\0"
        # Number, mode, owner, group, links, time, size, four device numbers, the name's length, no checksum.
        fields = (len(self.names), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
        self.data += b"070701" + b"".join(b"%08x" % field for field in fields) + path
        self.data += bytes(-len(self.data) % 4)
        self.data += content
        self.data += bytes(-len(self.data) % 4)

    def program(self, name: str, path: Path) -> None:
        """A program of this machine, with the libraries that it is linked with."""
        self.add(name, path.read_bytes())
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(?:=> )?(/\S+) \(0x", listed):
            if library.lstrip("/") not in self.names:
                self.add(library.lstrip("/"), Path(library).read_bytes())

    def modules(self, modules: dict[str, bytes]) -> None:
        """A kernel's modules, and the order in which to load them."""
        for name, content in modules.items():
            self.add(f"modules/{name}", content, 0o100644)
        self.add("modules/order", "".join(f"{name}\n" for name in modules).encode(), 0o100644)

    def finished(self) -> bytes:
        self.entry("TRAILER!!!", b"", 0)
        return gzip.compress(bytes(self.data), 1)


def module_files(folder: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """Modules of the kernel in a folder and those that they need, each after what it needs."""
    files = {re.sub(r"\.ko(\.xz)?$", "", path.name).replace("-", "_"): path for path in folder.glob("**/*.ko*")}
    found: dict[str, bytes] = {}

    def add(name: str) -> None:
        path = files[name.replace("-", "_")]
        content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        needed = re.search(rb"\0depends=([^\0]*)\0", content)
        for other in needed[1].decode().split(",") if needed else ():
            if other and other.replace("-", "_") not in found:
                add(other)
        found[name.replace("-", "_")] = content

    for name in names:
        add(name)
    return found


def initial_file_system(program: Path) -> bytes:
    archive = Archive()
    archive.program("init", program)
    for name in PROGRAMS:
        archive.program(f"bin/{name}", Path(shutil.which(name) or name).resolve())
    archive.add("bin/sudo", b'#!/bin/sh\nexec "$@"\n')
    archive.add("bin/modprobe", b"#!/bin/sh\n")  # they are loaded at the start
    archive.modules(module_files(kernel(), MODULES))
    return archive.finished()


# --- running it ----------------------------------------------------------------------------------------------------------------


# What lets devices reach memory only where the guest's kernel says so. Who stands in for a device outside is told of each mapping.
IOMMU = ("-device", "intel-iommu,intremap=on,caching-mode=on")
# A busy host keeps the machine's timer late, which the kernel would take for a broken one.
CONSOLE = "console=ttyS0 panic=-1 no_timer_check"


def command(image: Path, file_system: Path, options: str, memory: str = "512M") -> list[str]:
    """What starts a machine with two processors, whose console is standard output, and whose memory other processes can map."""
    return [
        *qemu_command(),
        *"-machine q35,accel=tcg,kernel-irqchip=split,memory-backend=memory".split(),
        *f"-object memory-backend-memfd,id=memory,size={memory},share=on".split(),
        *f"-m {memory} -smp 2 -nodefaults -display none -no-reboot -serial stdio".split(),
        *("-kernel", str(image), "-initrd", str(file_system), "-append", f"{CONSOLE} {options}"),
    ]


def boot(file_system: Path, tests: str, *devices: str, options: str = "", seconds: int = 240) -> str:
    """What the machine's console said until it switched itself off."""
    image = next(kernel().glob("boot/vmlinuz-*"))
    process = subprocess.Popen(
        [
            *command(image, file_system, f"quiet towpath={tests} {options}"),
            "-drive",
            "if=none,id=null,format=raw,file=null-co://",
            *devices,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        output += f"\ntowpath: the machine did not switch itself off within {seconds} s\n".encode()
    text = output.decode(errors="replace").replace("\r", "")
    sys.stdout.write(text)
    return text
