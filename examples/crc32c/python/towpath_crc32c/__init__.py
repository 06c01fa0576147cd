# SPDX-License-Identifier: Apache-2.0
"""Messages that carry a CRC-32C of themselves, checked by the card on the way there and here on the way back.

    with towpath.open("sim:examples/crc32c") as card:
        checked = card.kind("data")
        checked.send(b"hello")
        assert checked.recv() == b"hello"

Not for long messages on a fast link: the checksum is worked out byte by byte here.
"""

from __future__ import annotations

import towpath
from towpath_crc32c.checksum import crc32c, framed

__all__ = ["Checked", "DamagedError", "crc32c", "framed"]
# The kind's own status.
WRONG = 1


class DamagedError(Exception):
    """A message came to its end with a wrong checksum: send it again, or have it sent again."""


class Checked:
    """The two channels of one name; `card.kind` makes it."""

    version = 1

    def __init__(self, device: towpath.Device, sender: towpath.Channel | None, receiver: towpath.Channel | None) -> None:
        self.sender, self.receiver = sender, receiver

    def send(self, message: bytes, timeout: float | None = 10.0) -> None:
        """Send a message with its checksum. DamagedError: it came to the card damaged."""
        self.send_framed(framed(message), timeout)

    def send_framed(self, message: bytes, timeout: float | None = 10.0) -> None:
        """Send a message that has a checksum already, right or wrong."""
        if self.sender is None:
            raise towpath.UsageError("this channel has no way to the card")
        try:
            self.sender.send(message, timeout=timeout)
        except towpath.TransferError as error:
            if error.kind_status != WRONG:
                raise
            raise DamagedError("the message came to the card damaged; send it again") from error

    def recv(self, timeout: float | None = 10.0) -> bytes:
        """Receive a message, whose checksum is right, without it. DamagedError: it came damaged, and is lost."""
        if self.receiver is None:
            raise towpath.UsageError("this channel has no way from the card")
        message = self.receiver.recv(timeout=timeout)
        plain, checksum = message[:-4], message[-4:]
        if framed(plain)[-4:] != checksum:
            raise DamagedError(f"a message of {len(plain)} bytes came damaged")
        return plain
