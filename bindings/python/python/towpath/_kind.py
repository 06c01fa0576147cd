# SPDX-License-Identifier: Apache-2.0
"""Kinds of channel: what is called with a kind's channels. Those of `fanout` and `buffer` are in this package; one that knows a kind from
elsewhere is found by its entry point.

A package names its class in the group "towpath.kinds", under the kind's name in the discovery table:

    [project.entry-points."towpath.kinds"]
    crc32c = "towpath_crc32c:Checked"

The class is a `Kind`: it has the version that it knows, and is called with the kind's channels. docs/guide/channel-kinds.md describes it.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from towpath._channel import Channel
from towpath._errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from towpath._device import Device
    from towpath._types import ChannelInfo

GROUP = "towpath.kinds"
_OWN = ("stream", "memory")


class Kind(Protocol):
    """What an entry point names: a class, or a function with a `version`."""

    version: int
    """Of the kind; cards with another one are refused."""

    def __call__(self, device: Device, sender: Channel | None, receiver: Channel | None) -> Any:
        """What `card.kind(...)` returns. The channels open with their first call; None: the kind has none of that direction."""


def open_kind(device: Device, channel: str | int) -> Any:
    """What `Device.kind` does."""
    first = device.channel(channel)
    if first.kind in _OWN:
        how = "card.memory[...]" if first.kind == "memory" else "card[...]"
        raise UsageError(f'channel "{first.name}" is of Towpath\'s own kind {first.kind}; use {how}', first.name)
    name = first.kind
    halves = {known.direction: known for known in device.info.channels if (known.name, known.kind) == (first.name, name)}
    kind = _known(name, first)
    channels = [Channel(device, halves[way].number, (name, kind.version)) if way in halves else None for way in ("h2c", "c2h")]
    return kind(device, *channels)


def of(channel: Channel | None, way: str) -> Channel:
    """A kind's channel of one direction, if the card has it."""
    if channel is None:
        raise UsageError(f"this channel has no way {way}")
    return channel


def _known(name: str, channel: ChannelInfo) -> Kind:
    if (own := _here().get(name)) is not None:
        if own.version != channel.kind_version:
            is_of = f'channel "{channel.name}" is of kind {name} version {channel.kind_version}'
            what = f"{is_of}, and this library knows version {own.version}"
            raise UsageError(f"{what}; install the version of Towpath that the bitstream is from", channel.name)
        return own
    points = list(entry_points(group=GROUP, name=name))
    if not points:
        what = f'channel "{channel.name}" is of kind {name}, which no package here knows; install the one that comes with the kind'
        raise NotFoundError(f"{what} (its entry point is {name} in the group {GROUP})", channel.name)
    if len(points) > 1:
        both = " and ".join(point.value for point in points)
        raise UsageError(f"kind {name} is known to more than one package here: {both}; uninstall all but one", channel.name)
    kind: Kind = points[0].load()
    if kind.version != channel.kind_version:
        what = (
            f'channel "{channel.name}" is of kind {name} version {channel.kind_version}, and {points[0].value} knows version {kind.version}'
        )
        raise UsageError(f"{what}; install the version of that package that the bitstream is from", channel.name)
    return kind


def _here() -> dict[str, Kind]:
    """The kinds that come with Towpath, but for those that need no class of a kind's."""
    from towpath._fanout import Fanout
    from towpath._frames import Frames

    return {"fanout": Fanout, "buffer": Frames}
