"""THE ordered list of filters. Every outcome and every event of every call passes all of them.

A filter may only clean: it hands on what it was given, or something that says less. A result that no
filter needs to look into stays the bytes that the owner sent.
"""

from __future__ import annotations

from typing import NamedTuple

from gatewright.call import Filter
from gatewright.filters.size import Size

__all__ = ["Filters", "Size", "ordered"]


class Filters(NamedTuple):
    """One of each, in order."""

    size: Size  # last: what others cut out or put in counts


def ordered(filters: Filters) -> tuple[Filter, ...]:
    """The list that the kernel walks."""
    return tuple(filters)
