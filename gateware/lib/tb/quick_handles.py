# SPDX-License-Identifier: Apache-2.0
"""cocotb's handles, made cheaper: most of a bench's time goes into reading and writing pins, clock after clock.

The simulation loads this module before the bench (see bench.py); nothing else changes. Three things that cocotb does again each time
are remembered: the child of a name, the value read last while its bits are the same, and the value written last, which is not written
again. The last holds for pins that only the bench drives, as inputs are; anything but a plain number is written as ever. So a value
that was read must not be changed in place.
"""

from cocotb.handle import HierarchyObject, LogicArrayObject, LogicObject, ValueObjectBase


def install() -> None:
    find = HierarchyObject.__getattr__

    def child(self, name):
        handle = find(self, name)
        object.__setattr__(self, name, handle)
        return handle

    HierarchyObject.__getattr__ = child
    for kind in (LogicObject, LogicArrayObject):
        kind.value = property(reader(kind), writer())
        kind._written = kind._bits = kind._read = None


def reader(kind):
    convert = kind.get

    def read(self):
        bits = self._handle.get_signal_val_binstr()
        if bits != self._bits:
            self._read = convert(self)
            self._bits = bits
        return self._read

    return read


def writer():
    write_always = ValueObjectBase.value.fset

    def write(self, value):
        plain = type(value) is int
        if plain and value == self._written:
            return
        write_always(self, value)
        self._written = value if plain else None

    return write


install()
