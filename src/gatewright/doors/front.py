"""What every door shares: how a request becomes a call, and who answers what.

Doors differ in how they read a message and in how they spell an outcome. Everything between is here.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from gatewright.call import Call, Caller, Refusal
from gatewright.kernel import Kernel
from gatewright.protocol.eras import Sealer
from gatewright.protocol.mcp_server import Inbound
from gatewright.protocol.negotiate import Face
from gatewright.wire.jsonrpc import Limits

__all__ = ["Changes", "Described", "Ending", "Front", "Refused", "Upstream", "trace_of"]

Described = tuple[dict[str, Any], str]
"""Capabilities and instructions."""

Changes = Callable[[str, str, dict[str, Any]], None]
"""Takes what a server said on its own account: server id, method, params."""


class Upstream(Protocol):
    """What doors ask of the other half besides calls."""

    async def settled(self) -> bool:
        """Wait until the servers have started or had their time; at once ever after."""

    async def describe(self, profile: str, caller: Caller) -> Described:
        """What the servers behind a profile can do, as far as they have started."""

    async def notify(
        self, caller: Caller, method: str, params: dict[str, Any], session: str | None = None
    ) -> None:
        """Pass a client's notification on to the servers the caller may use."""

    def watch(
        self, caller: Caller, profile: str, take: Changes, session: str | None = None
    ) -> Callable[[], None]:
        """Tell `take` of changes in servers the caller may see; the result ends that. `session`
        also hears what comes on connections of its own."""

    def annotations(self, profile: str, name: str, caller: Caller) -> Mapping[tuple[str, ...], str]:
        """The `x-mcp-header` annotations of a tool the caller may see; empty for all others."""

    def forget(self, session: str) -> None:
        """A session is over: give up what was kept for it."""


class Ending(Protocol):
    """What can be ended in an orderly way when the gateway stops."""

    def end(self) -> None:
        """Say goodbye to whoever listens."""


Refused = Callable[[Caller, str, int, str], None]
"""Told of each request that a door refuses before it is a call: who, which door, code, message."""


def _nobody_asks(caller: Caller, door: str, code: int, message: str) -> None:
    """Where no record is kept."""


class Front(msgspec.Struct):
    """The gateway as its doors see it."""

    kernel: Kernel
    upstream: Upstream
    identify: Callable[[str, str | None], Caller | Refusal]
    """Door and credential → who that is, or why nobody."""
    face: Face
    info: Mapping[str, Any]
    sealer: Sealer
    owners: dict[str, str] = {}
    """Session id → id of the caller who opened it; kept by the doors, read by the session gate."""
    limits: Limits = Limits()
    frame_bytes: int = 1024 * 1024
    queue_bytes: int = 256 * 1024
    subscriptions: int = 100
    stream_after_s: float = 0.05
    """After how long a call is answered on a stream where that can be resumed, though nothing goes
    before its answer: a client whose connection breaks in a long call can then come back for it."""
    refused: Refused = _nobody_asks
    clock: Callable[[], float] = time.monotonic
    random: Callable[[int], bytes] = os.urandom
    listening: dict[str, set[Ending]] = {}
    """Caller → the `subscriptions/listen` requests that are open, of every door."""

    def call(
        self,
        inbound: Inbound,
        caller: Caller,
        *,
        door: str,
        credential: str | None,
        session: str | None,
        profile: str,
    ) -> Call:
        """The call an inbound request asks for."""
        params, spec = inbound.params, inbound.spec
        name = params.get(spec.names) if spec.names else None
        return Call(
            id=self.random(16).hex(),
            door=door,
            kind=spec.kind,
            method=inbound.method,
            name=name if isinstance(name, str) else "",
            params=params,
            caller=caller,
            client=inbound.client,
            trace_id=_trace(inbound.trace_id) or trace_of(params) or self._fresh_trace(),
            session=session,
            profile=profile,
            credential=credential,
            facts={},
        )

    def _fresh_trace(self) -> str:
        """A random UUID (version 4) as text."""
        raw = bytearray(self.random(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        text = raw.hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def trace_of(params: Mapping[str, Any]) -> str | None:
    """The trace a request belongs to: MGP's `trace_id`, else the id in W3C's `traceparent`."""
    found = _trace(params.get("trace_id"))
    if found is not None:
        return found
    meta = params.get("_meta")
    parent = meta.get("traceparent") if isinstance(meta, dict) else None
    traced = _PARENT.match(parent) if isinstance(parent, str) else None
    return traced[1] if traced else None


def _trace(found: object) -> str | None:
    """A trace id as it may stand in a record: short, and on one line."""
    if isinstance(found, str) and 0 < len(found) <= 128 and found.isprintable():
        return found
    return None


_PARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)")
