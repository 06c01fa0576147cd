# SPDX-License-Identifier: Apache-2.0
"""QEMU as a guest: a distribution's kernel on several processors, with an IOMMU between the cards and memory.

What is not mapped for a card, the card's process does not have: QEMU tells it of each mapping that the guest's kernel makes for it in the
IOMMU, by pages, and of its end. Whatever else the card wants to reach, it says so; see complaints.py.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import debian
from cards import CORES, Cards
from debian import machine
from guest import make_module

MEMORY = "1G"
# Read-only, and nobody changes them: the guest may keep what it has seen.
FILES = "ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose"
OUTPUT = "trans=virtio,version=9p2000.L,msize=512000"
# A card that a test has stopped, or that is at work for long, answers late.
ANSWER_MILLISECONDS = 60_000
# Whatever memory was unmapped is out of reach at once; any thread can be interrupted by another.
KERNEL = "intel_iommu=on iommu.strict=1 preempt=full oops=panic sysctl.kernel.hung_task_timeout_secs=40 loglevel=8 printk.devkmsg=on"
# The cards reach only what the kernel copies for them.
BOUNCING = KERNEL.replace("intel_iommu=on iommu.strict=1", "intel_iommu=off swiotlb=force")


class Qemu:
    flavour = "qemu"
    limit = 900
    at_once = 1
    front = "--socket"
    # Each behind a port of its own, which makes a bus.
    places = tuple(f"0000:{number + 1:02x}:00.0" for number in range(len(CORES)))
    consoles = ("/dev/hvc0", "/dev/hvc1")

    def __init__(self, options: str = KERNEL) -> None:
        debian.ready()
        self.options = options
        self.files = {"TOWPATH_GUEST_AER_INJECT": str(debian.module("aer_inject"))}

    def module(self, folder: Path, *arguments: str) -> Path:
        compiler = "CC=ccache gcc" if shutil.which("ccache") else "CC=gcc"
        # Without the type information for tracers, which is made by a program that is not here.
        return make_module(folder, f"KDIR={debian.tree()}", compiler, "CONFIG_DEBUG_INFO_BTF_MODULES=", *arguments)

    def mount(self, output: Path) -> tuple[str, str, str]:
        return ("9p", "output", OUTPUT)

    def command(self, init: Path, output: Path, cards: Cards, said: int) -> list[str]:
        files = init.with_name("initial")
        files.write_bytes(debian.initial_file_system(init, FILES))
        devices = [
            *(word for number, card in enumerate(cards.cards) for word in behind_a_port(number, card.socket)),
            "virtio-9p-pci,fsdev=files,mount_tag=files",
            "virtio-9p-pci,fsdev=output,mount_tag=output",
            *("virtio-serial-pci", "virtconsole,chardev=said", "virtconsole,chardev=outside"),
        ]
        return [
            *machine.command(debian.image(), files, self.options, MEMORY),
            *machine.IOMMU,
            *("-chardev", f"file,id=said,path=/proc/self/fd/{said}", "-chardev", f"socket,id=outside,fd={cards.guests.fileno()}"),
            *("-fsdev", "local,id=files,path=/,security_model=none,multidevs=remap,readonly=on"),
            *("-fsdev", f"local,id=output,path={output},security_model=none"),
            *(word for device in devices for word in ("-device", device)),
        ]


def behind_a_port(number: int, path: Path) -> list[str]:
    """A card, on a bus of its own."""
    place = {"type": "unix", "path": str(path)}
    card = {"driver": "vfio-user-pci", "bus": f"port{number}", "socket": place, "x-msg-timeout": ANSWER_MILLISECONDS}
    # Of the second generation: of faster ones the kernel waits for a link that trains anew after a reset, which QEMU does not play.
    port = {"driver": "pcie-root-port", "id": f"port{number}", "slot": number + 1, "addr": str(number + 8), "x-speed": "5"}
    return [json.dumps(port), json.dumps(card)]
