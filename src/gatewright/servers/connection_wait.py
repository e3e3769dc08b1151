"""When a call stops waiting for a server's connection, by its state: `hopeless` failure, retry delay; disabled by settings; cuts reasons."""

from __future__ import annotations

import msgspec

from gatewright.call import Failure
from gatewright.command_text import to_type
from gatewright.secret_scanning.escape_invisible import spelled
from gatewright.servers.spec import ServerSpec
from gatewright.servers.states import State

__all__ = ["Wait", "brief", "explained", "hopeless"]

_REASON_CHARS = 800


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for the connection of a server, and how that stands. Times are seconds from now."""

    spec: ServerSpec
    state: State
    reason: str
    holding: bool
    """Whether a person is asked about the server."""
    ended: bool
    """Whether the one session is over that it served."""
    stopped: bool
    """Whether only an operator starts it."""
    pausing: bool
    """Whether nobody has asked for the next attempt at once."""
    next_s: float
    """When the next attempt is; infinity where none is due."""
    left_s: float
    """How long the call still waits."""
    tried: bool
    """Whether an attempt was made since the call came."""
    fresh: bool
    """Whether it is the first attempt that is being made."""
    agreed: bool
    """Whether an operator agreed to this very call: it waits for one attempt more, as the yes would else be used up for nothing."""


def hopeless(wait: Wait) -> Failure | None:
    """Why it makes no sense to wait any longer, if so."""
    name = wait.spec.id
    if wait.holding:
        asks = to_type("server permit {}", name)
        text = f"server {name} {wait.reason}; `{asks}` shows what it asks for"
        return Failure("permission_deferred", text)
    if wait.ended:
        return Failure("session_unknown", "the session has ended: nothing was run")
    if wait.state == "draining":
        text = f"server {name} takes no more calls: {wait.reason}"
        return Failure("draining", text, retry_after_ms=1000)
    if wait.stopped:
        starts = to_type("server start {}", name)
        text = f"server {name} is stopped: {wait.reason}; `{starts}` starts it"
        return Failure("upstream_unavailable", text)
    pausing = wait.state in ("error", "disconnected", "restarting") and wait.pausing
    waiting = pausing and wait.next_s > 0
    wait_ms = None if wait.next_s == float("inf") else _ms(wait.next_s)
    if wait.state == "error" and waiting:
        anew = to_type("server restart {}", name)
        text = f"server {name} is down: {wait.reason}; `{anew}` tries again at once"
        return Failure("upstream_unavailable", text, retry_after_ms=wait_ms)
    # The gateway starts a process again by itself (MGP §14.3, 2002); a server elsewhere is only tried again.
    waits = wait.spec.transport == "stdio" or wait.agreed
    if waiting and (wait.next_s > wait.left_s or wait.tried or not waits):
        again = wait.state == "restarting"
        text = f"server {name} is {'restarting' if again else 'down'}: {wait.reason}"
        reason = "restarting" if again else "upstream_unavailable"
        return Failure(reason, text, retry_after_ms=wait_ms)
    if wait.left_s <= 0:
        return Failure(
            "server_not_ready" if wait.fresh else "restarting",
            f"server {name} is still starting" if wait.fresh else f"server {name} is restarting",
            retry_after_ms=1000,
        )
    return None


def explained(spec: ServerSpec, failure: Failure) -> Failure:
    """Why there is no connection, in the configuration's words where it says so."""
    if spec.problem:
        return Failure("upstream_unavailable", f"server {spec.id}: {spec.problem}")
    if not spec.enabled:
        return Failure(
            "upstream_unavailable",
            f"server {spec.id} is disabled; `{to_type('server enable {}', spec.id)}` enables it",
        )
    return failure


def brief(reason: str) -> str:
    """A reason as callers and operators read it. What a server said may be in it, which is to be no page long and to show all it has."""
    shown = spelled(reason[:_REASON_CHARS])
    return shown if len(shown) <= _REASON_CHARS >= len(reason) else f"{shown[:_REASON_CHARS]}…"


def _ms(seconds: float) -> int:
    return max(100, int(seconds * 1000))
