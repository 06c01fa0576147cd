# SPDX-License-Identifier: Apache-2.0
"""Crate towpath-vfio, the checks and the library against a real kernel's VFIO, in virtual machines: QEMU emulates processor, IOMMU and
devices, so no board and no rights are needed. The tests themselves are in src/; here the machines are started, and what they said is read.
A test that came to no result has failed.
"""

import functools
import os
import re
import subprocess
from pathlib import Path

import machine
import pytest

HERE = Path(__file__).resolve().parent
DEVICES = (
    *("-device", "edu,addr=4,dma_mask=0xffffffffffffffff"),
    *("-device", "e1000e,addr=5,romfile="),
    *("-device", "nvme,addr=6,serial=a,drive=null"),
    # Functions of one device, which stand in one group.
    *("-device", "nvme,addr=7.0,multifunction=on,serial=b", "-device", "edu,addr=7.1"),
)


def names(source: str) -> list[str]:
    """The tests in a source of the guest's, from its table."""
    return re.findall(r'^    \("(\w+)", ', (HERE / "src" / source).read_text(), re.M)


@functools.cache
def program() -> Path:
    """The guest's, which outside of the machine serves the card for it."""
    command = ["cargo", "build", "--release", "--locked", f"--manifest-path={machine.ROOT / 'host/Cargo.toml'}"]
    subprocess.run([*command, "--package=towpath-vfio-guest"], check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", machine.ROOT / "host/target")) / "release/towpath-vfio-guest"


@pytest.fixture(scope="session")
def file_system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        machine.ready()
    except machine.Missing as why:
        pytest.skip(str(why))
    path = tmp_path_factory.mktemp("machine") / "initial"
    path.write_bytes(machine.initial_file_system(program()))
    return path


@pytest.fixture(scope="session")
def devices(file_system: Path) -> str:
    return machine.boot(file_system, "devices", *machine.IOMMU, *DEVICES, options="intel_iommu=on")


@pytest.fixture(scope="session")
def without(file_system: Path) -> str:
    return machine.boot(file_system, "no-iommu", *DEVICES)


@pytest.fixture(scope="session")
def card(file_system: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    if not machine.has_device("vfio-user-pci"):
        pytest.skip("this QEMU has no vfio-user-pci: it needs QEMU 10.1 or newer")
    socket = tmp_path_factory.mktemp("card") / "socket"
    environment = {"TOWPATH_HOME": str(machine.ROOT)} | os.environ
    with subprocess.Popen([program(), "serve", socket], stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == "serving\n", "the card is not served"
            return machine.boot(file_system, "card", *machine.IOMMU, *behind_a_port(socket), options="intel_iommu=on")
        finally:
            server.kill()


def behind_a_port(socket: Path) -> tuple[str, ...]:
    card = f'{{"driver":"vfio-user-pci","bus":"below","socket":{{"type":"unix","path":"{socket}"}}}}'
    return ("-device", "pcie-root-port,id=below,slot=1,addr=4", "-device", card)


def passed(output: str, test: str) -> None:
    found = re.search(rf"^towpath: {test}: (\w+)$", output, re.M)
    assert found is not None, f"the machine did not come to it; the end of what it said:\n{output[-3000:]}"
    if found[1] != "ok":
        before = output[: found.start()].rpartition("\ntowpath: ")[2]
        pytest.fail(f"in the machine:\n{before}", pytrace=False)


@pytest.mark.parametrize("test", [*names("edu.rs"), *names("devices.rs"), *names("refusals.rs")])
def test_with_qemus_devices(devices: str, test: str) -> None:
    passed(devices, test)


def test_without_an_iommu(without: str) -> None:
    passed(without, "without_an_iommu")


@pytest.mark.parametrize("test", names("card.rs"))
def test_with_the_simulated_card(card: str, test: str) -> None:
    passed(card, test)
