"""Text that comes from elsewhere, as a person may be shown it: nothing in it is hidden."""

from __future__ import annotations

__all__ = ["spelled"]


def spelled(text: str, keep: str = "") -> str:
    """The text with control, invisible and direction characters written as `\\uXXXX`, except those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else f"\\u{ord(char):04x}" for char in text
    )
