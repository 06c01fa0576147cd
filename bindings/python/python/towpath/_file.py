# SPDX-License-Identifier: Apache-2.0
"""A message as a file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from towpath import _towpath

if TYPE_CHECKING:
    from towpath._channel import Channel

BUFFER = 64 << 10
"""Bytes in the buffer of a buffered file: long enough for transfers of a good rate."""


class MessageFile(io.RawIOBase):
    """One message of a channel, as an unbuffered file: `Channel.open(mode, buffering=0)`. For one thread at a time."""

    def __init__(self, channel: Channel, mode: str, timeout: float | None) -> None:
        self._message = _towpath.MessageFile(channel, mode == "wb", timeout)
        self.name, self.mode = channel.name, mode
        # The extension module's own methods: a signal's exception cannot come between the bytes and their count.
        self.__dict__.update(readinto=self._message.readinto, write=self._message.write)

    def readable(self) -> bool:
        return self.mode == "rb"

    def writable(self) -> bool:
        return self.mode == "wb"

    def close(self) -> None:
        """End the message, if it is being written. The rest of one that is being read stays in the channel."""
        if self.closed:
            return
        try:
            if hasattr(self, "_message"):
                self._message.finish()
        except BaseException:
            # The end is still owed, or another thread is in a call: the file stays open.
            if not self._message.unfinished:
                super().close()
            raise
        super().close()

    def __repr__(self) -> str:
        return f'<towpath.MessageFile "{self.name}" mode={self.mode!r}{" closed" if self.closed else ""}>'


def opened(
    channel: Channel,
    mode: str,
    buffering: int,
    timeout: float | None,
    encoding: str | None,
    errors: str | None,
    newline: str | None,
) -> io.IOBase:
    """What `Channel.open` returns."""
    if mode not in ("r", "w", "rb", "wb"):
        raise ValueError(f'mode={mode!r}; give "rb" or "wb", or "r" or "w" for text')
    binary = "b" in mode
    if binary and (encoding, errors, newline) != (None, None, None):
        raise ValueError(f"mode={mode!r} takes no encoding, errors or newline; they are for text")
    if not binary and buffering == 0:
        raise ValueError("text needs a buffer; buffering=0 is for bytes")
    raw = MessageFile(channel, mode if binary else mode + "b", timeout)
    if buffering == 0:
        return raw
    size = BUFFER if buffering < 0 else buffering
    try:
        file: io.BufferedReader | io.BufferedWriter = io.BufferedReader(raw, size) if raw.readable() else io.BufferedWriter(raw, size)
        return file if binary else io.TextIOWrapper(file, encoding, errors, newline)
    except BaseException:
        raw._message.abandon()  # no message was begun
        raise


def _let_it_follow() -> None:
    """For the extension module: bytecode, in which an exception that waits is raised."""
