# SPDX-License-Identifier: Apache-2.0
"""The library over the driver's files: the command line, and random transfers of which every byte and every completion is compared."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from asking import opened, write_register
from inside import Card, Module, cards_come_and_go, until
from mapped import can_be_mapped

COMMAND = os.environ.get("TOWPATH_GUEST_COMMAND", "towpath")
SCRATCH = "0x4"
# Of the core scratchpad.
SLVERR_PAGE, NONE = 0x0C, 0xFFFF_FFFF

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture(autouse=True)
def module(driver: Module, cards: list[Card]) -> None:
    until(lambda: all("control" in card.files for card in cards), "the cards' files are there")


def towpath(card: Card, *arguments: str | Path, given: bytes = b"", seconds: float = 30) -> subprocess.CompletedProcess[bytes]:
    """The command line with a card, to its end."""
    command = [COMMAND, "--device", f"/dev/{card.name}", *arguments]
    return subprocess.run(command, input=given, capture_output=True, timeout=seconds)


def done(process: subprocess.CompletedProcess[bytes]) -> bytes:
    assert process.returncode == 0, process.stderr.decode()
    return process.stdout


def submitted(card: Card, channel: int) -> int:
    """How many transfers the channel has been handed."""
    return card.counter(f"towpath/{card.name}!control/{card.name}!{channel}/statistics/submitted")


def test_cards_are_listed_once_with_core_and_serial_number(cards: list[Card]) -> None:
    listed = json.loads(done(towpath(cards[0], "list", "--json")))["devices"]
    held = [device for device in listed if device["order"] is not None]
    assert [device["name"] for device in held] == [f"/dev/{card.name}" for card in cards]
    assert [device["order"] for device in held] == [1, 2, 3]
    for card, device in zip(cards, held, strict=True):
        assert (device["serial"], card.attribute(f"towpath/{card.name}!control/core") in device["description"]) == (0, True)


def test_a_card_is_found_by_its_order(cards: list[Card]) -> None:
    told = json.loads(done(subprocess.run([COMMAND, "-d", "#2", "info", "--json"], capture_output=True)))
    assert (told["name"], told["core"], len(told["channels"])) == (f"/dev/{cards[1].name}", "loop3x2_qos", 5)


def test_what_the_card_is(card: Card) -> None:
    told = json.loads(done(towpath(card, "info", "--json")))
    assert (told["core"], told["core_version"], told["data_bits"], told["register_bytes"]) == ("loopback", 1, 128, 4096)
    assert [(channel["name"], channel["direction"]) for channel in told["channels"]] == [("in", "h2c"), ("out", "c2h")]


def test_the_doctor_finds_it_well(card: Card) -> None:
    findings = json.loads(done(towpath(card, "doctor", f"/dev/{card.name}", "--json")))["findings"]
    assert {"driver", "file", "memory"} <= {finding["check"] for finding in findings}


def test_bytes_go_through(card: Card) -> None:
    data = random.Random(7).randbytes(300_001)
    assert done(towpath(card, "pipe", given=data)) == data


def test_lines_are_messages(card: Card) -> None:
    lines = b"".join(b"line %d\n" % number for number in range(50))
    assert done(towpath(card, "pipe", "--end", "line", given=lines)) == lines


def test_registers_and_interrupts(card: Card) -> None:
    done(towpath(card, "reg", "write", SCRATCH, "0xcafe"))
    assert b"0xcafe" in done(towpath(card, "reg", "read", SCRATCH)).lower().replace(b"0x0000cafe", b"0xcafe")
    assert json.loads(done(towpath(card, "irq", "count", "--json")))["interrupts"]


def test_a_channel_is_one_programs(card: Card) -> None:
    with opened(card.files["in"], os.O_WRONLY):
        failed = towpath(card, "send", "in", given=b"hello")
        assert failed.returncode != 0 and b"already open" in failed.stderr and b"another program" in failed.stderr
    assert done(towpath(card, "pipe", given=b"hello")) == b"hello"


def test_another_programs_reset_is_told(card: Card, start: Start) -> None:
    before = submitted(card, 1)
    process = start(COMMAND, "--device", f"/dev/{card.name}", "recv", "out", stderr=subprocess.PIPE)
    until(lambda: submitted(card, 1) > before, "it waits")
    done(towpath(card, "reset"))
    said = process.communicate(timeout=20)[1]
    assert process.returncode != 0 and b"reset after 0 bytes" in said
    assert done(towpath(card, "pipe", given=b"again")) == b"again"


def test_a_program_that_is_killed_leaves_nothing(card: Card, start: Start, driver: Module) -> None:
    before = submitted(card, 1)
    process = start(COMMAND, "--device", f"/dev/{card.name}", "recv", "out")
    until(lambda: submitted(card, 1) > before, "it waits")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert done(towpath(card, "pipe", given=b"next")) == b"next"
    driver.unload()
    driver.load()


@cards_come_and_go
def test_a_card_that_is_pulled_out_ends_a_wait(card: Card, start: Start) -> None:
    before = submitted(card, 1)
    process = start(COMMAND, "--device", f"/dev/{card.name}", "recv", "out", stderr=subprocess.PIPE)
    until(lambda: submitted(card, 1) > before, "it waits")
    card.kill()
    said = process.communicate(timeout=20)[1]
    card.start()
    until(lambda: "control" in card.files, "the card's files are there again")
    assert process.returncode != 0 and b"the card is gone" in said, said
    assert done(towpath(card, "pipe", given=b"back")) == b"back"


def at_random(card: Card, program: str, test: str, seed: int, **settings: int) -> None:
    environment = os.environ | {"TOWPATH_PROPERTY_DEVICE": f"/dev/{card.name}", "TOWPATH_SEED": str(seed)}
    environment |= {f"TOWPATH_{name.upper()}": str(value) for name, value in settings.items()}
    command = [os.environ[program], "--exact", test, "--nocapture"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    print(ended.stdout)
    assert ended.returncode == 0 and "1 passed" in ended.stdout, ended.stdout[-3000:] + ended.stderr[-3000:]


def random_transfers(card: Card, transfers: int, seed: int) -> None:
    at_random(card, "TOWPATH_GUEST_PROPERTY", "streams_over_another_device", seed, transfers=transfers)


@pytest.mark.parametrize(("number", "transfers"), [(0, 300), (1, 100)], ids=["loopback", "loop3x2_qos"])
def test_random_transfers(cards: list[Card], number: int, transfers: int) -> None:
    random_transfers(cards[number], transfers, seed=number + 1)


def test_random_reads_and_writes_of_a_memory(scratchpad: Card) -> None:
    at_random(scratchpad, "TOWPATH_GUEST_MEMORIES", "memories_over_another_device", 1, operations=200)


def test_a_channels_part_of_the_link(cards: list[Card]) -> None:
    """What one program has set another finds; a card without it says so."""
    done(towpath(cards[1], "qos", "b", "--weight", "5", "--class", "3"))
    told = json.loads(done(towpath(cards[1], "--json", "qos", "b")))["channels"]
    assert [(channel["name"], channel["weight"], channel["class"]) for channel in told] == [("b", 5, 3)]
    done(towpath(cards[1], "qos", "b", "--weight", "1", "--class", "0"))
    failed = towpath(cards[0], "qos")
    assert failed.returncode == 1 and b"qos = true" in failed.stderr, failed.stderr


def test_a_memory_by_the_command_line(scratchpad: Card) -> None:
    data = random.Random(8).randbytes(200_001)
    done(towpath(scratchpad, "mem", "write", "ram", "0x123", given=data))
    assert done(towpath(scratchpad, "mem", "read", "ram", "0x123", str(len(data)))) == data
    with opened(scratchpad.files["ram"], os.O_RDONLY) as file:
        assert os.pread(file, len(data), 0x123) == data
        failed = towpath(scratchpad, "mem", "read", "ram", "0", "16")
        assert failed.returncode != 0 and b"already open" in failed.stderr, failed.stderr


@can_be_mapped
def test_a_memorys_window(scratchpad: Card) -> None:
    """Loads and stores by the library, between transfers of the same memory."""
    data = random.Random(9).randbytes(3001)
    done(towpath(scratchpad, "mem", "write", "--window", "ram", "0x1ffd", given=data))
    assert done(towpath(scratchpad, "mem", "read", "ram", "0x1ffd", str(len(data)))) == data
    assert done(towpath(scratchpad, "mem", "read", "--window", "ram", "0x2001", "2000")) == data[4:2004]
    with opened(scratchpad.files["control"], os.O_RDWR) as control:
        write_register(control, SLVERR_PAGE, 20)
        for call in (("read", "--window", "ram", "0x14000", "8"), ("write", "--window", "ram", "0x14000")):
            failed = towpath(scratchpad, "mem", *call, given=b"12345678")
            assert failed.returncode == 1 and b"answered with an error" in failed.stderr, failed.stderr
        write_register(control, SLVERR_PAGE, NONE)
    # All ones that are no failure.
    done(towpath(scratchpad, "mem", "write", "--window", "ram", "0x100", given=b"\xff" * 64))
    assert done(towpath(scratchpad, "mem", "read", "--window", "ram", "0x100", "64")) == b"\xff" * 64
