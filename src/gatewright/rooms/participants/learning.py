"""`Learning`: collects people's decisions on similar proposals (MCPx §9.4) and suggests rules, which a person accepts or dismisses.

Proposals are alike when the same participant proposes the same operation on the same name to the same target. After
enough decisions of one kind, and none of the other, a rule is suggested that covers no more than was seen: arguments
that never differed must stay as they were; of texts that differ, what they begin with up to the last separator they
have in common must stay; and where nothing is in common, nothing is suggested for an approval. Only texts have
such a beginning: a list that begins in the same way may end in anything. A proposal that was put to nobody in particular
teaches no approval, because a rule for any target would cover targets that nobody has seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from gatewright.mcpx.payload import kind_of
from gatewright.rooms.participants.proposals import Proposal
from gatewright.rooms.participants.rules import Rule, is_json, members

__all__ = ["Decision", "Learning"]

ENOUGH = 5
"""How many decisions of one kind are wanted before something is suggested."""
EXPIRES_S = 30 * 86_400.0
"""How long a suggested rule holds once it is accepted, in seconds."""
_KEPT = 50
_GROUPS = 1000
_SEPARATORS = "/.:-_ @"
_LONGEST = 256
_COMPARED = 2 * _LONGEST
"""Characters of texts in which a common beginning is looked for. One that is longer makes no pattern."""

Decided = Literal["approve", "reject"]


class Decision(msgspec.Struct, frozen=True):
    """What a person decided about a proposal. `at` is Unix seconds."""

    proposal: str
    action: Decided
    by: str
    at: float
    values: Mapping[str, str]
    """The proposal's params by path, as `rules.members` tells them."""


class Learning:
    """Decisions by likeness, and the rules that they suggest. Suggestions have ids of their own."""

    def __init__(self, *, topic: str, enough: int = ENOUGH) -> None:
        self._topic = topic
        self._enough = enough
        self._decisions: dict[tuple[str, str, str], list[Decision]] = {}
        self._count = 0
        self.suggestions: dict[str, Rule] = {}
        """Id → a rule that waits for somebody to accept it; `by` is empty until then."""
        self._suggested: dict[tuple[str, str, str], str] = {}

    def note(self, proposal: Proposal, action: Decided, by: str, now: float) -> Rule | None:
        """A person has decided. The rule that this suggests, where it is a new one. One proposal counts once, however
        often it is spoken of."""
        kind = kind_of("mcp/request", proposal.operation)
        key = proposal.proposer, proposal.target or "*", kind
        if key not in self._decisions and len(self._decisions) >= _GROUPS:
            self._forget(next(iter(self._decisions)))
        values = members(proposal.operation.params)
        noted = self._decisions.setdefault(key, [])
        # Else one proposal, decided on again and again, would be evidence enough.
        if any(one.proposal == proposal.id for one in noted):
            return None
        noted.append(Decision(proposal.id, action, by, now, values))
        del noted[:-_KEPT]
        if any(one.action != action for one in noted):
            self.suggestions.pop(
                self._suggested.pop(key, ""), None
            )  # people do not agree after all
            return None
        if len(noted) < self._enough or key in self._suggested:
            return None
        where = _in_common([one.values for one in noted])
        if action == "approve" and (where is None or proposal.target is None):
            return None
        self._count += 1
        id = f"suggestion-{self._count}"
        self._suggested[key] = id
        rule = self.suggestions[id] = Rule(
            id,
            action,
            kind,
            "",
            proposer=key[0],
            target=key[1],
            topic=self._topic,
            where=where or {},
            exact=where is not None,
            expires_at=now + EXPIRES_S,
            evidence=_evidence(noted),
        )
        return rule

    def take(self, id: str, by: str) -> Rule:
        """A person accepts a suggestion: the rule, which is suggested no longer. Raises `KeyError`."""
        rule = self.suggestions.pop(id)
        for key, one in list(self._suggested.items()):
            if one == id:
                self._forget(key)
        return msgspec.structs.replace(rule, by=by)

    def dismiss(self, id: str) -> None:
        """A person wants no such rule; it is suggested again after as many decisions more. Raises `KeyError`."""
        self.take(id, "nobody")

    def _forget(self, key: tuple[str, str, str]) -> None:
        self._decisions.pop(key, None)
        self.suggestions.pop(self._suggested.pop(key, ""), None)


def _evidence(decisions: Sequence[Decision]) -> dict[str, Any]:
    return {
        "decisions": len(decisions),
        "by": sorted({one.by for one in decisions}),
        "first": decisions[0].at,
        "last": decisions[-1].at,
        "proposals": [one.proposal for one in decisions[-10:]],
    }


def _in_common(seen: Sequence[Mapping[str, str]]) -> dict[str, str] | None:
    """What all of them keep to; None where a member differs in every way, or is not always there."""
    names = set(seen[0])
    if any(set(one) != names for one in seen):
        return None
    where: dict[str, str] = {}
    for name in sorted(names):
        common = _pattern([one[name] for one in seen])
        if common is None:
            return None
        where[name] = common
    return where


def _pattern(values: Sequence[str]) -> str | None:
    first = values[0]
    # A star in a value would be read as any text (`rules`).
    if all(one == first for one in values):
        return first if "*" not in first and len(first) <= _LONGEST else None
    if any(is_json(one) for one in values):
        return None
    prefix = _common_prefix(values)
    if len(prefix) == _COMPARED:
        return None
    cut = max((prefix.rfind(one) for one in _SEPARATORS), default=-1) + 1
    kept = prefix[:cut]
    if not kept.strip(_SEPARATORS) or "*" in kept or len(kept) > _LONGEST:
        return None
    return f"{kept}*"


def _common_prefix(values: Iterable[str]) -> str:
    # What the least and the greatest text have in common, all between them have too.
    low, high = (one[:_COMPARED] for one in (min(values), max(values)))
    for at, letter in enumerate(low):
        if at >= len(high) or letter != high[at]:
            return low[:at]
    return low
