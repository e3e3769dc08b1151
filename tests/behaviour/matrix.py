"""The authorisation matrix: what can be asked, where, and with which credentials that must not do.

A door joins with a line in `DOORS`, a method with one in `METHODS`; `CREDENTIALS` come from the token house and its key
store. `test_matrix` asks all of it of everything.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from gatewright.identity.keys import KeyStore
from tests.behaviour.access_house import OFFER, about, seed_grant
from tests.behaviour.gateway import Gateway
from tests.behaviour.hosts import META
from tests.behaviour.wires import MODERN, NAMED
from tests.storage.parts import state_in

__all__ = ["DOORS", "METHODS", "Door", "Keyed", "Request", "credentials"]

METHODS: Mapping[str, Mapping[str, Any]] = {
    "tools/list": {},
    "tools/call": {"name": "echo__echo", "arguments": {"message": "x"}},
    "tools/validate": {"name": "echo__echo", "arguments": {}},
    "prompts/list": {},
    "prompts/get": {"name": "echo__hello"},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "echo://x"},
    "resources/subscribe": {"uri": "echo://x"},
    "resources/unsubscribe": {"uri": "echo://x"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "a", "value": ""},
    },
    "logging/setLevel": {"level": "debug"},
    "ping": {},
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
    "server/discover": {},
    "subscriptions/listen": {"notifications": {}},
    "tasks/list": {},
    "mgp/access/query": about("somebody"),
    "mgp/access/grant": seed_grant("somebody"),
    "mgp/access/revoke": about("somebody"),
    "mgp/discovery/list": {},
    "mgp/permission/request": {"server_id": "echo", "permissions": ["network.outbound"]},
    "mgp/stream/cancel": {"request_id": 1},
    "mgp/no/such": {},
    "gatewright/policy/explain": {"agent": "somebody", "tool": "echo__echo"},
    "gatewright/no/such": {},
    "no/such": {},
}


class Request(NamedTuple):
    """One HTTP request without its credential."""

    verb: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = {}


class Door(NamedTuple):
    """How a method is asked at a door. Where a door has paths in place of methods, it has one request for each of them."""

    ask: Callable[[str, Mapping[str, Any]], Request]
    methods: tuple[str, ...] = tuple(METHODS)
    refusals: frozenset[int] = frozenset({401})
    """The statuses that may be seen. More than one: a door whose few methods are documented says 404 to all others before it
    asks who wants to know."""


def _rpc(path: str, revision: str = "") -> Door:
    """JSON-RPC, in a revision of MCP or in none."""

    def ask(method: str, params: Mapping[str, Any]) -> Request:
        headers = {"accept": "application/json, text/event-stream"}
        if revision:
            headers["mcp-protocol-version"] = revision
        if revision == MODERN:
            meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": OFFER}
            headers["mcp-method"] = method
            if method in NAMED:
                headers["mcp-name"] = str(params[NAMED[method]])
            params = {**params, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return Request("POST", path, body, headers)

    return Door(ask)


def _paths(**requests: Request) -> Door:
    """A door that has no methods."""
    return Door(lambda name, _: requests[name], tuple(requests))


DOORS: Mapping[str, Door] = {
    "http 2025-11-25": _rpc("/mcp", "2025-11-25"),
    "http 2024-11-05": _rpc("/mcp", "2024-11-05"),
    "http 2026-07-28": _rpc("/mcp", MODERN),
    "a profile": _rpc("/mcp/narrow", MODERN),
    "sse messages": _rpc("/messages"),
    "ggen": _rpc("/rpc")._replace(refusals=frozenset({401, 404})),
    "streams": _paths(
        mcp=Request("GET", "/mcp"), sse=Request("GET", "/sse"), end=Request("DELETE", "/mcp")
    ),
    "rest": _paths(
        call=Request("POST", "/tools/echo__echo", {"message": "x"}),
        unknown=Request("POST", "/tools/none", {}),
        document=Request("GET", "/openapi.json"),
    ),
    "metrics": _paths(metrics=Request("GET", "/metrics")),
}


class Keyed(Protocol):
    """A gateway with a key store, and the credentials besides keys that must not do."""

    @property
    def gateway(self) -> Gateway: ...

    def bad(self) -> Mapping[str, str | None]: ...


def credentials(house: Keyed) -> dict[str, str | None]:
    """Every credential that lets nobody in, by what is wrong with it."""
    state = state_in(house.gateway.folder / "state")
    past = KeyStore(state, clock=lambda: time.time() - 1000, random=os.urandom)
    try:
        late = past.create("late", kind="operator", expires=time.time() - 500, by="test")[1]
        key, gone = past.create("gone", kind="operator", by="test")
        past.revoke(key.id, by="test")
    finally:
        past.close()
    wrong = gone[:-4] + ("aaaa" if not gone.endswith("aaaa") else "bbbb")
    keys = {
        "none": None,
        "an expired key": late,
        "a revoked key": gone,
        "a wrong key": wrong,
        "no key": "x",
    }
    return {**keys, **house.bad()}
