"""Settings of `[limits]` (message sizes, connections, call rates, definitions) and `[discovery]` (tools listed, context budget)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.config.bounds import MILLISECONDS, TOKENS, Bytes, Count, Name, Seconds, rate
from gatewright.config.embedder import Embedder

__all__ = ["Calls", "Discovery", "Expose", "Limits", "Rates"]

Expose = Literal["all", "pinned+discover", "discover"]
Tokens = Annotated[int, Meta(ge=0, le=10_000_000, extra=TOKENS)]


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools hosts list, and how many tokens of definitions an agent has in its context (MGP §16).

    Tokens are those of a common model's tokenizer, counted within a few percent.
    """

    expose: Expose = "all"
    """What `tools/list` has. `all`: every tool. `discover`: three tools of the gateway, which search for tools, describe
    and call one, and the pinned tools of the agent. `pinned+discover`: those, and the pinned tools of the profile. Every tool can
    be called by its name all the same. `expose` of a profile takes precedence."""
    max_tokens: Annotated[int, Meta(ge=1, le=10_000_000, extra=TOKENS)] = 8000
    """What the definitions that a session has in its context may take: pinned tools, tools that it used, and one answer of a search."""
    pinned_reserve: Tokens = 2000
    """What is kept free of other tools for those that are pinned."""
    discovery_reserve: Tokens = 3000
    """What one answer of a search may take; it has fewer tools where they would take more."""
    cache_limit: Tokens = 3000
    """What the tools may take that a session used; the least recently used are let go first."""
    embedder: Embedder = Embedder()
    """What makes vectors of what is meant; see `[discovery.embedder]`."""


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """How many calls may begin within any interval of the given length, wherever that interval begins."""

    per_second: Count | None = None
    """Calls within one second; unlimited unless set."""
    per_minute: Count | None = None
    """Calls within one minute; unlimited unless set."""
    per_hour: Count | None = None
    """Calls within one hour; unlimited unless set."""
    per_day: Count | None = None
    """Calls within 24 hours, a quota: a call above it is refused as `quota_exceeded`. Unlimited unless set."""


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """How often callers may call, counted for the gateway, the caller, its key, the server and the tool.

    A call counts for each of them, and the strictest limit decides.
    """

    total: Rates | None = None
    """The limit of all callers together."""
    caller: Rates | None = None
    """The limit of each caller."""
    key: Rates | None = None
    """The limit of each API key."""
    server: Rates | None = None
    """The limit of each server, over all callers."""
    tool: Rates | None = None
    """The limit of each tool, over all callers."""
    callers: dict[Name, Rates] = {}
    """Limits of single callers, by the caller's name; each replaces `caller`."""
    keys: dict[Name, Rates] = {}
    """Limits of single API keys, by the key's id (`gatewright key list`); each replaces `key`."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on what one caller, one connection or one server may use.

    What exceeds a bound is refused, and the error names the bound.
    """

    frame_bytes: Bytes = 1024 * 1024
    """The largest message from a caller."""
    server_frame_bytes: Bytes = 12 * 1024 * 1024
    """The largest message from a server."""
    depth: Annotated[int, Meta(ge=1, le=500)] = 64
    """How many levels the `params` of a caller's message may nest."""
    keys: Count = 10_000
    """How many members the objects in the `params` of one message may have together."""
    values: Count = 50_000
    """How many values the `params` of one message may have, elements of arrays included."""
    batch: Count = 50
    """How many messages a JSON-RPC batch may have."""
    header_bytes: Bytes = 32 * 1024
    """The largest head of an HTTP request: its request line and header fields."""
    connections_per_s: Annotated[int, Meta(ge=1, le=2**40, extra=rate("connections"))] = 500
    """How many connections one address may open, after a burst of four times as many; a TLS connection counts as
    eight. Behind a proxy that opens one for each request, all callers share one address."""
    connections: Count | None = None
    """How many connections may be open at once. Unless set, the limit of open files of the process (`ulimit -n`) less
    a quarter of it, that quarter being at least 128 and at most 2,048. When all are in use, a new connection replaces
    one that is idle; where none is idle, the new one is refused (503)."""
    connections_per_address: Count | None = None
    """How many connections of one address may be open at once. Unless set, half of all, and all of them for loopback
    addresses and Unix sockets. An IPv6 address counts by its first 64 bits. Set it where a proxy on another machine
    stands in front of the gateway: all callers then have the proxy's address."""
    id_chars: Count = 128
    """How many characters the `id` of a request may have."""
    in_flight_per_server: Count = 1024
    """How many calls may run at one server at once."""
    queue_bytes: Bytes = 256 * 1024
    """How much output may wait for a caller that reads slowly."""
    subscriptions_per_client: Count = 100
    """How many resources a client may be subscribed to at once."""
    call_timeout_s: Seconds = 30.0
    """The time limit of a call to a server without a `call_timeout_s` of its own."""
    stall_ms: Annotated[int, Meta(ge=1, le=2**40, extra=MILLISECONDS)] = 100
    """How long the event loop may stand still before the log names the call that held it up."""
    schema_depth: Annotated[int, Meta(ge=1, le=500)] = 32
    """How many levels a schema of a tool may nest."""
    subschemas: Count = 1000
    """How many subschemas a schema of a tool may have."""
    description_bytes: Bytes = 16384
    """The longest description of a tool. A tool with a longer one is left out of lists, and `gatewright server show`
    says so."""
    tools_per_server: Count = 500
    """How many tools one server may list."""
    calls_per_minute: Annotated[int, Meta(ge=1, le=2**40, extra=rate("calls", "min"))] | None = None
    """The limit of each caller, short for `per_minute` of `[limits.calls.caller]`. Where both are set, the lower one
    holds. Unlimited unless set."""
    calls: Calls | None = None
    """The limits of calls at all endpoints together; see `[limits.calls]`."""
    doors: dict[Name, Calls] = {}
    """The limits of calls at single endpoints: `[limits.doors.NAME]`, with the keys of `[limits.calls]`, where `NAME`
    is `http`, `stdio`, `websocket`, `sse`, `ggen`, `rest`, `groundhog` or `room`. They hold beside those of all endpoints. `groundhog` has the
    limits of `[mcp.protocol.rate_limits]` until a table of its name replaces them."""
