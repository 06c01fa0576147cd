# SPDX-License-Identifier: Apache-2.0
"""What calls take and refuse. Each refusal names the argument, its value, and what is allowed."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import towpath


class Point(ctypes.LittleEndianStructure):
    _fields_ = (("Order", ctypes.c_int32), ("y", ctypes.c_double))


class Holder(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int), ("thing", ctypes.py_object))


def ctypes_array() -> Any:
    return (ctypes.c_uint16 * 5)(1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (ctypes_array, struct.pack("<5H", 1, 2, 3, 4, 5)),
        (lambda: ((ctypes.c_uint8 * 2) * 3).from_buffer_copy(bytes([1, 2, 3, 4, 5, 6])), bytes([1, 2, 3, 4, 5, 6])),
        (lambda: Point(7, 0.5), bytes(Point(7, 0.5))),
        (lambda: (Point * 2)(Point(1, 2.0), Point(3, 4.0)), bytes(Point(1, 2.0)) + bytes(Point(3, 4.0))),
        (lambda: ctypes.c_uint32(0x01020304), bytes([4, 3, 2, 1])),
        (lambda: ctypes.create_string_buffer(b"text"), b"text\0"),
        (lambda: np.array(5, dtype="<u2"), b"\5\0"),
        (lambda: np.float32(1.0), struct.pack("=f", 1.0)),
        (lambda: np.zeros(3, dtype=[("Offset", "<u4"), ("x", "u1")]), bytes(15)),
        (lambda: np.array(["ab"], dtype="S2"), b"ab"),
        (lambda: memoryview(b"12345678").cast("H", (2, 2)), b"12345678"),
    ],
    ids="array matrix structure structures number string 0-d scalar records text memoryview".split(),
)
def test_what_exports_a_buffer_can_be_sent(card: towpath.Device, make: Callable[[], Any], expected: bytes) -> None:
    assert card["in"].send(make()) == len(expected)
    assert card["out"].recv() == expected
    assert card["in"].submit_send(make()).wait().bytes == len(expected)
    assert card["out"].recv() == expected


def test_ctypes_and_a_single_item_can_be_received_into(card: towpath.Device) -> None:
    targets: list[Any] = [ctypes_array(), Point(0, 0), np.zeros((), dtype=np.uint64)]
    for target in targets:
        message = bytes(range(memoryview(target).nbytes))
        card.send("in", message)
        assert card.recv_into("out", target).bytes == len(message)
        assert memoryview(target).tobytes() == message


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.array([1, "two", None], dtype=object),
        lambda: np.zeros(2, dtype=[("number", "i4"), ("thing", object)]),
        lambda: (ctypes.py_object * 2)(ctypes.py_object(1), ctypes.py_object(2)),
        lambda: Holder(1, "two"),
    ],
    ids=["objects", "records", "ctypes", "structure"],
)
def test_objects_are_no_data(card: towpath.Device, make: Callable[[], Any]) -> None:
    for call in (card["in"].send, card["in"].submit_send, card["out"].recv_into, card["out"].submit_recv):
        with pytest.raises(towpath.UsageError, match="holds Python objects.*array of numbers"):
            call(make())


def test_what_gives_no_bytes_is_refused(card: towpath.Device) -> None:
    for wrong in ("text", 5, None, [1, 2], object()):
        with pytest.raises(towpath.ArgumentTypeError, match=f"buffer is of type {type(wrong).__name__}, which is not a buffer; give bytes"):
            card.send("in", wrong)  # type: ignore[call-overload]
    with pytest.raises(towpath.UsageError, match="buffer is of type ndarray.*datetime|buffer is of type ndarray.*dtype"):
        card.send("in", np.zeros(3, dtype="M8[s]"))
    with pytest.raises(towpath.UsageError, match="read-only"):
        card.recv_into("out", np.float32(1))
    gone = memoryview(bytearray(3))
    gone.release()
    with pytest.raises(towpath.UsageError, match="buffer is of type memoryview.*released"):
        card.send("in", gone)


TOO_LARGE = 1 << 64


@pytest.mark.parametrize(
    ("name", "value", "kind", "text"),
    [
        ("user", 1 << 32, towpath.RangeError, r"user=4294967296 is out of range; give a whole number from 0 to 4294967295 \(0xffffffff\)"),
        ("user", -1, towpath.RangeError, r"user=-1 is out of range; give a whole number from 0 to"),
        ("user", 1.5, towpath.ArgumentTypeError, "user=1.5 is of type float; give a whole number from 0 to 4294967295"),
        ("length", TOO_LARGE, towpath.RangeError, f"length={TOO_LARGE} is out of range; give a whole number from 0 to {TOO_LARGE - 1}"),
        ("length", -5, towpath.RangeError, "length=-5 is out of range"),
        ("length", "x", towpath.ArgumentTypeError, "length='x' is of type str; give a whole number"),
        ("offset", TOO_LARGE, towpath.RangeError, f"offset={TOO_LARGE} is out of range"),
        ("offset", b"0", towpath.ArgumentTypeError, "offset=b'0' is of type bytes; give a whole number"),
        ("end", "no", towpath.ArgumentTypeError, "end='no' is of type str; give True or False"),
        ("timeout", -1, towpath.RangeError, "timeout=-1 is out of range; give seconds from 0 to .* or None to wait for ever"),
        ("timeout", float("nan"), towpath.RangeError, "timeout=nan is out of range; give seconds"),
        ("timeout", 1e300, towpath.RangeError, r"timeout=1e\+300 is out of range; give seconds"),
        ("timeout", 10**400, towpath.RangeError, r"timeout=1000.*\.\.\. is out of range; give seconds"),
        ("timeout", "soon", towpath.ArgumentTypeError, "timeout='soon' is of type str; give seconds"),
    ],
)
def test_keywords_of_a_send(card: towpath.Device, name: str, value: Any, kind: type[towpath.UsageError], text: str) -> None:
    for call in (card["in"].send, card["in"].submit_send):
        with pytest.raises(kind, match=text):
            call(b"not sent", **{name: value})
    assert issubclass(kind, ValueError)
    assert issubclass(kind, TypeError if kind is towpath.ArgumentTypeError else OverflowError)


def test_numbers_of_numpys_are_numbers(card: towpath.Device) -> None:
    card["in"].send(b"x", user=np.uint32(5), length=np.int64(1), timeout=np.float32(1), end=np.bool_(True))  # type: ignore[call-overload]
    assert card["out"].message_start() == towpath.MessageStart(1, 0, 5)
    assert card[np.int64(card["out"].number)].recv() == b"x"  # type: ignore[index]


def test_channels_registers_and_interrupts(card: towpath.Device) -> None:
    for wrong in (1.5, None, b"in", ["in"]):
        with pytest.raises(towpath.ArgumentTypeError, match=r"channel=.* is of type .*; give a channel's name \(str\) or number \(int\)"):
            card.send(wrong, b"")  # type: ignore[call-overload]
        with pytest.raises(towpath.ArgumentTypeError, match="register=.*; give a register's name .* 0 to 0xffc"):
            card.registers[wrong]  # type: ignore[index]
        with pytest.raises(towpath.ArgumentTypeError, match="interrupt=.* is of type"):
            card.interrupts[wrong]  # type: ignore[index]
    for outside in (-4, 1 << 32, 1 << 100):
        with pytest.raises(towpath.RangeError, match=f"register={outside} is out of range; give .* from 0 to 0xffc"):
            card.registers[outside]
        with pytest.raises(towpath.NoInterruptError, match=f"no interrupt {outside}; this core has"):
            card.interrupts[outside]
    for value in (1 << 32, -1):
        with pytest.raises(towpath.RangeError, match=f"value={value} is out of range; give a whole number from 0 to 4294967295"):
            card.registers["scratch"] = value
    with pytest.raises(towpath.ArgumentTypeError, match="value='1' is of type str"):
        card.registers["scratch"] = "1"  # type: ignore[assignment]
    with pytest.raises(towpath.RangeError, match="entries=65536 is out of range; give a whole number from 0 to 65535"):
        card.set_moderation("in", entries=65536, time=0)
    with pytest.raises(towpath.RangeError, match="time=-1 is out of range; give seconds"):
        card.set_moderation("in", entries=1, time=-1)
    with pytest.raises(towpath.ArgumentTypeError, match="timeout='x' is of type str"):
        card.interrupts[0].wait("x")  # type: ignore[arg-type]


def test_registers_that_do_not_answer_rightly(card: towpath.Device) -> None:
    for offset, text in ((2, "multiple of 4"), (1 << 20, "outside")):
        with pytest.raises(towpath.RegisterError, match=f"register at {offset:#x}: .*{text}"):
            card.registers[offset]
        with pytest.raises(towpath.RegisterError, match=text):
            card.registers[offset] = 0


def test_names_of_devices() -> None:
    with pytest.raises(towpath.ArgumentTypeError, match="name=3 is of type int; give a device's name"):
        towpath.open(3)  # type: ignore[arg-type]
    with pytest.raises(towpath.NotFoundError, match="/no/such/file"):
        towpath.open(Path("/no/such/file"))


def test_settings_that_there_are_not() -> None:
    with pytest.raises(towpath.UsageError) as caught:
        towpath.open("sim:loopback", msp=256)
    known = str(caught.value).partition("there are ")[2].split(", ")
    assert {"mps", "latency", "width", "trace", "packets", "world", "serial"} <= set(known)
    for width in ("100", "wide"):
        with pytest.raises(towpath.UsageError, match=f"width={width}: it is 64, 128, 256 or 512"):
            towpath.open("sim:loopback", width=width)
    with pytest.raises(towpath.UsageError, match="`latency` is not a number: `soon`"):
        towpath.open("sim:loopback", latency="soon")


def test_a_closed_device_cannot_be_entered() -> None:
    with towpath.open("sim:loopback") as card:
        pass
    with pytest.raises(towpath.UsageError, match="closed; open it again"), card:
        raise AssertionError


def test_a_model_that_stops_is_the_cores_error() -> None:
    """A completion more than the modelled hard block holds ends the run. The buffer's address decides when: a page's start."""
    with towpath.open("sim:loopback", completion_headers=1) as card, pytest.raises(towpath.CoreError, match="the simulated card stopped: "):
        card["in"].send(card.allocate(1000))
