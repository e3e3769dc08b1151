"""A gateway with a server that has events and callbacks, and clients that negotiated them, for the tests of MGP §13."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.behaviour.gateway import Gateway, config, server
from tests.behaviour.hosts import Host, RpcError, host

__all__ = [
    "ACKNOWLEDGED",
    "CALLBACK",
    "EVENT",
    "EVERY",
    "LEGACY",
    "MODERN",
    "OFFER",
    "WANTED",
    "bearer",
    "configured",
    "listening",
    "made_key",
    "rule_of",
    "subscribed",
]

EVENT, CALLBACK = "notifications/mgp.event", "notifications/mgp.callback.request"
ACKNOWLEDGED, WANTED = "notifications/subscriptions/acknowledged", "dev.cloto/events"
OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "bidirectional"]}}
LEGACY = ("http 2025-11-25", "stdio 2025-11-25", "websocket 2025-11-25", "sse 2024-11-05")
MODERN = ("http 2026-07-28", "stdio 2026-07-28", "websocket 2026-07-28")
EVERY = (*LEGACY, *MODERN)


def configured(*more: dict[str, Any], **tables: Any) -> dict[str, Any]:
    """The configuration."""
    mgp = {"extensions": ["security", "bidirectional"]}
    return config(server("eventful", mgp=mgp), server("echo"), *more, **tables)


def made_key(gateway: Gateway, name: str, *more: str) -> dict[str, Any]:
    """A fresh key, as `key create` prints it."""
    ours = ("--json", "--another", "--key", gateway.operator_token)
    found: dict[str, Any] = json.loads(gateway.cli("key", "create", name, *more, *ours))
    return found


def bearer(key: str) -> dict[str, str]:
    """The header that shows a key."""
    return {"authorization": f"Bearer {key}"}


def rule_of(error: RpcError) -> Any:
    """Which rule refused, by an error as MGP clients get it."""
    return error.data["_mgp"]["details"]["rule"]


async def subscribed(client: Host, *channels: str, **more: Any) -> dict[str, Any]:
    """Subscribe: by the method where the client has a session, else by `subscriptions/listen`."""
    asked = {"channels": list(channels), **more} if channels else more
    if not client.modern:
        found: dict[str, Any] = await client.request("mgp/events/subscribe", asked)
        return found
    await client.start("subscriptions/listen", {"notifications": {WANTED: asked}})
    note = (await client.note(ACKNOWLEDGED))["params"]
    honoured: dict[str, Any] = note["notifications"].get(WANTED, {})
    return honoured


@asynccontextmanager
async def listening(gateway: Gateway, door: str, key: str = "", **more: Any) -> AsyncIterator[Host]:
    """A client that negotiated `bidirectional`."""
    headers = bearer(key) if key else {}
    async with host(gateway, door, headers=headers, **{"can": OFFER, **more}) as client:
        yield client
