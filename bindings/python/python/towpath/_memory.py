# SPDX-License-Identifier: Apache-2.0
"""The user core's memories: `card.memory["ram"]`."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, overload

from towpath import _towpath
from towpath._asyncio import side_of, transfer
from towpath._errors import TransferError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy

    from towpath._towpath import Ticket, WindowPart
    from towpath._types import Memory

# One transfer of `aread`, `aread_into` and `awrite`, as the library's blocking calls cut theirs; a longer call makes several, one after the
# other.
_PART = 1 << 20


class CardMemory(_towpath.CardMemory):
    """A memory of the user core: bytes with addresses from 0 to `len(memory) - 1`.

    `memory[a:b]` is bytes, `memory[a:b] = buffer` takes any C-contiguous buffer of that many bytes. Calls of several threads are under way
    at once. A write that has returned is in the core's memory. TransferError when the core answers with an error; any part of a write may
    have been written then, and after a TimeoutError, or be written yet until a later write has returned.

    `aread`, `aread_into` and `awrite` are for asyncio. They work in parts of 1 MiB: their timeout is a limit for each part, and the error
    of a part has the bytes of those before it. Do not mix them with blocking calls of other threads on the same memory, which would consume
    the news.
    """

    def window(self) -> Window:
        """Its window, for loads and stores without descriptors. UsageError if it has none (`window = true` in the core's manifest)."""
        self._window()
        return Window(self)

    @contextlib.contextmanager
    def map(self, start: int, stop: int) -> Iterator[numpy.ndarray]:
        """These bytes as a NumPy array of uint8: `with ram.map(0, 4096) as array:`.

        The array is a copy, which the window loads at entry. At exit the bytes that have changed are stored, those between two of them that
        are fewer than 8 apart, too, and have arrived when it is over.
        """
        import numpy

        window = self.window()
        before = numpy.frombuffer(window[start:stop], numpy.uint8)
        array = before.copy()
        try:
            yield array
        finally:
            changed = numpy.flatnonzero(array != before)
            for run in numpy.split(changed, numpy.flatnonzero(numpy.diff(changed) > 8) + 1):
                if run.size:
                    first, end = int(run[0]), int(run[-1]) + 1
                    window[start + first : start + end] = array[first:end]
            window.flush()

    async def aread(self, address: int, length: int, *, timeout: float | None = 10.0) -> bytes:
        """As `read`."""
        self._within(address, length)
        into = bytearray(length)
        await self.aread_into(into, address, timeout=timeout)
        return bytes(into)

    async def aread_into(self, buffer: Memory, address: int, *, timeout: float | None = 10.0) -> int:
        """As `read_into`."""

        def submit(part: memoryview, at: int) -> Ticket:
            return self.submit_read(part, at, timeout=0)

        return await self._parts(buffer, address, submit, False, timeout)

    async def awrite(self, address: int, buffer: Memory, *, timeout: float | None = 10.0) -> int:
        """As `write`."""

        def submit(part: memoryview, at: int) -> Ticket:
            return self.submit_write(at, part, timeout=0)

        return await self._parts(buffer, address, submit, True, timeout)

    async def _parts(
        self, buffer: Memory, address: int, submit: Callable[[memoryview, int], Ticket], writes: bool, timeout: float | None
    ) -> int:
        rows = memoryview(buffer)  # type: ignore[arg-type]  # before Python 3.12 an array's type does not declare that it is a buffer
        flat = rows.cast("B") if rows.nbytes else rows
        self._within(address, rows.nbytes)
        side = side_of(self.__dict__, functools.partial(self._fileno, writes), "_writing" if writes else "_reading")
        arm = functools.partial(self._arm, writes)

        def expired(before: int, moved: int) -> BaseException:
            return self._timed_out(timeout, before + moved)

        for at in range(0, rows.nbytes, _PART):
            part = functools.partial(submit, flat[at : at + _PART], address + at)
            try:
                await transfer(part, side, arm, self._seconds(timeout), functools.partial(expired, at))
            except TransferError as error:
                error.bytes += at
                raise
        return rows.nbytes


class Window:
    """The window onto a memory: `window[a:b]` is loaded, `window[a:b] = buffer` is stored.

    Stores reach the memory in order, and return before they have arrived; a load sees all stores before it. What the core refuses of a
    store, and what a transfer by `memory.read` is to see, is known after `flush`.
    """

    def __init__(self, memory: CardMemory) -> None:
        self._memory = memory

    def __len__(self) -> int:
        """The memory's size in bytes."""
        return len(self._memory)

    @overload
    def __getitem__(self, part: slice) -> bytes: ...
    @overload
    def __getitem__(self, part: int) -> int: ...
    def __getitem__(self, part: slice | int) -> bytes | int:
        return self._memory._load(part)

    def __setitem__(self, part: slice | int, value: Memory | int) -> None:
        self._memory._store(part, value)

    def part(self, start: int = 0, stop: int | None = None) -> WindowPart:
        """These bytes as a buffer for another card to receive into: `other["out"].recv_into(window.part(0, 4096))` makes it write here
        itself, without the host's memory. UsageError where it cannot. `flush` reports what the core refused, as it does for stores."""
        return self._memory._part(slice(start, stop))

    def flush(self) -> None:
        """All stores before are in the memory when it returns. TransferError if one was refused or dropped, of any window of the card."""
        self._memory._flush()


class Memories:
    """A device's memories by name, or by the number of one of their channels."""

    def __init__(self, device: _towpath.Device, opened: dict[str, CardMemory]) -> None:
        self._device = device
        self._opened = opened

    def __getitem__(self, memory: str | int) -> CardMemory:
        """The memory of this name or number, the same object each time. NotFoundError if there is none. It opens with its first call."""
        found = CardMemory(self._device, memory)
        return self._opened.setdefault(found.name, found)

    def __iter__(self) -> Iterator[str]:
        """Their names."""
        return (memory.name for memory in self._device._memories())

    def __contains__(self, memory: object) -> bool:
        return any(memory in (known.name, known.writer, known.reader) for known in self._device._memories())

    def __len__(self) -> int:
        return len(self._device._memories())
