# SPDX-License-Identifier: Apache-2.0
"""The exceptions. The extension module raises them; programs import them from `towpath`."""

from __future__ import annotations

import builtins


class Error(Exception):
    """The base class. The text contains what happened, where, and what to do."""

    def __init__(
        self, message: str, channel: str | None = None, bytes: int = 0, status: str | None = None, kind_status: int | None = None
    ) -> None:
        super().__init__(message)
        self.channel = channel
        """The channel it happened on, or None."""
        self.bytes = bytes
        """Bytes of this transfer that had moved before."""
        self.status = status
        """The card's status, if the card ended the transfer: "poisoned", "cancelled", ..."""
        self.kind_status = kind_status
        """The number from 1 to 63 that the channel's kind gave, if it ended the transfer."""


class NotFoundError(Error, LookupError):
    """No such device, core, channel, register or interrupt."""


class NoInterruptError(NotFoundError, IndexError):
    """No such interrupt; as an IndexError it ends a loop over `interrupts`."""


class UsageError(Error, ValueError):
    """The call is invalid: a channel of the other direction, a closed device, a value out of range."""


class ArgumentTypeError(UsageError, TypeError):
    """An argument has an invalid type; the text names it and the valid ones."""


class RangeError(UsageError, OverflowError):
    """An argument is out of range; the text names it, its value and the range."""


class QueueFullError(UsageError):
    """As many transfers are in flight as the card's queue holds, and none ended in time: wait for a ticket first."""


class TimeoutError(Error, builtins.TimeoutError):
    """Nothing moved within the limit. `bytes` is what moved before; the channel stays usable."""


class TransferError(Error):
    """The card ended the transfer; `status` is the cause."""


class CoreError(Error):
    """The core cannot be built, or its simulation stopped by itself."""


class VersionError(Error):
    """The card has another major version of the contract."""


class RegisterError(Error):
    """The user core did not answer a register access, answered it with an error, or has no register there."""


class DeviceError(Error, OSError):
    """The card is gone, or the system refused something it needs."""
