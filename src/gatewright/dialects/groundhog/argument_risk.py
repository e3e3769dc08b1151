"""Rates the risk of a call's arguments for the audit trail, by sensitive paths and words. Refuses nothing.

This is for the record and for who reads it, and decides nothing: what must not pass is refused by the
validators. A list of places is never complete; what it names is worth a look.
"""

from __future__ import annotations

from typing import Any

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.schemas.json_pointers import strings

__all__ = ["argument_risk"]

_SENSITIVE = Pattern(
    r"(?:^|[/\\])(?:etc|root|proc|sys|boot|\.ssh|\.aws|\.gnupg|\.kube|\.docker)(?:[/\\]|\n?\Z)"
    r"|(?:^|[/\\])(?:\.env(?:\.\w+)?|\.netrc|\.pgpass|\.git-credentials|id_(?:rsa|ed25519|ecdsa)|shadow)\n?\Z"
    r"|\.(?:pem|key|p12|pfx|kdbx|keystore)\n?\Z"
    r"|169\.254\.169\.254|metadata\.google\.internal",
    IGNORECASE,
)
_NAMED = Pattern(
    r"pass(?:word|wd|phrase)|secret|token|credential|private_?key|api_?key", IGNORECASE
)
_UP = Pattern(r"(?:^|[/\\])\.\.(?:[/\\]|\n?\Z)")
_LOOKED_AT = 1000
_CHARS = 4096


def argument_risk(arguments: dict[str, Any]) -> str:
    """`dangerous` where something sensitive is named, `moderate` where a path climbs, else nothing."""
    found = ""
    for number, (place, text, is_name) in enumerate(strings(arguments)):
        if number >= _LOOKED_AT:
            return "dangerous"  # more than anybody has to say
        if (_NAMED if is_name else _SENSITIVE).search(text[:_CHARS]):
            return "dangerous"
        if not is_name and _UP.search(text[:_CHARS]):
            found = "moderate"
        del place
    return found
