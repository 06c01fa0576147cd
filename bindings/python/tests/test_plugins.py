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
    assert list(shelf.plugins) == ["reset", "wishbone", "avalon"] and len(shelf.plugins) == 3 and "reset" in shelf.plugins
    info = shelf.info.plugins[0]
    assert info == towpath.PluginInfo(number=0, type="reset", version=1, offset=0x1000, bytes=0x1000)
    assert shelf.plugins[0].info == shelf.plugins["reset:0"].info == info
    with pytest.raises(towpath.NotFoundError, match='no plug-in "rest"; plug-ins of this device: reset, wishbone, avalon'):
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
