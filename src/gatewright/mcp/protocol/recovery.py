"""MGP recovery (§14.5): reads the retry hint of an error; `Retries`, `Policy`: repeat after a wait, call the fallback tool, or report.

A server says in `error.data._mgp` whether asking again can help, how long to wait and how often. Its word is a wish, not
an order: our own limits stand above it, and nothing is sent twice that may not be (`Retries` is told so). Silence means no:
an error without hints is reported, except for the codes whose meaning MGP's table (§14.3) and ggen's fix, where a
peer of those dialects leaves the object out. A small positive code of a server that never heard of MGP means nothing here (0117).

No I/O: the owner waits, and brings the randomness that keeps clients from coming back all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.mcp.protocol.retry_hints import MIRROR, says_it_ran
from gatewright.mcp.wire.codes import REASONS, UNTOUCHED, Strategy

__all__ = ["Again", "Hint", "Instead", "Policy", "Report", "Retries", "read_hint"]

_STRATEGIES: tuple[Strategy, ...] = ("immediate", "fixed_delay", "exponential_backoff")
_DAY_MS = 86_400_000
_JITTER = 0.5
"""How much of a growing wait is added at random."""

_GGEN_RETRYABLE = frozenset({-32003})
"""ggen's `ToolExecution` (crash or timeout), which its table calls retryable; -32603 is in MGP's, too."""


class Hint(msgspec.Struct, frozen=True):
    """What an error says of asking again. Times are milliseconds."""

    retryable: bool = False
    retry_after_ms: int = 0
    strategy: Strategy = "fixed_delay"
    max_retries: int | None = None
    """None where the server names no limit; then only ours holds."""
    fallback_tool: str | None = None
    refused: bool = False
    """Whether the error says that nothing was carried out, so that repeating repeats nothing."""
    unsent: bool = False
    """Whether the error says (`details.sent`) that the call was never handed on."""
    explicit: bool = False
    """Whether the server said so itself, and it is not only what the code means."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Our own limits. Times are seconds."""

    retries: int = 3
    """So many more attempts at most, whatever a server says. 0: never ask again."""
    longest_s: float = 30.0
    """A server that wants a longer wait than this is not waited for."""
    fallback: bool = True
    """Whether a fallback tool is taken."""
    trusting: bool = False
    """Whether a server's explicit `retryable` is believed for a call that may have had effects: a payment whose answer was
    lost is then paid again. For programs that know their server."""
    unsent: bool = True
    """Whether the peer's word is believed that it never handed the call on (`details.sent`). A gateway tells its callers
    so; a gateway itself believes no server about it."""


class Again(msgspec.Struct, frozen=True):
    """Ask the same again after `wait_s` seconds; `attempt` counts the repetitions from 1."""

    wait_s: float
    attempt: int


class Instead(msgspec.Struct, frozen=True):
    """Call this tool with the same arguments, once."""

    tool: str


class Report(msgspec.Struct, frozen=True):
    """Nothing more is to be done. `reason` is for a person."""

    reason: str


def read_hint(error: Mapping[str, Any], *, mgp: bool) -> Hint:
    """The hint in a JSON-RPC error object. What is missing or of a wrong type counts as not said.

    Read are `data._mgp`, its mirror `data._meta["dev.cloto/mgp"]` (some stacks drop what they do not know,
    C-50), else the bare members of `data`, else what the code itself means. The codes of MGP mean something where `mgp`
    was negotiated with whoever says them, or one of the two objects stands beside them.
    """
    code, data = error.get("code"), error.get("data")
    marked = _marked(data) if isinstance(data, dict) else None
    meant = _by_code(code if isinstance(code, int) else 0, mgp=mgp or marked is not None)
    said = _bare(data) if marked is None and isinstance(data, dict) else marked
    ran = isinstance(data, dict) and says_it_ran(data)
    if said is None:
        return replace(meant, refused=meant.refused and not ran)
    retryable = said.get("retryable")
    if not isinstance(retryable, bool):
        # A gateway's word to plain MCP callers has the time alone, and only where waiting can help.
        retryable = "retry_after_ms" in said
    strategy = said.get("retry_strategy")
    fallback = said.get("fallback_tool")
    return Hint(
        retryable,
        _count(said.get("retry_after_ms"), _DAY_MS) or 0,
        strategy if strategy in _STRATEGIES else "fixed_delay",
        _count(said.get("max_retries"), 1000),
        fallback if isinstance(fallback, str) and fallback else None,
        meant.refused and not ran,
        unsent=_sent(said) is False and not ran,
        explicit=True,
    )


def _marked(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    meta = data.get("_meta")
    for found in (data.get("_mgp"), meta.get(MIRROR) if isinstance(meta, dict) else None):
        if isinstance(found, dict):
            return found
    return None


def _bare(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return data if "retryable" in data or "retry_after_ms" in data else None


def _sent(said: Mapping[str, Any]) -> object:
    details = said.get("details")
    return details.get("sent") if isinstance(details, dict) else None


def _count(value: object, most: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(min(max(value, 0), most)) if value == value else None  # noqa: PLR0124 - NaN


def _by_code(code: int, *, mgp: bool) -> Hint:
    found = _BY_CODE.get(code) if mgp or code < 0 else None
    return Hint(code in _GGEN_RETRYABLE, 1000) if found is None else found


def _table() -> dict[int, Hint]:
    """What each of MGP's codes means by itself. Where rows of one code differ, the careful one counts."""
    found: dict[int, Hint] = {}
    for row in REASONS.values():
        code = row.mgp_code
        if code > 0 or row.name == "internal":
            hint = Hint(
                row.retryable,
                row.retry_after_ms,
                row.retry_strategy or "fixed_delay",
                row.max_retries if row.retryable else None,
                refused=code in UNTOUCHED,
            )
            known = found.get(code)
            if known is None or (known.retryable and not hint.retryable):
                found[code] = hint
    return found


_BY_CODE = _table()


class Retries:
    """The attempts of one call. Feed it each failure's hint; it says what comes next.

    `random` gives numbers in [0, 1). `repeatable` says that doing the call twice is harmless. Where it is not
    known to be, only an error that says that nothing was carried out is followed by another attempt (`Policy.trusting`
    is for who wants to believe more).
    """

    def __init__(
        self, policy: Policy, random: Callable[[], float], *, repeatable: bool = True
    ) -> None:
        self._policy = policy
        self._random = random
        self._repeatable = repeatable
        self.attempts = 0
        """How often the call was repeated so far."""
        self._fell_back = False

    def after(self, hint: Hint, *, left_s: float = float("inf")) -> Next:
        """What comes after a failure; `left_s` are the seconds until the caller's own deadline."""
        if not hint.retryable:
            return Report("the error says that asking again does not help")
        if not (self._repeatable or self._nothing_ran(hint)):
            return Report("the call may have had its effect, and is not one that may be repeated")
        if self._fell_back:  # one hop (decision 0039): what a fallback proposes could lead back
            return Report("the fallback tool failed as well")
        most = self._policy.retries
        if hint.max_retries is not None:
            most = min(most, hint.max_retries)
        if self.attempts < most:
            wait_s = self._wait_s(hint)
            if hint.retry_after_ms / 1000 > self._policy.longest_s or wait_s > left_s:
                return self._last(hint, "the server wants a longer wait than there is time for")
            self.attempts += 1
            return Again(wait_s, self.attempts)
        return self._last(hint, f"{self.attempts} repetitions did not help")

    def _nothing_ran(self, hint: Hint) -> bool:
        believed = hint.explicit and self._policy.trusting
        return hint.refused or believed or (hint.unsent and self._policy.unsent)

    def _last(self, hint: Hint, reason: str) -> Instead | Report:
        if hint.fallback_tool is None or not self._policy.fallback:
            return Report(reason)
        self._fell_back = True
        return Instead(hint.fallback_tool)

    def _wait_s(self, hint: Hint) -> float:
        """Never less than the server asked for (§14.6, 1); growing waits get their randomness on top."""
        least = hint.retry_after_ms / 1000
        if hint.strategy != "exponential_backoff":
            return least
        base = max(least, 0.05) * 2.0**self.attempts
        return max(least, min(base * (1.0 + _JITTER * self._random()), self._policy.longest_s))


Next = Again | Instead | Report
