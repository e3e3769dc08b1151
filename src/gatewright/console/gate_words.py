"""`gate_words`: a short text for each gate's verdict on one call, in gate order, made from the facts that the gates recorded.

Nothing is asked of a gate again: where it wrote nothing down, it let the call pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

__all__ = ["GateWord", "gate_words"]

_CHARS = 120


class GateWord(msgspec.Struct, frozen=True):
    """One gate's word."""

    gate: str
    state: Literal["passed", "noted", "waits", "refused", "not_asked"]
    word: str = ""
    """What it found out; empty where it wrote nothing down."""


def gate_words(
    gates: Sequence[str],
    facts: Mapping[str, Any],
    *,
    caller: str = "",
    refused: str = "",
    reason: str = "",
    waits: str = "",
) -> list[GateWord]:
    """The words of `gates`, in their order. `caller` is how it was known who calls; `refused` the gate that said no, for `reason`;
    `waits` the one in which the call is. Those behind it were not asked."""
    found: list[GateWord] = []
    last = refused or waits
    for at, gate in enumerate(gates):
        if gate == refused:
            found.append(GateWord(gate, "refused", reason))
        elif gate == waits:
            found.append(GateWord(gate, "waits", "waits for a person"))
        else:
            word = caller if gate == "authenticate" else _WORDS.get(gate, _nothing)(facts)[:_CHARS]
            found.append(GateWord(gate, "noted" if word and gate in _NOTED else "passed", word))
        if gate == last:
            return [*found, *(GateWord(one, "not_asked") for one in gates[at + 1 :])]
    # A gate that is no longer part of the policy, or was never one: `kernel`.
    return [*found, GateWord(refused, "refused", reason)] if refused else found


def _nothing(facts: Mapping[str, Any]) -> str:
    return ""


def _access(facts: Mapping[str, Any]) -> str:
    return str(facts.get("access", "")).replace("_", " ")


def _sanitize(facts: Mapping[str, Any]) -> str:
    said = facts.get("sanitized")
    return f"{said.get('removed')} hidden characters taken out" if isinstance(said, Mapping) else ""


def _validators(facts: Mapping[str, Any]) -> str:
    said = str(facts.get("validator_applied", ""))
    return "" if said == "none" else said


def _permission(facts: Mapping[str, Any]) -> str:
    used = facts.get("permissions_used")
    return ", ".join(map(str, used)) if isinstance(used, list) else ""


def _flow(facts: Mapping[str, Any]) -> str:
    said = facts.get("flow")
    if not isinstance(said, Mapping):
        return ""
    return f"untrusted text by {said.get('untrusted')}, private data by {said.get('private')}"


def _confirm(facts: Mapping[str, Any]) -> str:
    by = facts.get("confirmed_by")
    if by is None:
        return ""
    edited = ", arguments edited" if "edited_from" in facts else ""
    return f"{by} agreed after {float(facts.get('waited_ms', 0)) / 1000:.1f} s{edited}"


_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "access": _access,
    "sanitize": _sanitize,
    "validators": _validators,
    "permission": _permission,
    "flow": _flow,
    "confirm": _confirm,
}
_NOTED = frozenset({"sanitize", "flow"})
"""Gates that write something down only where somebody should know of it."""
