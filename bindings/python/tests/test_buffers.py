# SPDX-License-Identifier: Apache-2.0
"""Buffers that the device allocates: arrays for Python, registered once for the card."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

import towpath


def test_it_looks_like_an_array(card: towpath.Device) -> None:
    buffer = card.allocate((3, 5), "uint16")
    assert (buffer.shape, buffer.dtype, buffer.nbytes, len(buffer)) == ((3, 5), "uint16", 30, 3)
    assert repr(buffer) == "towpath.Buffer(shape=(3, 5), dtype='uint16')"
    array = np.asarray(buffer)
    assert array.shape == (3, 5) and array.dtype == np.uint16 and array.flags.c_contiguous and not array.any()
    array[1, 2] = 7
    view = memoryview(buffer)
    assert (view.shape, view.strides, view.format, view.itemsize, view.readonly) == ((3, 5), (10, 2), "H", 2, False)
    assert view[1, 2] == 7
    assert bytes(buffer) == array.tobytes()
    interface = buffer.__array_interface__
    assert interface["data"] == (array.__array_interface__["data"][0], False)
    assert (interface["shape"], interface["typestr"]) == ((3, 5), array.dtype.str)


def test_dlpack(card: towpath.Device) -> None:
    buffer = card.allocate(6, "float32")
    array = np.from_dlpack(buffer)
    array[:] = range(6)
    assert np.asarray(buffer).tolist() == [0, 1, 2, 3, 4, 5]
    assert buffer.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize(
    "name",
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split(),
)
def test_every_dtype_is_numpys(card: towpath.Device, name: str) -> None:
    for dtype in (name, np.dtype(name), np.dtype(name).type):
        buffer = card.allocate(4, dtype)
        assert buffer.dtype == name
        assert np.asarray(buffer).dtype == np.dtype(name) == np.dtype(buffer.__array_interface__["typestr"])


def test_there_and_back_in_all_ways(card: towpath.Device) -> None:
    there, back = card.allocate(300), card.allocate(300)
    np.asarray(there)[:] = np.arange(300) % 251
    card["in"].send(there)
    assert card["out"].recv_into(back).bytes == 300
    assert bytes(back) == bytes(there)
    np.asarray(back)[:] = 0
    receiving = card["out"].submit_recv(back[100:200])
    sending = card.submit_send("in", there[200:])
    assert receiving.wait().bytes == sending.wait().bytes == 100
    expected = np.zeros(300, dtype=np.uint8)
    expected[100:200] = np.asarray(there)[200:]
    assert np.array_equal(np.asarray(back), expected)
    # As an array it is memory like any other.
    card["in"].send(np.asarray(there)[:50])
    assert card["out"].recv_into(np.asarray(back)[:50]).bytes == 50
    assert bytes(back[:50]) == bytes(there[:50])


def test_slices_are_views(card: towpath.Device) -> None:
    buffer = card.allocate((6, 4), "int32")
    np.asarray(buffer)[:] = np.arange(24).reshape(6, 4)
    array = np.asarray(buffer)
    for part in (slice(None), slice(2, 4), slice(-3, None), slice(4, 2), slice(6, 9), slice(1, 5, 1)):
        assert np.array_equal(np.asarray(buffer[part]), array[part])
        assert np.shares_memory(np.asarray(buffer[part]), array) or array[part].size == 0
    assert np.array_equal(np.asarray(buffer[1:5][1:3]), array[2:4])
    with pytest.raises(towpath.UsageError, match=r"slice\(None, None, 2\).*numpy.asarray"):
        buffer[::2]
    with pytest.raises(TypeError, match="indexed by 3.*slices"):
        buffer[3]  # type: ignore[index]


def test_shapes_with_nothing_in_them(card: towpath.Device) -> None:
    for shape in (0, (0, 3), (3, 0)):
        empty = card.allocate(shape)
        assert empty.nbytes == 0 and np.asarray(empty).shape == ((0,) if shape == 0 else shape)
        card["in"].send(empty)
        assert card["out"].recv() == b""
    single = card.allocate((), "uint64")
    np.asarray(single)[()] = 5
    card["in"].send(single)
    assert int.from_bytes(card["out"].recv(), sys.byteorder) == 5
    with pytest.raises(TypeError):
        len(single)


def test_arguments_that_cannot_be(card: towpath.Device) -> None:
    for shape in (-1, (3, -2), 1 << 64, (1 << 40, 1 << 40)):
        with pytest.raises(towpath.RangeError, match=r"shape=.*out of range; give .*9223372036854775807"):
            card.allocate(shape)
    for wrong in (1.5, "many", (3, "x"), None):
        with pytest.raises(towpath.ArgumentTypeError, match="shape=.* is of type"):
            card.allocate(wrong)  # type: ignore[arg-type]
    for dtype in ("uint7", ">u4", np.dtype(">u4"), np.dtype("M8[s]"), object):
        with pytest.raises(towpath.UsageError, match="dtype=.*uint8, uint16"):
            card.allocate(3, dtype)
    with pytest.raises(towpath.ArgumentTypeError, match="dtype=3 is of type int.*uint8"):
        card.allocate(3, 3)
    with pytest.raises(towpath.DeviceError, match="no memory for"):
        card.allocate(1 << 60)


def test_memory_outlives_its_device() -> None:
    with towpath.open("sim:loopback") as card:
        buffer = card.allocate(100)
        array = np.asarray(buffer)
        out = card.allocate(8)
        ticket = card.submit_recv("out", out)
    array[:] = 3
    assert bytes(buffer[90:]) == b"\3" * 10
    with pytest.raises(towpath.TransferError) as caught:
        ticket.wait()
    assert caught.value.status == "cancelled"
    with pytest.raises(towpath.UsageError, match="closed"):
        card.send("in", buffer)
    with towpath.open("sim:loopback") as other:
        with pytest.raises(towpath.UsageError, match="device is closed"):
            other.send("in", buffer)
        other.send("in", array)
        assert other.recv("out") == b"\3" * 100
    gone = weakref.ref(buffer)
    del buffer
    gc.collect()
    assert gone() is not None, "the array refers to it"
    del array
    gc.collect()
    assert gone() is None


def test_a_transfer_keeps_its_memory(card: towpath.Device) -> None:
    buffer = card.allocate(8)
    array = np.asarray(buffer)
    ticket = card.submit_recv("out", buffer[:4])
    del buffer
    card.send("in", b"kept")
    assert ticket.wait().bytes == 4 and array[:4].tobytes() == b"kept"
    ticket = card.submit_recv("out", card.allocate(64))  # nobody looks at it
    card.send("in", b"unseen")
    assert ticket.wait().bytes == 6


def test_another_devices_buffer_is_refused(card: towpath.Device) -> None:
    with towpath.open("sim:loopback") as other:
        buffer = other.allocate(8)
        for call in (lambda: card.send("in", buffer), lambda: card.recv_into("out", buffer), lambda: card.submit_recv("out", buffer)):
            with pytest.raises(towpath.UsageError, match="another device"):
                call()
