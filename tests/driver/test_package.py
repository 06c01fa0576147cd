# SPDX-License-Identifier: Apache-2.0
"""The driver's ways onto a machine: the Debian package, through DKMS, and `make install`."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import headers  # noqa: E402
import kernel  # noqa: E402
import throwaway  # noqa: E402

sys.path.insert(0, str(kernel.ROOT / "tools"))
import clibrary  # noqa: E402
import driverpackage  # noqa: E402

DRIVER = kernel.ROOT / "driver/linux"
VERSION = clibrary.version()
SOURCES = f"usr/src/towpath-{VERSION}"
KERNEL = "6.1"
# A system with DKMS, and with one kernel, none of the machine's own, that has a module already.
SYSTEM = r"""
command -v depmod >/dev/null || dpkg --force-depends --no-triggers --install $packages/*kmod*.deb
command -v dkms >/dev/null || dpkg --force-depends --no-triggers --install $packages/dkms_*.deb
mkdir -p /usr/lib/modules
mount -t tmpfs modules /usr/lib/modules
mkdir /usr/lib/modules/$kernel
cd /usr/lib/modules/$kernel
ln -s $headers build
touch modules.order modules.builtin modules.builtin.modinfo
cc -c -x c -o other.ko /dev/null
depmod $kernel
"""
LIFE = r"""
# But for what dpkg and DKMS keep of their own, such as the key that modules are signed with.
everything() {
    find /etc /usr /usr/lib/modules /var -xdev \( -path /var/lib/dpkg -o -path /var/log -o -path /var/cache \) -prune -o \
        ! -name '*shadow-' ! -name 'group-' ! -name .pwd.lock ! -path '/var/lib/dkms/mok.*' -printf '%M %u:%g %p %l\n' | sort -u
    cat /etc/group
}
everything > /tmp/before

dpkg --force-depends --no-triggers --install $older
dpkg --force-depends --no-triggers --install $package
echo "module: $(find /usr/lib/modules -name 'towpath.ko*')"
echo "version: $(modinfo -k $kernel -F version towpath)"
echo "for: $(modinfo -k $kernel -F vermagic towpath)"
echo "alias: $(grep towpath /usr/lib/modules/$kernel/modules.alias)"
echo "group: $(getent group towpath)"
echo "known to DKMS:" $(dkms status)

dpkg --no-triggers --remove towpath-dkms
echo "module after removal: $(find /usr/lib/modules -name 'towpath.ko*')"
dpkg --no-triggers --purge towpath-dkms
everything > /tmp/after
diff /tmp/before /tmp/after
"""
INSTALL = r"""
mkdir -p $(dirname $driver)
cp -a $aside $driver
make -C $driver KDIR=$headers install
echo "found: $(modinfo -k $kernel -F version towpath)"
"""


def release(tree: Path) -> str:
    """The kernel's, as uname tells it."""
    return tree.name.removeprefix("linux-headers-")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not installed")
    folder = tmp_path_factory.mktemp("package")
    tool = [sys.executable, kernel.ROOT / "tools/driverpackage.py", "--output", folder]
    done = subprocess.run(tool, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (package,) = folder.glob("*.deb")
    assert str(package) in done.stdout
    return package


def test_it_holds_what_is_needed_and_no_more(package: Path, tmp_path: Path) -> None:
    listed = subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in listed.splitlines()]
    assert {(line[0], line[1]) for line in lines} == {("drwxr-xr-x", "root/root"), ("-rw-r--r--", "root/root")}
    sources = [f"{name}.c" for name in re.findall(r"[ \t](\w+)\.o\b", (DRIVER / "Kbuild").read_text()) if name != "towpath"]
    sources += [path.name for path in DRIVER.glob("*.h")] + ["Kbuild", "LICENSE", "contract/towpath.h", "dkms.conf", "uapi/towpath.h"]
    others = [
        "include/linux/towpath.h",
        "lib/udev/rules.d/60-towpath.rules",
        "share/doc/towpath-dkms/copyright",
        "share/man/man4/towpath.4.gz",
    ]
    assert sorted(line[5].removeprefix("./") for line in lines if not line[5].endswith("/")) == sorted(
        [*(f"{SOURCES}/{name}" for name in sources), *(f"usr/{name}" for name in others)]
    )
    subprocess.run(["dpkg-deb", "--raw-extract", package, tmp_path / "all"], check=True)
    files = {path: path.read_bytes() for path in (tmp_path / "all").rglob("*") if path.is_file()}
    # What is compressed has any bytes.
    texts = {path: gzip.decompress(text) if path.suffix == ".gz" else text for path, text in files.items()}
    assert [path for path, text in texts.items() if re.search(rb"@[A-Z]+@", text)] == []


def in_a_copy(script: str, work: Path, *folders: Path, **variables: Path | str) -> str:
    """What is said by a script in a copy of the system, in which it does well."""
    work.mkdir()
    try:
        throwaway.check(work)
        tree, packages = headers.headers(KERNEL), headers.dkms()
    except kernel.Missing as why:
        pytest.skip(str(why))
    variables |= {"packages": packages, "headers": tree, "kernel": release(tree), "MAKEFLAGS": " ".join(headers.OPTIONS)}
    known = "".join(f"export {name}='{value}'\n" for name, value in variables.items())
    done = throwaway.run(known + SYSTEM + script, work, kernel.CACHE, *folders)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_it_builds_the_module_where_it_is_installed_and_leaves_nothing_behind(package: Path, tmp_path: Path) -> None:
    older = driverpackage.build(package.parent, "0.0.1")
    said = in_a_copy(LIFE, tmp_path / "system", package.parent, package=package, older=older)
    built_for = release(headers.headers(KERNEL))
    assert f"module: /usr/lib/modules/{built_for}/updates/dkms/towpath.ko\n" in said
    assert f"version: {VERSION}\n" in said
    assert f"for: {built_for} " in said
    assert re.search(r"alias: alias pci:v\S+ towpath\n", said)
    assert re.search(r"group: towpath:x:\d+:\n", said)
    assert f"known to DKMS: towpath/{VERSION}, {built_for}, x86_64: installed\n" in said
    assert "module after removal: \n" in said


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "ARCH")}
    command = ["make", f"-j{len(os.sched_getaffinity(0))}", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment)


def test_make_builds_and_installs(tmp_path: Path) -> None:
    try:
        tree = headers.headers(KERNEL)
    except kernel.Missing as why:
        pytest.skip(str(why))
    copy = shutil.copytree(DRIVER, tmp_path / "driver")
    options = [f"KDIR={tree}", *headers.OPTIONS]
    done = make(copy, *options)
    assert done.returncode == 0 and (copy / "towpath.ko").exists(), done.stdout[-2000:] + done.stderr[-4000:]
    there = tmp_path / "there"
    done = make(copy, *options, "install", f"DESTDIR={there}")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert [path.name for path in (there / "lib/modules" / release(tree)).rglob("towpath.ko*")] == ["towpath.ko"]
    assert (there / "etc/udev/rules.d/60-towpath.rules").read_text() == (DRIVER / "packaging/60-towpath.rules").read_text()
    assert (there / "usr/local/include/linux/towpath.h").read_text() == (DRIVER / "uapi/towpath.h").read_text()
    # Without DESTDIR modprobe finds it.
    script = (
        'cp -r $driver /tmp/driver; make -C /tmp/driver "KDIR=$headers" install; echo "found: $(modinfo -k $kernel -F version towpath)"'
    )
    assert f"found: {VERSION}\n" in in_a_copy(script, tmp_path / "system", copy, driver=copy)
    done = make(copy, *options, "clean")
    assert done.returncode == 0 and not (copy / "towpath.ko").exists()


@pytest.mark.parametrize("target", ["modules", "install", "clean"])
def test_without_headers_make_says_what_to_do(target: str, tmp_path: Path) -> None:
    done = make(DRIVER, f"KDIR={tmp_path / 'nothing'}", target, f"DESTDIR={tmp_path}")
    assert done.returncode != 0 and f"no kernel to build for in {tmp_path / 'nothing'}" in done.stderr
    assert f"apt-get install linux-headers-{os.uname().release}" in done.stderr and "make KDIR=FOLDER" in done.stderr
    assert list(tmp_path.iterdir()) == []
