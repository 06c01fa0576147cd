# SPDX-License-Identifier: Apache-2.0
"""Errors of the bus, which the kernel tells drivers of and recovers from (pci_error_handlers), as its aer_inject makes them up."""

from __future__ import annotations

import lzma
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asking import Aside, noise, opened
from inside import IN_QEMU, Card, KernelLog, Module, until
from looping import END_OF_MESSAGE, RESET, Loop, pinned, there_and_back
from queueing import END, Memory, transfer

pytestmark = pytest.mark.skipif(not IN_QEMU, reason="the bus of User-Mode Linux has no errors")

# Bits of a port's Uncorrectable Error Status (PCI Express Base Specification 4.0, 7.8.4.2): the first is fatal, the other is not.
MALFORMED, COMPLETION_TIMEOUT = 1 << 18, 1 << 14


@pytest.fixture(scope="module")
def inject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Card, int], None]]:
    file = tmp_path_factory.mktemp("modules") / "aer_inject.ko"
    file.write_bytes(lzma.decompress(Path(os.environ["TOWPATH_GUEST_AER_INJECT"]).read_bytes()))
    module = Module(file)
    module.load()

    def error(card: Card, status: int) -> None:
        """Of the port that the card is behind."""
        domain, bus, device = card.pci.resolve().parent.name.split(":")
        device, function = device.split(".")
        # struct aer_error_inj
        asked = struct.pack("=3Bx7I", int(bus, 16), int(device, 16), int(function, 16), status, 0, 0, 0, 0, 0, int(domain, 16))
        Path("/dev/aer_inject").write_bytes(asked)

    yield error
    module.unload()


def test_an_error_that_loses_nothing(loop: Loop, card: Card, inject: Callable[[Card, int], None], kernel_log: KernelLog) -> None:
    """Whoever waits goes on waiting, and what comes then is whole."""
    into = Memory(100_000)
    loop.back.submit(transfer(into))
    inject(card, COMPLETION_TIMEOUT)
    until(lambda: "device recovery successful" in kernel_log.read(), "the kernel has told the driver")
    data = noise(100_000, 1)
    loop.to.submit(transfer(Memory(data), END))
    assert loop.back.collect(1)[0].bytes == len(data) and into.content() == data


def test_an_error_that_resets_the_card(loop: Loop, card: Card, inject: Callable[[Card, int], None]) -> None:
    """Who has a channel open is told once; buffers stay; then all is as before."""
    mine = Memory(100).register(loop.control)
    loop.back.submit(transfer(mine), transfer(Memory(100)))
    waiting = Aside(loop.back.collect, 2)
    inject(card, MALFORMED)
    found = waiting.finish()
    assert [ended.status for ended in found] == [RESET, RESET]
    # The other one had nothing in flight.
    with pytest.raises(ConnectionResetError):
        loop.to.submit(transfer(Memory(b"x"), END))
    loop.to.submit(transfer(Memory(b"hello"), END))
    found = loop.back.run(transfer(mine))
    assert (found.status, mine.content(5)) == (END_OF_MESSAGE, b"hello")
    loop.to.collect(1)
    mine.unregister(loop.control)
    assert pinned() == 0
    there_and_back(loop)


def test_files_after_an_error(driver: Module, card: Card, inject: Callable[[Card, int], None]) -> None:
    with opened(card.files["in"], os.O_WRONLY | os.O_DIRECT) as to, opened(card.files["out"], os.O_RDONLY) as back:
        for _ in range(3):
            waiting = Aside(os.read, back, 100)
            inject(card, MALFORMED)
            with pytest.raises(ConnectionResetError):
                waiting.finish()
            with pytest.raises(ConnectionResetError):
                os.write(to, b"is told, once")
            os.write(to, b"after")
            assert os.read(back, 100) == b"after"
