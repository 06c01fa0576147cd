# SPDX-License-Identifier: Apache-2.0
"""User-Mode Linux as a guest: a kernel of our own that runs as a program (kernel.py builds it), with one processor."""

from __future__ import annotations

import shutil
from pathlib import Path

import kernel
from cards import CORES, Cards
from guest import make_module

MEMORY = "512M"


class UserModeLinux:
    limit = 900
    # Each has one processor, and its cards another now and then; much of the time all of them wait.
    at_once = 2
    files: dict[str, str] = {}
    front = "--vhost-user"
    places = tuple(f"0000:00:{number:02x}.0" for number in range(len(CORES)))
    consoles = ("/dev/tty1", "/dev/tty2")

    def __init__(self, flavour: str) -> None:
        self.flavour = flavour
        self.tree = kernel.build(flavour)

    def module(self, folder: Path, *arguments: str) -> Path:
        compiler = "CC=ccache gcc" if shutil.which("ccache") else "CC=gcc"
        return make_module(folder, f"KDIR={self.tree}", "ARCH=um", compiler, *arguments)

    def mount(self, output: Path) -> tuple[str, str, str]:
        return ("hostfs", "hostfs", str(output))

    def command(self, init: Path, output: Path, cards: Cards, said: int) -> list[str]:
        return [
            str(self.tree / "linux"),
            *(f"mem={MEMORY}", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}"),
            # Console 0 is the kernel's, 1 the tests' output, 2 the way to ask the outside.
            *("con0=null,fd:1", f"con1=null,fd:{said}", f"con2=fd:{cards.guests.fileno()}"),
            # The last is for guest/test_shortage.py.
            *("loglevel=8", "printk.devkmsg=on", "kasan_multi_shot", "slub_debug=A,kmalloc-*"),
            # 64 is UML_PCI_OVER_VIRTIO_DEVICE_ID in kernel/plain.config.
            *(f"virtio_uml.device={card.socket}:64" for card in cards.cards),
        ]
