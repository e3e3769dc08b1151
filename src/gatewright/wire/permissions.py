"""The names of permissions: the standard list of MGP §3.2, its shorthand, and custom names.

Pure data and one reading rule, so that configuration, servers' declarations and gates agree on
what `shell` means (decision C-07).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

__all__ = ["ALIASES", "STANDARD", "canonical_permission", "permission_risk"]

Risk = Literal["safe", "moderate", "dangerous"]

STANDARD: Mapping[str, Risk] = MappingProxyType(
    {
        "filesystem.read": "moderate",
        "filesystem.write": "dangerous",
        "network.outbound": "moderate",
        "network.listen": "dangerous",
        "shell.execute": "dangerous",
        "code_execution": "dangerous",
        "memory.read": "safe",
        "memory.write": "moderate",
        "system.info": "safe",
        "camera": "dangerous",
        "notification": "safe",
    }
)
"""Standard permission → risk."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {"shell": "shell.execute", "network": "network.outbound"}
)
"""Shorthand that the specification itself uses in places → standard name."""

_CUSTOM = re.compile(r"[a-z][a-z0-9-]*(?:\.[a-z0-9_][a-z0-9_-]*){2,}", re.IGNORECASE)


def canonical_permission(name: str) -> str | None:
    """The canonical name, or None where `name` is neither standard, shorthand nor reverse-domain."""
    name = ALIASES.get(name, name)
    if name in STANDARD or _CUSTOM.fullmatch(name):
        return name
    return None


def permission_risk(name: str) -> Risk:
    """The risk of a canonical permission. A custom one is dangerous: nobody has said otherwise."""
    return STANDARD.get(name, "dangerous")
