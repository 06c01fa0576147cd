# SPDX-License-Identifier: Apache-2.0
"""Faults on purpose, each of which the kernel must find and the rig must see: else a clean run of the other tests would say nothing.

The order matters: after some reports the kernel's checker of locks switches itself off.
"""

import contextlib
import os
import re
from pathlib import Path

import complaints
import pytest
from asking import noise
from inside import IN_QEMU, Card, KernelLog, Module, look_for_leaks, until

WORDS = {
    "warning": r"WARNING: .*/plant\.c:",
    "lock-order": "possible circular locking dependency detected",
    "wrong-unmap": "DMA-API: .*device driver frees DMA memory with different size",
    "use-after-free": "KASAN: use-after-free in use_after_free",
    "leak": r"kmemleak: unreferenced object .*size 1024",
}
FOUND_BY_PLAIN = ("warning",)


@pytest.mark.parametrize("fault", WORDS if os.environ.get("TOWPATH_GUEST") == "debug" else FOUND_BY_PLAIN)
def test_planted_fault_is_found(kernel_log: KernelLog, fault: str) -> None:
    plant = Module(Path(os.environ["TOWPATH_GUEST_PLANT"]))
    plant.load(f"fault={fault}")
    plant.unload()
    if fault == "leak":
        look_for_leaks()
    found = complaints.find(kernel_log.read())
    assert found and re.search(WORDS[fault], found[0]), found or "the kernel said nothing"


@pytest.mark.skipif(not IN_QEMU, reason="this guest has no IOMMU")
def test_memory_taken_away_from_a_card(driver: Module, card: Card) -> None:
    """The card says that it cannot reach its memory, which is read outside (judge in run.py); here, only that the program hears of it."""
    until(lambda: "out" in card.files, "the card's files are there")
    to, back = os.open(card.files["in"], os.O_WRONLY | os.O_DIRECT), os.open(card.files["out"], os.O_RDONLY)
    os.write(to, b"well")
    assert os.read(back, 100) == b"well"
    plant = Module(Path(os.environ["TOWPATH_GUEST_PLANT"]))
    plant.load(f"fault=early-unmap card={card.pci.name}")
    plant.unload()
    with pytest.raises(OSError):
        os.write(to, noise(1000, 1))
        os.fsync(to)
    for file in (to, back):
        with contextlib.suppress(OSError):  # the card does not come to an end
            os.close(file)
