# SPDX-License-Identifier: Apache-2.0
"""The types of a buffer's items, by NumPy's names, without NumPy."""

from __future__ import annotations

import sys
from typing import NamedTuple

from towpath._errors import ArgumentTypeError, UsageError


class Item(NamedTuple):
    name: str
    format: str
    """As in PEP 3118."""
    typestr: str
    """As in NumPy's array interface."""
    bytes: int


_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "complex64": "Zf",
    "complex128": "Zd",
}
_KINDS = {"bool": "b", "int": "i", "uint": "u", "float": "f", "complex": "c"}


def _item(name: str, format: str) -> Item:
    bits = name.lstrip("abcdefghijklmnopqrstuvwxyz")
    size = int(bits) // 8 if bits else 1
    order = "|" if size == 1 else "<" if sys.byteorder == "little" else ">"
    return Item(name, format, f"{order}{_KINDS[name.removesuffix(bits)]}{size}", size)


_ITEMS = {name: _item(name, format) for name, format in _FORMATS.items()}
_BY_TYPESTR = {item.typestr: item for item in _ITEMS.values()}


def item_of(dtype: object) -> Item:
    """The item of a name ("uint8"), a NumPy type (numpy.uint8) or a NumPy dtype, which must have this machine's byte order."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "str", None)
    if not isinstance(name, str):
        name = getattr(dtype, "__name__", None)
    allowed = ", ".join(_FORMATS)
    if not isinstance(name, str):
        kind = type(dtype).__name__
        raise ArgumentTypeError(f"dtype={dtype!r} is of type {kind}; give one of these names, or NumPy's type of it: {allowed}")
    found = _ITEMS.get(name) or _BY_TYPESTR.get(name)
    if found is None:
        raise UsageError(f"dtype={dtype!r} is none that a buffer can have; give one of {allowed}")
    return found
