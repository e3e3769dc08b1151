"""`same_rights`, `at_least`, `has_all_of`: whether one credential may have what another of its caller was given: streams, questions, tasks.

A session belongs to a caller, and one caller may have several keys, each with limits of its own. What a request with one of them came to is
for whoever shows the same credential, or another with the same limits: a key that was replaced, a token that was refreshed. So is what outlasts
a session: tasks, subscriptions to events.
An answer to a question, a cancellation, and who comes back for an answer are also taken from a token of the same person that has gained scopes:
clients ask for those in the middle of a session. The session's own stream is not: what is said on it next may need those scopes.
"""

from __future__ import annotations

from msgspec.structs import replace

from gatewright.call import Call, Caller, UserContext
from gatewright.mcp.server.server_context import Presented
from gatewright.mcp.wire.permissions import NOTHING, OF_GATEWAY

__all__ = ["at_least", "has_all_of", "same_rights", "shown_in"]

_KEYLESS = frozenset({"anonymous", "owner"})
"""Kinds of callers that have no keys, and so the same credential each time: none."""


def shown_in(call: Call) -> Presented:
    """Who makes a call, and with what."""
    return Presented(call.door, call.caller, call.credential)


def same_rights(one: Presented | None, other: Presented | None) -> bool:
    """Whether they are one caller's with equal rights. None is nobody, who has what is nobody's."""
    if one is None or other is None:
        return one is other
    if one.caller.who != other.caller.who:
        return False
    return one.credential == other.credential or one.caller.user == other.caller.user


def at_least(now: Presented, former: Presented | None) -> bool:
    """Whether `now` has the rights that `former` has: the same, or those of a token with further scopes."""
    if former is None:
        return False
    return same_rights(former, now) or _gained(now.caller, former.caller)


def has_all_of(now: Caller, former: Caller) -> bool:
    """The same where credentials are not known any more: of a caller as it was when something was made, perhaps by an earlier process."""
    if now.who != former.who:
        return False
    keys = not (now.token or former.token) and (now.key_id is not None or now.kind in _KEYLESS)
    same = keys and now.key_id == former.key_id  # limited otherwise since, by the configuration
    return same or now.user == former.user or _gained(now, former)


def _gained(now: Caller, former: Caller) -> bool:
    """Whether they are tokens of one caller, and `now` differs by further scopes alone."""
    if now.who != former.who or not (now.token and former.token):
        return False
    had, has = former.user, now.user
    if len(had) < len(has):  # a token that says nothing limits nothing, and is left out
        had = (UserContext(), *had)
    return len(had) == len(has) and all(map(_has_more, has, had))


def _has_more(now: UserContext, former: UserContext) -> bool:
    """Whether they differ in scopes alone, of which `now` has all that `former` has."""
    alike = replace(now, permissions=former.permissions, scopes=former.scopes, steps=former.steps)
    if alike != former or not {*former.scopes} <= {*now.scopes}:
        return False
    return all(
        # The first permission of a kind limits: without any, all that others give is held.
        had - {NOTHING} <= has and bool(had) == bool(has)
        for had, has in zip(_kinds(former), _kinds(now), strict=True)
    )


def _kinds(said: UserContext) -> tuple[set[str], set[str]]:
    """The permissions that say something of the gateway, and the others."""
    ours = {one for one in said.permissions if one.startswith(OF_GATEWAY)}
    return ours, {*said.permissions} - ours
