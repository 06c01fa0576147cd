# SPDX-License-Identifier: Apache-2.0
"""CRC-32C of messages."""

from __future__ import annotations

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def framed(message: bytes) -> bytes:
    """The message with its CRC behind it, as the kind wants it."""
    return message + crc32c(message).to_bytes(4, "little")
