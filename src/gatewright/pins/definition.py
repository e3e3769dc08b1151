"""`read_definition`: a tool definition's canonical JSON, its SHA-256 digest, and why it looks like tool poisoning; for pins."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gatewright.pins.poisoning import suspicion
from gatewright.servers.definition_digest import canonical_definition

__all__ = ["Read", "read_definition"]


class Read(msgspec.Struct, frozen=True, array_like=True):
    """What was found in one definition. `why` is empty where nothing is suspicious."""

    text: str
    digest: str
    why: str


def read_definition(name: str, definition: Mapping[str, msgspec.Raw]) -> Read:
    """Read the definition of the tool of this name. Raises `ValueError` where it cannot be read."""
    text, digest, decoded = canonical_definition(definition)
    return Read(text, digest, suspicion(name, decoded))
