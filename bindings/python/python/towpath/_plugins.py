# SPDX-License-Identifier: Apache-2.0
"""Plug-ins beside the user core: `card.plugins["reset"]`."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING

from towpath import _towpath

if TYPE_CHECKING:
    from collections.abc import Iterator

    from towpath._types import TlpEntry


class Reset(_towpath.Reset):
    """Resets of the user core, by a plug-in of type `reset`. A reset of the core alone leaves its channels in the middle of a message:

    with card.plugins["reset"].held():
        card["in"].reset()
        card["out"].reset()
    """

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the core in reset within the `with` statement, and release it at its end: the place to reset the core's channels."""
        try:
            self.hold()
            yield
        finally:
            self.release()


class Clock(_towpath.Clock):
    """A switch between clocks of the user core, by a plug-in of type `clock`. It resets the core, and not its channels:

    clock = card.plugins["clock"]
    with clock.switched(clock.input_of_mhz(125)):
        card["in"].reset()
        card["out"].reset()
    """

    @contextlib.contextmanager
    def switched(self, input: int) -> Iterator[None]:
        """Switch the core to an input, hold it in reset within the `with` statement, and release it at its end.

        That is the place to reset its channels; `select` does without it, for a core whose channels are between messages.
        """
        self.select_and_hold(input)
        try:
            yield
        finally:
            self.release()


class TlpLog(_towpath.TlpLog):
    """The last packets between a card and the host, in a ring on the card, by a plug-in of type `tlplog`. Reading the log is not in it.

    for packet in card.plugins["tlplog"]:
        print(packet.time_ps, packet.stream, hex(packet.address), packet.length)
    """

    def __iter__(self) -> Iterator[TlpEntry]:
        """What is in the log now, the oldest first."""
        return iter(self.entries())


# By type and version; others are registers alone.
_KNOWN: dict[tuple[str, int], type[_towpath.Plugin]] = {("reset", 1): Reset, ("clock", 1): Clock, ("tlplog", 1): TlpLog}


class Plugins:
    """A device's plug-ins. "reset" is the first of its type, "reset:1" the second, and a number one of all."""

    def __init__(self, device: _towpath.Device) -> None:
        self._device = device

    def __getitem__(self, plugin: str | int) -> _towpath.Plugin:
        """A plug-in, as the class that knows its type and version (`Reset`, `Clock`, `TlpLog`), or else a `Plugin`.

        NotFoundError if there is none.
        """
        found = _towpath.Plugin(self._device, plugin)
        known = _KNOWN.get((found.info.type, found.info.version))
        return known(self._device, found.info.number) if known else found

    def __iter__(self) -> Iterator[str]:
        """Their names: the type, and for all but the first of a type its number."""
        seen: Counter[str] = Counter()
        for plugin in self._device.info.plugins:
            yield f"{plugin.type}:{seen[plugin.type]}" if seen[plugin.type] else plugin.type
            seen[plugin.type] += 1

    def __len__(self) -> int:
        return len(self._device.info.plugins)
