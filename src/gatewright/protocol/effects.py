"""What a host's message asks of whoever owns the connection: what `mcp_server` makes of one, and `serving.peer` does."""

from __future__ import annotations

from typing import Any

import msgspec

from gatewright.call import Client
from gatewright.wire.versions import Method

__all__ = [
    "Answered",
    "Cancelled",
    "Dropped",
    "Effect",
    "Hello",
    "Inbound",
    "Listen",
    "Notice",
    "Rejected",
    "Reply",
]


class Inbound(msgspec.Struct, frozen=True, gc=False):
    """A request that becomes a call. `id` is JSON text; `kind` comes from the table of methods."""

    id: bytes
    method: str
    params: dict[str, Any]
    client: Client
    spec: Method
    trace_id: str | None = None


class Hello(msgspec.Struct, frozen=True):
    """`initialize` or `server/discover`: the owner looks up what to say and calls `welcome` or
    `discovered`."""

    id: bytes
    client: Client
    modern: bool


class Listen(msgspec.Struct, frozen=True):
    """`subscriptions/listen`: a stream of change notifications that lasts until it is cancelled."""

    id: bytes
    client: Client
    wanted: Any


class Reply(msgspec.Struct, frozen=True):
    """Answer the request `id` with this result; nothing else is to be done."""

    id: bytes
    result: bytes


class Rejected(msgspec.Struct, frozen=True):
    """A request that cannot be served as it is. `http` is the status that goes with it; `client` is
    known where the request said who sends it."""

    id: bytes
    code: int
    message: str
    data: Any = None
    http: int = 400
    client: Client | None = None


class Cancelled(msgspec.Struct, frozen=True):
    """The caller gave up on the request with this id (JSON text)."""

    id: bytes


class Answered(msgspec.Struct, frozen=True):
    """The host answered one of our questions; exactly one of `result` and `error` is not empty."""

    id: bytes
    result: bytes = b""
    error: bytes = b""


class Notice(msgspec.Struct, frozen=True):
    """A notification that is not about the connection: it becomes a call that nobody waits for."""

    method: str
    params: dict[str, Any]
    client: Client


class Dropped(msgspec.Struct, frozen=True):
    """A message without an id that is no notification: nobody can be answered, and nothing is done."""

    code: int
    message: str


Effect = Inbound | Hello | Listen | Reply | Rejected | Cancelled | Answered | Notice | Dropped
