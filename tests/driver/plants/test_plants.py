# SPDX-License-Identifier: Apache-2.0
"""Faults on purpose, each of which the kernel must find and the rig must see: else a clean run of the other tests would say nothing.

The order matters: after some reports the kernel's checker of locks switches itself off.
"""

import os
import re
from pathlib import Path

import complaints
import pytest
from inside import KernelLog, Module, look_for_leaks

WORDS = {
    "warning": "a planted warning",
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
