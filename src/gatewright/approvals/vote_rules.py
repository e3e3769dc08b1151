"""Rules of votes on approvals: whose vote counts (API keys, not on own requests), to what, and scope and end that several votes agree on."""

from __future__ import annotations

from collections.abc import Sequence

from gatewright.approvals.request import Approval, CannotDecideError, Scope
from gatewright.command_text import to_type
from gatewright.schemas.lookalikes import caseless

__all__ = ["agreed_on", "by_key", "check_yes", "is_own"]

_OTHERS = ("owner", "server")
"""Who is somebody else than an operator of the same name: the host of whoever runs the gateway, and a server."""
_WIDER: tuple[Scope, ...] = ("once", "arguments", "tool")


def is_own(kind: str, agent: str, by: str) -> bool:
    """Whether an operator (`by`) would decide on what they asked for themselves, by the request's kind and its agent."""
    # Whose names differ in case, width or Unicode form only: two keys for what people read as one name.
    return kind not in _OTHERS and caseless(agent) == caseless(by)


def by_key(operator: str) -> bool:
    """Whether who decides has shown a key. The user of a terminal (`local:NAME`) and the token of the running gateway
    (`local`) have not: nobody knows how many people they are. Nor has who signed in to the console by an issuer (`oidc:NAME`), who
    may have a key besides. No key is called so (`identity/keys.py`)."""
    return operator.partition(":")[0] not in ("local", "oidc")


def check_yes(one: Approval, by: str, *, scope: Scope, edited: str, seen: str | None) -> None:
    """Whether an operator can say yes to this, as far as that follows from the request: having `seen` these arguments, with which it
    is `edited` to run. Raises `CannotDecideError`, `ValueError`."""
    if seen is not None and seen != one.arguments:
        raise CannotDecideError(
            "edited",
            f"the arguments of {one.id} were changed since you saw them: look at it again",
        )
    if one.quorum > 1 and not by_key(by):
        raise CannotDecideError(
            "keyless",
            f"{one.id} needs the yes of {one.quorum} operators, and only keys tell one from another: each makes one with "
            f"`{to_type('key create NAME --operator')}` and passes it in GATEWRIGHT_KEY",
        )
    if scope != "once" and one.kind == "anonymous" and not one.session:
        raise ValueError(
            f"who asked for {one.id} has neither a name nor a session, so a yes to more than this call would be everybody's: approve "
            "this call alone"
        )
    if scope == "tool" and (edited or one.edited):
        raise ValueError(
            f"the arguments of {one.id} are edited, and edited arguments are for one question: approve "
            "them, not the tool with any arguments"
        )


def agreed_on(votes: Sequence[tuple[Scope | None, float]], once: float) -> tuple[Scope, float]:
    """What several operators said yes to, each for a scope and until a time: the narrowest scope, and the earliest end. `once` is
    when an approval of one call ends."""
    # A vote from before they were asked for what is for one call.
    scope = min((scope or "once" for scope, _ in votes), key=_WIDER.index)
    return scope, once if scope == "once" else min(ends for _, ends in votes)
