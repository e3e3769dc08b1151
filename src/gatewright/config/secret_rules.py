"""Checks a secret's name (allowed characters) and value (UTF-8, no NUL, at most 64 KiB); error messages repeat neither."""

from __future__ import annotations

from gatewright.patterns import Pattern

__all__ = ["MAX_BYTES", "NAME", "check_name", "check_value"]

NAME = Pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
MAX_BYTES = 64 * 1024


def check_name(name: str) -> None:
    """Raises `ValueError` for what cannot be the name of a secret."""
    if not NAME.fullmatch(name):
        raise ValueError(
            "this is no name of a secret: use letters, digits, '.', '_' and '-', at most 128 of "
            "them, and begin with a letter or digit"
        )


def check_value(value: str) -> None:
    """Raises `ValueError` for an empty value, a NUL, text that is not UTF-8, or more than `MAX_BYTES`."""
    if not value:
        raise ValueError("the value is empty: nothing was set")
    if "\0" in value:
        raise ValueError("the value has a NUL character, which no environment can carry")
    if len(value.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ValueError(f"the value is longer than {MAX_BYTES} bytes")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("the value is not UTF-8 text") from None
