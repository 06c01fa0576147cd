# SPDX-License-Identifier: Apache-2.0
"""Opening a device, what it says of itself, registers and interrupts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import towpath


def test_what_a_card_says_of_itself(card: towpath.Device) -> None:
    info = card.info
    assert info.core == "loopback"
    assert [(c.name, c.direction) for c in sorted(info.channels)] == [("in", "h2c"), ("out", "c2h")]
    assert info.channels[0] == card.channel(info.channels[0].number)
    assert info.data_bits == 128 and info.core_clock_khz == 250_000
    assert info.register_names["scratch"] == 4
    assert info.interrupts == len(card.interrupts) >= 1


@pytest.mark.parametrize("name", ["sim:no-such-core", "sim:/no/such/folder", "teapot:1"])
def test_no_such_device(name: str) -> None:
    with pytest.raises(towpath.Error) as caught:
        towpath.open(name)
    assert name.partition(":")[2] in str(caught.value) or name in str(caught.value)
    assert isinstance(caught.value, towpath.NotFoundError | towpath.CoreError)


def test_the_environment_names_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWPATH_DEVICE", "sim:loopback")
    with towpath.open() as card:
        assert card.info.core == "loopback"


def test_cards_are_listed_with_order_and_serial_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # without the cards that others serve on this machine
    alone = towpath.devices()
    assert [(d.order, d.serial) for d in alone if d.name == "sim:loopback"] == [(None, None)]
    socket = tmp_path / "card"
    command = [sys.executable, "-m", "towpath", "sim", "loopback", "--socket", str(socket), "--set", "serial=0x5eed"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == f"vfio-user:{socket}\n".encode()
            [card] = [device for device in towpath.devices() if device not in alone]
            assert (card.name, card.serial) == (f"vfio-user:{socket}", 0x5EED) and "loopback" in card.description
            with towpath.open(f"#{card.order}") as opened:
                assert opened.info.name == card.name and opened.info.serial == card.serial
        finally:
            server.terminate()
    assert towpath.devices() == alone


def test_settings_of_the_simulation() -> None:
    with towpath.open("sim:loopback", mps=256) as card:
        wire = card.wire()
        assert wire is not None and wire.max_payload == 256
    with pytest.raises(towpath.Error, match="nonsense"):
        towpath.open("sim:loopback", nonsense=1)


def test_the_wire_counts(card: towpath.Device) -> None:
    before = card.wire()
    card.send("in", bytes(1024))
    card.recv("out")
    after = card.wire()
    assert before is not None and after is not None
    assert after.card_read_payload - before.card_read_payload >= 1024
    assert after.card_write_payload - before.card_write_payload >= 1024
    assert after.to_card - before.to_card > 1024 and after.to_host - before.to_host > 1024
    assert after.cycles > before.cycles


def test_the_link_counters(card: towpath.Device) -> None:
    card.send("in", b"nothing goes wrong")
    assert card.recv("out") == b"nothing goes wrong"
    counters = card.link_counters()
    assert isinstance(counters, towpath.LinkCounters) and set(counters) == {0}
    with towpath.open("sim:loopback") as other:
        pass
    with pytest.raises(towpath.UsageError, match="closed"):
        other.link_counters()


def test_moderation(card: towpath.Device) -> None:
    for channel in ("in", "out", 0):
        card.set_moderation(channel, entries=4, time=2e-6)
    buffers = [bytearray(100) for _ in range(8)]
    tickets = [card.submit_recv("out", buffer) for buffer in buffers]
    for n in range(8):
        card.send("in", bytes([n]))
    assert [ticket.wait().bytes for ticket in tickets] == [1] * 8
    assert [buffer[0] for buffer in buffers] == list(range(8))
    card.set_moderation("in", entries=0, time=0)
    with pytest.raises(towpath.UsageError, match=r'"out".*ns is the longest'):
        card.set_moderation("out", entries=1, time=1)
    with pytest.raises(towpath.NotFoundError, match="nowhere"):
        card.set_moderation("nowhere", entries=1, time=0)


def test_waveforms(tmp_path: Path) -> None:
    wave = tmp_path / "wave.fst"
    with towpath.open("sim:loopback", trace=wave) as card:
        card.send("in", b"seen")
        assert card.recv("out") == b"seen"
    assert wave.stat().st_size > 1000


def test_registers(card: towpath.Device) -> None:
    card.registers["scratch"] = 0xDEADBEEF
    assert card.registers["scratch"] == card.registers[0x04] == 0xDEADBEEF
    card.registers[0x04] = 0
    assert card.registers["scratch"] == 0
    assert card.registers.names["scratch"] == 0x04


def test_registers_that_are_not_there(card: towpath.Device) -> None:
    with pytest.raises(towpath.NotFoundError, match="nowhere.*scratch"):
        card.registers["nowhere"]
    with pytest.raises(towpath.Error, match="multiple of 4"):
        card.registers[2]
    with pytest.raises(towpath.Error, match="outside"):
        card.registers[1 << 20] = 1
    with pytest.raises(OverflowError):
        card.registers["scratch"] = 1 << 32


def test_interrupts(card: towpath.Device) -> None:
    interrupt = card.interrupts[0]
    assert interrupt.number == 0 and interrupt.count() == 0
    with pytest.raises(towpath.TimeoutError):
        interrupt.wait(timeout=20e-6)
    for _ in range(3):
        card.send("in", b"count me")
        card.recv("out")
    fired = 0
    while fired < 3:
        fired += interrupt.wait()
    assert fired == 3 == interrupt.count()
    assert [i.number for i in card.interrupts] == list(range(len(card.interrupts)))
    with pytest.raises(towpath.NotFoundError, match="no interrupt 99"):
        card.interrupts[99]


def test_reset(card: towpath.Device) -> None:
    card.registers["scratch"] = 1
    card.send("in", b"lost")
    card.reset()
    assert card.registers["scratch"] == 0
    card.send("in", b"after the reset")
    assert card.recv("out") == b"after the reset"


def test_a_core_that_does_not_compile(tmp_path: Path) -> None:
    (tmp_path / "towpath.toml").write_text(
        '[core]\nname = "broken"\nversion = 1\ntop = "broken"\nsources = ["broken.sv"]\nwidth = 128\n'
        '[[channel]]\nname = "in"\ndirection = "h2c"\n'
    )
    (tmp_path / "broken.sv").write_text("module broken (\n    input logic clk,\n    this is not it\n);\nendmodule\n")
    with pytest.raises(towpath.CoreError, match=r"broken\.sv.*3"):
        towpath.open(f"sim:{tmp_path}")
