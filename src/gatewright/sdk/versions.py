"""Checks tool versions (`1` and `1.2` are allowed) and makes their sort key by Semantic Versioning 2.0.0, section 11."""

from __future__ import annotations

from gatewright.patterns import ASCII, Pattern

__all__ = ["is_version", "precedence"]

_VERSION = Pattern(
    r"(0|[1-9]\d*)(?:\.(0|[1-9]\d*))?(?:\.(0|[1-9]\d*))?"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?",
    ASCII,
)

_Part = tuple[int, int, str]


def is_version(text: str) -> bool:
    """Whether `text` is a version: `1`, `1.2` and `1.2.3` with an optional `-rc.1` and `+build`."""
    return _VERSION.fullmatch(text) is not None


def precedence(text: str) -> tuple[tuple[int, int, int], int, tuple[_Part, ...]]:
    """A sort key: the newest version is the greatest. Raises `ValueError` for what is no version."""
    found = _VERSION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no version; write it like 1.4.0")
    major, minor, patch, before = found.groups()
    numbers = (int(major), int(minor or 0), int(patch or 0))
    if before is None:
        # A release comes after its pre-releases (11.3).
        return numbers, 1, ()
    return numbers, 0, tuple(_part(one) for one in before.split("."))


def _part(text: str) -> _Part:
    # Numbers among each other by value, and before words (11.4).
    return (0, int(text), "") if text.isdigit() else (1, 0, text)
