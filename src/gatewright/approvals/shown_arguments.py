"""Arguments of a call as they are kept for approvals: without secrets, cut (`shown`, `unseen`); edited ones in canonical JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from gatewright.secret_scanning import without_secrets

__all__ = ["SHOWN_CHARS", "canonical", "shown", "unseen"]

SHOWN_CHARS = 16 * 1024
"""How much of the arguments is kept for a person to look at. What is longer is cut, and says so."""
_CUT, _BEGINS = "… ({} characters)", "… ("
_UNDECIDED = 8 * 1024
"""How much more of longer ones is looked through and not kept: a secret that begins in what is kept ends there, or is one by its
beginning."""
_ESCAPE = 6


def shown(arguments: str) -> str:
    """Arguments as they are kept to be looked at: without secrets, and no more of them looked through than is kept, and a
    little behind it, in which one may end."""
    most = SHOWN_CHARS + _UNDECIDED
    if len(arguments) <= most:
        clean = _clean(arguments)
        return clean if len(clean) <= SHOWN_CHARS else _cut(clean, SHOWN_CHARS, arguments)
    clean = _clean(_closed(arguments[:most]))
    return _cut(clean, min(SHOWN_CHARS, max(0, len(clean) - _UNDECIDED)), arguments)


def unseen(kept: str) -> str:
    """What of the arguments is not in what was kept of them, for a person; empty where they are whole."""
    # Whole ones are a JSON object, and end like one.
    head, cut, of = kept.rpartition(_BEGINS)
    if not cut or not of.endswith("characters)"):
        return ""
    return (
        f"of {of[:-1]} of arguments the first {len(head)} are kept here; nobody was shown the rest"
    )


def _clean(text: str) -> str:
    return without_secrets(text.encode("utf-8", "replace")).decode()


def _cut(clean: str, at: int, whole: str) -> str:
    return clean[:at] + _CUT.format(len(whole))


def _closed(head: str) -> str:
    """The beginning of a JSON text with the end of the string in which it was cut: what is in no string is not looked through."""
    plain = head.replace("\\\\", "..").replace('\\"', "..")
    if not plain.count('"') % 2:
        return head
    escape = head.rfind("\\", len(head) - _ESCAPE)
    return (head if escape < 0 else head[:escape].rstrip("\\")) + '"'


def canonical(arguments: str) -> str:
    """Arguments that somebody wrote, as JSON in its one form. Raises `ValueError` for what cannot be the arguments of a call."""
    try:
        found = msgspec.json.decode(arguments, type=dict[str, Any])
    except msgspec.DecodeError as problem:
        raise ValueError(f"the arguments of a call are a JSON object: {problem}") from None
    return msgspec.json.encode(found, order="deterministic").decode()
