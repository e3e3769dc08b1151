"""The state machine of a server (MGP §11.2) as tables: states, allowed transitions with their causes, and what follows a shutdown.

Nothing here connects anything. `reconnector` asks `allowed` before each change of state; `scripts/docs lifecycle` draws
docs/lifecycle.md from these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

__all__ = [
    "AFTER",
    "CAUSES",
    "NO_MORE_RESTARTS",
    "REASONS",
    "STATES",
    "TRANSITIONS",
    "After",
    "Change",
    "Policy",
    "ShutdownReason",
    "State",
    "Transition",
    "allowed",
    "cause_of",
    "way",
]

State = Literal[
    "registered", "connecting", "connected", "draining", "disconnected", "error", "restarting"
]
"""Where a server stands."""

STATES: Mapping[State, str] = {
    "registered": "It is configured, and was not started yet.",
    "connecting": "It is being started, or its URL dialled; the handshake is not over.",
    "connected": "It takes calls.",
    "draining": "It is being shut down: calls in flight end, new ones are refused (2001).",
    "disconnected": "Its connection is closed.",
    "error": "It could not be started, or is not started again.",
    "restarting": "It is being started again, at once or after a pause.",
}
"""Each state, in a sentence."""


class Transition(msgspec.Struct, frozen=True):
    """From `before` to `after`. `cause` is the word that clients are told where no other is known; `when` is for people."""

    before: State
    after: State
    cause: str
    when: str


_STOPPED = "stopped"
NO_MORE_RESTARTS = "restart_limit_exceeded"
"""The cause where `max_restarts` were tried within `restart_window_secs` (MGP §11.5)."""

TRANSITIONS: tuple[Transition, ...] = (
    Transition("registered", "connecting", "start", "it is started"),
    Transition("registered", "error", "misconfigured", "its configuration cannot be used"),
    Transition("registered", "disconnected", _STOPPED, "it is stopped before it was started"),
    Transition("connecting", "connected", "started", "the handshake succeeded"),
    Transition("connecting", "error", "start_failed", "its program or the handshake failed"),
    Transition("connecting", "disconnected", "unreachable", "its URL did not answer"),
    Transition("connected", "draining", "operator_request", "it is to shut down"),
    Transition("connected", "disconnected", "connection_lost", "it ended, or the connection did"),
    Transition("draining", "disconnected", "drained", "no call is in flight, or time is over"),
    Transition("draining", "restarting", "drained", "the same, and it is to come back at once"),
    Transition("disconnected", "restarting", "restart", "its restart policy, or a call, wants it"),
    Transition("disconnected", "error", "not_restarted", "nothing starts it again by itself"),
    Transition("restarting", "connected", "restarted", "the handshake succeeded"),
    Transition("restarting", "error", "start_failed", "its program or the handshake failed"),
    Transition("restarting", "disconnected", "unreachable", "its URL did not answer"),
    Transition("error", "restarting", "restart", "its restart policy, a call or an operator"),
    Transition("error", "disconnected", _STOPPED, "it is stopped"),
)
"""All of them; what is not here does not happen."""

_ALLOWED = {(one.before, one.after): one for one in TRANSITIONS}


class Change(msgspec.Struct, frozen=True):
    """What happened to a server: the state it was in, the state it is in, and the word for why."""

    server: str
    before: State
    after: State
    cause: str


def allowed(before: State, after: State) -> bool:
    """Whether the table has this transition."""
    return (before, after) in _ALLOWED


def cause_of(before: State, after: State) -> str:
    """The usual word for why. Raises `KeyError` for a transition that there is not."""
    return _ALLOWED[before, after].cause


def way(before: State, after: State) -> list[Transition]:
    """The shortest way from one state to another through the table; empty where they are the same, or there is none."""
    ways: dict[State, list[Transition]] = {before: []}
    waiting = [before]
    for at in waiting:
        for one in TRANSITIONS:
            if one.before == at and one.after not in ways:
                ways[one.after] = [*ways[at], one]
                waiting.append(one.after)
    return ways.get(after, [])


# -- shutting down ----------------------------------------------------------------------------------

ShutdownReason = Literal[
    "operator_request",
    "configuration_change",
    "resource_limit",
    "idle_timeout",
    "kernel_shutdown",
]
"""Why something is to shut down (MGP §11.4)."""

REASONS: tuple[ShutdownReason, ...] = get_args(ShutdownReason)

CAUSES = frozenset({*REASONS, NO_MORE_RESTARTS, *(one.cause for one in TRANSITIONS)})
"""Every word that a notification gives as its reason."""

Policy = Literal["on_failure", "never", "always"]
After = Literal["stays", "call", "restart"]
"""What comes after the drain: it stays down until an operator starts it; the next call starts it; it is started at once."""

_BY_POLICY: Mapping[Policy, After] = {"never": "stays", "on_failure": "call", "always": "restart"}
_STAYS: Mapping[Policy, After] = dict.fromkeys(get_args(Policy), "stays")
_CALL: Mapping[Policy, After] = dict.fromkeys(get_args(Policy), "call")

AFTER: Mapping[ShutdownReason, Mapping[Policy, After]] = {
    # What a person wants down is down, whatever the configuration says of ends that nobody wanted.
    "operator_request": _STAYS,
    "configuration_change": _BY_POLICY,
    "resource_limit": _BY_POLICY,
    # Brought back at once it would be idle again at once.
    "idle_timeout": _CALL,
    "kernel_shutdown": _STAYS,
}
"""Reason, restart policy → what comes after the drain."""
