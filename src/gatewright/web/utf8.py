"""UTF-8 check of bytes that are forwarded undecoded."""

from __future__ import annotations

__all__ = ["is_utf8"]


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8, which JSON texts must be (RFC 8259 §8.1)."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
