"""THE ordered list of filters. Every outcome and every event of every call passes all of them.

A filter may only clean: it hands on what it was given, or something that says less. A result that no
filter needs to look into stays the bytes that the owner sent. One that is `idle` is left out.
"""

from __future__ import annotations

from typing import NamedTuple

from gatewright.call import Filter
from gatewright.filters.flow import Flow
from gatewright.filters.links import Links
from gatewright.filters.output_schema import OutputSchema
from gatewright.filters.redact import Redact, Rules
from gatewright.filters.size import Size

__all__ = ["Filters", "Flow", "Links", "OutputSchema", "Redact", "Rules", "Size", "ordered"]


class Filters(NamedTuple):
    """One of each, in order."""

    flow: Flow  # before anything can fail: what was read was read
    output_schema: OutputSchema  # before redact: marks of what was taken out fit no schema
    redact: Redact  # before the size is judged: marks count
    links: Links  # after redact: what is named is what is shown
    size: Size  # last: what others cut out or put in counts


def ordered(filters: Filters) -> tuple[Filter, ...]:
    """The list that the kernel walks."""
    return tuple(one for one in filters if not getattr(one, "idle", False))
