# SPDX-License-Identifier: Apache-2.0
"""Plug-ins beside the user core: `card.plugins["reset"]`."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING

from towpath import _towpath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from os import PathLike

    from towpath._channel import Channel
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


class Partial(_towpath.Partial):
    """Loads of other cores into the user core's region, by a plug-in of type `partial`. The channels stay.

    partial = card.plugins["partial"]
    partial.load("sobel.bin", channels=[card["in"], card["out"]])
    """

    def load(
        self,
        file: str | PathLike[str],
        *,
        channels: Iterable[Channel] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Load a core from a file: a raw bit file, or one of `simulated_image` for a simulated card.

        UsageError while a channel is within a message, unless `channels` are given: then all messages are cut, and these channels reset.
        RegisterError if the load fails: the region then has no core until another ends well. `progress` is called with the bytes so far,
        and those of the file.
        """
        reset = None if channels is None else lambda all=tuple(channels): [channel.reset() for channel in all]
        self.load_file(file, progress, reset)


class TlpLog(_towpath.TlpLog):
    """The last packets between a card and the host, in a ring on the card, by a plug-in of type `tlplog`. Reading the log is not in it.

    for packet in card.plugins["tlplog"]:
        print(packet.time_ps, packet.stream, hex(packet.address), packet.length)
    """

    def __iter__(self) -> Iterator[TlpEntry]:
        """What is in the log now, the oldest first."""
        return iter(self.entries())


# By type and version; others are registers alone.
_KNOWN: dict[tuple[str, int], type[_towpath.Plugin]] = {
    ("reset", 1): Reset,
    ("clock", 1): Clock,
    ("partial", 1): Partial,
    ("tlplog", 1): TlpLog,
}


class Plugins:
    """A device's plug-ins. "reset" is the first of its type, "reset:1" the second, and a number one of all."""

    def __init__(self, device: _towpath.Device) -> None:
        self._device = device

    def __getitem__(self, plugin: str | int) -> _towpath.Plugin:
        """A plug-in, as the class that knows its type and version (`Reset`, `Clock`, `Partial`, `TlpLog`), or else a `Plugin`.

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
