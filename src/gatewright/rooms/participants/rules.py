"""`RuleBook`: rules that approve, reject or ask about proposals (MCPx §9.4); counts uses per hour; lists stopped participants. No I/O.

A rule says which proposals it is for, and what happens to them: `approve`, `reject`, or `ask` a person. It always has
somebody who accepted it. Where several fit, the most careful counts: `reject` over `ask` over `approve`; where none
fits, a person is asked. The proposals of a participant who is stopped are rejected, whatever the rules say.

`pattern` is a capability (MCPx §4.1) over the kind of the request that would fulfil the proposal. `where` restricts the
params by the path of a member: `{"arguments.path": "/srv/reports/*"}`. A `*` stands for any text; numbers and truth
values are compared as they stand in JSON. A path that leads up (`..`) fits no `*`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, Literal

import msgspec
import re2  # type: ignore[import-untyped]

from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.capabilities import flaw_of, matches
from gatewright.mcpx.payload import kind_of
from gatewright.rooms.participants.proposals import Proposal

__all__ = ["Action", "Rule", "RuleBook", "Verdict", "is_json", "members"]

Action = Literal["approve", "reject", "ask"]

_CAREFUL: tuple[Action, ...] = ("reject", "ask", "approve")
_HOUR_S = 3600.0


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule. Times are Unix seconds. A condition with a slip in its name is an error: without it the rule would
    decide more than its author meant."""

    id: str
    action: Action
    pattern: str
    by: str
    """Who accepted it."""
    proposer: str = "*"
    target: str = "*"
    topic: str = "*"
    where: Mapping[str, str] = {}
    exact: bool = False
    """Whether the params may have no member that `where` does not name."""
    expires_at: float | None = None
    per_hour: int | None = None
    """How often it may decide in an hour; a person is asked beyond that."""
    evidence: Mapping[str, Any] = {}
    """What people had decided when it was suggested; empty where a person wrote it."""

    def flaw(self) -> str:
        """Why this is no rule; empty where it is one."""
        flaw = flaw_of(self.pattern)
        if flaw or not self.pattern.startswith("mcp/request:"):
            return flaw or "the pattern of a rule begins with mcp/request:"
        if not self.by:
            return "a rule says who accepted it"
        if self.per_hour is not None and self.per_hour < 1:
            return "per_hour is a number from 1 up"
        return ""

    def fits(
        self,
        proposal: Proposal,
        topic: str,
        now: float,
        params: Callable[[], Mapping[str, str]] | None = None,
    ) -> bool:
        """Whether it is for this proposal, in this topic, at this time. `params` tells the proposal's by their path, where other rules
        ask for them as well."""
        operation = proposal.operation
        return (
            (self.expires_at is None or now < self.expires_at)
            and self.proposer in ("*", proposal.proposer)
            and self.target in ("*", proposal.target or "")
            and self.topic in ("*", topic)
            and matches(self.pattern, kind_of("mcp/request", operation))
            and self._fits_params(params or (lambda: members(operation.params)))
        )

    def _fits_params(self, params: Callable[[], Mapping[str, str]]) -> bool:
        if not self.where and not self.exact:
            return True
        found = params()
        if self.exact and found.keys() != self.where.keys():
            return False
        return all(name in found and _like(want, found[name]) for name, want in self.where.items())


class Verdict(msgspec.Struct, frozen=True):
    """What becomes of a proposal, and which rule says so; without a rule, a person is asked or somebody is stopped."""

    action: Action
    rule: str | None = None
    reason: str = ""


class _Book(msgspec.Struct):
    rules: list[Rule] = []
    stopped: dict[str, str] = {}
    count: int = 0


class RuleBook:
    """The rules that hold, and who is stopped. `text` is all of it as JSON, and what it is made of."""

    def __init__(self, text: bytes = b"{}") -> None:
        """Raises `ValueError` for a text that is no book, or a rule that is none."""
        try:
            self._book = msgspec.json.decode(text, type=_Book)
        except msgspec.DecodeError as problem:
            raise ValueError(f"this is no book of rules: {problem}") from None
        for rule in self._book.rules:
            if flaw := rule.flaw():
                raise ValueError(f"rule {rule.id}: {flaw}")
        self._used: dict[str, deque[float]] = {}
        """Rule → when it decided in the last hour."""

    @property
    def text(self) -> bytes:
        """The whole book."""
        return msgspec.json.encode(self._book)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """In the order in which they were accepted."""
        return tuple(self._book.rules)

    @property
    def stopped(self) -> Mapping[str, str]:
        """Participant → why it is stopped."""
        return dict(self._book.stopped)

    def add(self, rule: Rule) -> Rule:
        """Accept a rule; it gets an id of its own. Raises `ValueError`."""
        if flaw := rule.flaw():
            raise ValueError(flaw)
        self._book.count += 1
        added = msgspec.structs.replace(rule, id=f"rule-{self._book.count}")
        self._book.rules.append(added)
        return added

    def revoke(self, id: str) -> Rule:
        """Take a rule away. Raises `KeyError`."""
        for rule in self._book.rules:
            if rule.id == id:
                self._book.rules.remove(rule)
                return rule
        raise KeyError(id)

    def stop(self, participant: str, reason: str) -> None:
        """Decide nothing more in favour of a participant."""
        self._book.stopped[participant] = reason

    def resume(self, participant: str) -> bool:
        """Go on with a participant; False where it was not stopped."""
        return self._book.stopped.pop(participant, None) is not None

    def judge(self, proposal: Proposal, topic: str, now: float) -> Verdict:
        """What becomes of a proposal. Changes nothing."""
        why = self._book.stopped.get(proposal.proposer)
        if why is not None:
            return Verdict("reject", None, f"{proposal.proposer} is stopped: {why}")
        params = cache(lambda: members(proposal.operation.params))  # once for all rules
        fitting = [one for one in self._book.rules if one.fits(proposal, topic, now, params)]
        for action in _CAREFUL:
            for rule in fitting:
                if rule.action == action:
                    return self._within(rule, now)
        return Verdict("ask", None, "no rule is for it")

    def note(self, rule: str, now: float) -> None:
        """A rule has decided something."""
        self._within_hour(rule, now).append(now)

    def _within_hour(self, rule: str, now: float) -> deque[float]:
        used = self._used.setdefault(rule, deque())
        while used and now - used[0] >= _HOUR_S:
            used.popleft()
        return used

    def _within(self, rule: Rule, now: float) -> Verdict:
        used = len(self._within_hour(rule.id, now))
        if rule.action == "approve" and rule.per_hour is not None and used >= rule.per_hour:
            return Verdict("ask", rule.id, f"{rule.id} has decided {used} times in an hour")
        return Verdict(rule.action, rule.id)


def members(params: Mapping[str, Any]) -> dict[str, str]:
    """The members of params by their path, as text: strings as they are, everything else as JSON, and a string that
    could be taken for that as JSON, too. A dot in a name is written `\\.`, so that no two members have one path."""
    return dict(_members(params, ""))


def _members(value: Mapping[str, Any], before: str) -> Iterable[tuple[str, str]]:
    for name, one in value.items():
        escaped = name.replace("\\", "\\\\").replace(".", "\\.")
        path = f"{before}{escaped}"
        if isinstance(one, dict) and one:
            yield from _members(one, f"{path}.")
        elif isinstance(one, str) and not is_json(one):
            yield path, one
        else:
            yield path, jsonrpc.encode(one).decode()


def is_json(text: str) -> bool:
    """Whether a value of `members` is JSON text, and so no text as it stands."""
    try:
        jsonrpc.decode(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return False
    return True


def _like(want: str, found: str) -> bool:
    if "*" not in want:
        return want == found
    if ".." in found or "\0" in found:  # /srv/reports/../../etc would fit /srv/reports/*
        return False
    return _compiled(want).fullmatch(found) is not None


# A `*` stands for any text, line ends too.
_OPTIONS = re2.Options()
_OPTIONS.never_nl = False
_OPTIONS.dot_nl = True


@lru_cache(1024)
def _compiled(want: str) -> re2._Regexp:
    """Runs in linear time, whatever the text: proposals come from strangers."""
    return re2.compile(".*".join(re2.escape(part) for part in want.split("*")), _OPTIONS)
