"""A gateway where every caller needs a key and access is asked about, given and taken back."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gatewright.call import UserContext
from gatewright.identity.keys import KeyStore
from tests.behaviour.gateway import Gateway
from tests.behaviour.hosts import EVERY_DOOR, Host, RpcError, host
from tests.behaviour.wires import DEADLINE
from tests.storage.parts import state_in

__all__ = [
    "FIVE",
    "KEYED",
    "OFFER",
    "House",
    "about",
    "code_of",
    "passes",
    "promptly",
    "seed_grant",
]

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "access_control"]}}
KEYED = tuple(door for door in EVERY_DOOR if not door.startswith("stdio"))
"""Doors at which a caller shows a key."""
FIVE = {"permission", "source", "granted_by", "granted_at", "expires_at"}
NOTHING_SAID = UserContext()
PROMPT_S = 1.0
"""Within which a revocation has to be felt."""
_TICK_S = 0.02


class House:
    """A gateway where every caller needs a key; `open` lets in who has no grant, `echo` does not."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.count = 0

    def agent(self, user: UserContext = NOTHING_SAID) -> tuple[str, str]:
        """A fresh agent's name and key; `user` is what the key says of it."""
        self.count += 1
        name = f"agent-{self.count}"
        state = state_in(self.gateway.folder / "state")
        callers = KeyStore(state, clock=time.time, random=os.urandom)
        try:
            return name, callers.create(name, user=user, by="test")[1]
        finally:
            callers.close()

    @asynccontextmanager
    async def host(self, door: str, key: str, can: Any = None) -> AsyncIterator[Host]:
        """A host with this key."""
        headers = {"authorization": f"Bearer {key}"}
        async with host(self.gateway, door, can=can or OFFER, headers=headers) as client:
            yield client

    @asynccontextmanager
    async def operator(self, door: str = "http 2026-07-28") -> AsyncIterator[Host]:
        """A host of whoever runs the gateway."""
        async with self.host(door, self.gateway.operator_token) as client:
            yield client


def seed_grant(agent: str, **more: Any) -> dict[str, Any]:
    """The request of MGP §5.4."""
    return {
        "entry_type": "server_grant",
        "agent_id": agent,
        "server_id": "echo",
        "tool_name": None,
        "permission": "allow",
        "granted_by": "admin",
        "justification": "Required for agent reasoning",
        "expires_at": None,
        **more,
    }


def about(agent: str, **more: Any) -> dict[str, Any]:
    return {"agent_id": agent, "server_id": "echo", "tool_name": "echo", **more}


async def code_of(client: Host, method: str, params: dict[str, Any]) -> int:
    with pytest.raises(RpcError) as caught:
        await client.request(method, params)
    return caught.value.code


async def passes(client: Host, tool: str) -> bool:
    """Whether a call runs; what does not is refused with 1001."""
    try:
        await client.call(tool, message="x")
    except RpcError as problem:
        refused = problem.code
    else:
        return True
    assert refused == 1001
    return False


@asynccontextmanager
async def promptly() -> AsyncIterator[None]:
    """What is waited for inside comes within a second. Meanwhile a timer of our own is watched: what the machine keeps that
    waiting, because it has other things to do, is no fault of the gateway and does not count."""
    loop = asyncio.get_running_loop()
    late = 0.0

    async def watch() -> None:
        nonlocal late
        while True:
            due = loop.time() + _TICK_S
            await asyncio.sleep(_TICK_S)
            late += loop.time() - due

    watching, begun = asyncio.create_task(watch()), loop.time()
    try:
        async with asyncio.timeout(DEADLINE):
            yield
        spent = loop.time() - begun
    finally:
        watching.cancel()
    assert spent <= PROMPT_S + late
