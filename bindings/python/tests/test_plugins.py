# SPDX-License-Identifier: Apache-2.0
"""Plug-ins beside the user core: the simulated core of examples/plugins, which breaks and is mended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import towpath

CORE = Path(__file__).resolve().parents[3] / "examples/plugins"


@pytest.fixture
def shelf() -> Iterator[towpath.Device]:
    with towpath.open(f"sim:{CORE}") as device:
        yield device


def reset_of(device: towpath.Device) -> towpath.Reset:
    found = device.plugins["reset"]
    assert isinstance(found, towpath.Reset)
    return found


def test_listed_and_found(shelf: towpath.Device, card: towpath.Device) -> None:
    assert list(shelf.plugins) == ["reset", "wishbone", "avalon", "tlplog"] and len(shelf.plugins) == 4 and "reset" in shelf.plugins
    info = shelf.info.plugins[0]
    assert info == towpath.PluginInfo(number=0, type="reset", version=1, offset=0x1000, bytes=0x1000)
    assert shelf.plugins[0].info == shelf.plugins["reset:0"].info == info
    with pytest.raises(towpath.NotFoundError, match='no plug-in "rest"; plug-ins of this device: reset, wishbone, avalon, tlplog'):
        shelf.plugins["rest"]
    with pytest.raises(towpath.NotFoundError, match="none"):
        card.plugins["reset"]
    assert list(card.plugins) == [] and card.info.plugins == ()


def test_registers(shelf: towpath.Device) -> None:
    plain = towpath.Plugin(shelf, "reset")
    plain[12] = 99
    assert plain[12] == reset_of(shelf).length == 99
    with pytest.raises(towpath.RegisterError, match="end at 0x1000"):
        plain[0x1000]
    with pytest.raises(towpath.RegisterError, match="multiple of 4"):
        plain[2] = 0


def test_settings(shelf: towpath.Device) -> None:
    reset = reset_of(shelf)
    assert (reset.outputs, reset.length, reset.on_fault, reset.sequences, reset.faults) == (2, 16, "count", 0, 0)
    reset.length, reset.on_fault = 100, "start"
    reset.set_delay(1, 7)
    assert (reset.length, reset.on_fault, reset.delay(0), reset.delay(1)) == (100, "start", 0, 7)
    with pytest.raises(towpath.UsageError, match='"count", "start" or "hold"'):
        reset.on_fault = "stop"
    with pytest.raises(towpath.UsageError, match="no output 2"):
        reset.set_delay(2, 1)
    with pytest.raises(towpath.UsageError, match="1 or more"):
        reset.length = 0


def test_a_broken_core_is_mended(shelf: towpath.Device) -> None:
    reset = reset_of(shelf)
    reset.on_fault = "hold"
    shelf.registers["scratch"] = 5
    shelf.registers["break"] = 1
    shelf["in"].send(b"lost")
    assert reset.status == towpath.ResetStatus(busy=True, held=True, fault=False, asserted=3)
    with pytest.raises(towpath.UsageError, match="release it"):
        reset.pulse()
    with reset.held():
        shelf["in"].reset()
        shelf["out"].reset()
    assert reset.faults == 1 and reset.status == towpath.ResetStatus(busy=False, held=False, fault=False, asserted=0)
    shelf["in"].send(b"found")
    assert shelf["out"].recv() == b"found" and shelf.registers["scratch"] == 0
    reset.pulse()
    assert shelf.registers["messages"] == 0
    # What goes wrong inside does not leave the core in reset.
    with pytest.raises(ZeroDivisionError), reset.held():
        raise ZeroDivisionError
    assert not reset.status.busy


@pytest.fixture
def clocked() -> Iterator[towpath.Device]:
    with towpath.open(f"sim:{CORE.parents[1] / 'tests/cores/loopback_clocks'}") as device:
        yield device


def test_the_clock_is_switched(clocked: towpath.Device) -> None:
    clock = clocked.plugins["clock"]
    assert isinstance(clock, towpath.Clock)
    assert clock.frequencies_khz == pytest.approx([156250, 62500, 300000], rel=1e-3)
    assert clock.status == towpath.ClockStatus(busy=False, held=False, astray=False, current=0, running=7)
    clocked.registers["scratch"] = 5
    clock.select(2)
    assert clock.status.current == 2 and clocked.registers["scratch"] == 0
    with clock.switched(clock.input_of_mhz(62.5)):
        assert clock.status.held
        clocked["in"].reset()
        clocked["out"].reset()
    assert clock.status == towpath.ClockStatus(busy=False, held=False, astray=False, current=1, running=7)
    clocked["in"].send(b"switched")
    assert clocked["out"].recv() == b"switched"
    with pytest.raises(towpath.UsageError, match="no input 3"):
        clock.select(3)
    with pytest.raises(towpath.UsageError, match="they run at 156.2, 62.5, 299.9 MHz"):
        clock.input_of_mhz(100)
    # What goes wrong inside does not leave the core in reset.
    with pytest.raises(ZeroDivisionError), clock.switched(0):
        raise ZeroDivisionError
    assert not clock.status.held


def test_log_of_packets(shelf: towpath.Device) -> None:
    log = shelf.plugins["tlplog"]
    assert isinstance(log, towpath.TlpLog) and log.running and log.depth == 512
    assert log.filter == towpath.TlpFilter() and log.counts.logged > 0
    log.filter = towpath.TlpFilter(streams=("received_write", "sent_read"), bars=(2,))
    log.clear()
    shelf.registers["scratch"] = 0x11223344
    shelf["in"].send(bytes(range(200)) * 10)
    log.stop()
    packets = list(log)
    assert log.counts == towpath.TlpCounts(logged=len(packets), overwritten=0, dropped=0) and not log.running
    write = packets[0]
    assert (write.stream, write.bar, write.address, write.length, write.first) == ("received_write", 2, 0, 4, b"\x44\x33\x22\x11")
    assert (write.number, write.tag, write.outcome, write.after_loss) == (0, None, None, False)
    reads = packets[1:]
    assert {read.stream for read in reads} == {"sent_read"} and sum(read.length for read in reads) == 2000
    assert all(read.bar is None and read.tag is not None and read.first == b"" for read in reads)
    assert sorted(packet.time_ps for packet in packets) == [packet.time_ps for packet in packets]
    assert log.entries(len(packets) - 1) == packets[-1:] and log.entries(len(packets)) == []
    with pytest.raises(towpath.UsageError, match="sent_write, sent_read"):
        log.filter = towpath.TlpFilter(streams=("sent",))
    with pytest.raises(towpath.UsageError, match="no BAR 6"):
        log.filter = towpath.TlpFilter(bars=(6,))
    log.start()
    assert log.running
