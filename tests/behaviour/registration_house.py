"""A gateway at which servers are registered while it runs, and requests to do so."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import UserContext
from gatewright.identity.keys import KeyStore
from tests.behaviour.access_house import House
from tests.behaviour.gateway import ROOT, config, running, server
from tests.behaviour.hosts import Host, RpcError
from tests.storage.parts import state_in

__all__ = [
    "AGENTS",
    "REGISTERS",
    "Registry",
    "registry_in",
    "said",
    "seed_request",
]

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "access_control", "discovery"]}}
REGISTERS = UserContext(
    permissions=(
        "kernel.registry.write",
        "kernel.tools.list",
        "kernel.tool.invoke:dynamic.*",
        "kernel.tool.invoke:echo*",
    )
)
"""What the key of an agent says that may register servers, and use those."""
AGENTS: dict[str, Any] = {"trust_level": "standard", "lifetime": "persistent", "per_caller": 50}
SCRIPT = ROOT / "tests" / "tool_servers" / "registered.py"


def seed_request(ident: str = "dynamic.custom_tool", **more: Any) -> dict[str, Any]:
    """The request of MGP §15.4, but for what this gateway would have to isolate or ask somebody about."""
    return {
        "id": ident,
        "command": "python",
        "args": ["scripts/mcp_custom.py"],
        "transport": "stdio",
        "mgp": {"extensions": ["security"], "trust_level": "standard"},
        "created_by": "agent.cloto_default",
        "justification": "Agent needs custom data processing tool",
        **more,
    }


class Registry(House):
    """A gateway with one configured server, `echo`."""

    @asynccontextmanager
    async def host(self, door: str, key: str, can: Any = None) -> AsyncIterator[Host]:
        """A host with this key."""
        async with super().host(door, key, can or OFFER) as client:
            yield client

    def script(self, name: str, text: str) -> str:
        """A script in the folder of the configuration, by its name there."""
        path = self.gateway.folder / "scripts" / f"{name}.py"
        path.write_text(text)
        return f"scripts/{name}.py"

    def text(self) -> str:
        """The script of the request."""
        return (self.gateway.folder / "scripts" / "mcp_custom.py").read_text()

    def operators_key(self) -> str:
        """A fresh operator's key."""
        state = state_in(self.gateway.folder / "state")
        callers = KeyStore(state, clock=time.time, random=os.urandom)
        try:
            return callers.create("boss", kind="operator", by="test")[1]
        finally:
            callers.close()

    def records(self, kind: str, ident: str) -> list[dict[str, Any]]:
        """What was recorded of a server."""
        found = self.gateway.audit("--event", kind)
        return [one for one in found if one["target"].get("server_id") == ident]

    async def listed(self, client: Host, ident: str) -> dict[str, Any] | None:
        """The entry of a server in `mgp/discovery/list`."""
        found = (await client.request("mgp/discovery/list"))["servers"]
        return next((one for one in found if one["id"] == ident), None)

    async def refused(self, client: Host, request: dict[str, Any]) -> RpcError:
        """Why a registration is refused; nothing has changed by it."""
        before = await client.request("mgp/discovery/list")
        with pytest.raises(RpcError) as caught:
            await client.request("mgp/discovery/register", request)
        after = await client.request("mgp/discovery/list")
        assert [one["id"] for one in after["servers"]] == [one["id"] for one in before["servers"]]
        return caught.value


def prepared(folder: Path) -> None:
    """The script of the request, as seed and agents name it."""
    (folder / "scripts").mkdir(exist_ok=True)
    shutil.copy(SCRIPT, folder / "scripts" / "mcp_custom.py")


def said(**registration: Any) -> dict[str, Any]:
    """The configuration of a registry."""
    return config(
        server("echo"),
        gateway={"anonymous": "deny"},
        registration={**AGENTS, **registration},
        grants=[],
    )


@contextmanager
def registry_in(folder: Path, content: dict[str, Any] | None = None) -> Iterator[Registry]:
    """One in a folder."""
    prepared(folder)
    with running(folder, content or said()) as gateway:
        yield Registry(gateway)
