# SPDX-License-Identifier: Apache-2.0
"""Kind `buffer`: whole frames, which the core looks at and makes in block RAM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from towpath._errors import RangeError, TransferError
from towpath._kind import of

if TYPE_CHECKING:
    from towpath._channel import Channel
    from towpath._device import Device
    from towpath._types import Memory

# The kind's own status.
_TOO_LONG = 1


class Frames:
    """The frames of a channel of kind `buffer`: `card.kind("frames")`."""

    version = 1

    def __init__(self, device: Device, sender: Channel | None, receiver: Channel | None) -> None:
        self.sender, self.receiver = sender, receiver

    def send(self, frame: Memory, user: int = 0, *, timeout: float | None = 10.0) -> None:
        """Send a frame with a user word, and wait until it is in the buffer, where the core sees it.

        RangeError: it is longer than the buffer, and the core does not see it. A call that has begun on the card and fails before its
        end resets the channel, and the buffer is empty then.
        """
        sender = of(self.sender, "to the card")
        try:
            sender.send(frame, timeout=timeout, user=user)
        except TransferError as error:
            if error.kind_status != _TOO_LONG:
                raise
            text = f'channel "{sender.name}": the frame is longer than the core\'s buffer'
            raise RangeError(text, sender.name, error.bytes, error.status, error.kind_status) from error

    def recv(self, *, timeout: float | None = 10.0) -> tuple[bytes, int]:
        """Receive a frame, with the user word that the core has given it."""
        frame, received = of(self.receiver, "from the card").recv_message(timeout=timeout)
        return frame, received.user
