"""Gateways that speak Groundhog, one for each transport, with users of every trust and a tree to list."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import Query
from gatewright.call import Trust, UserContext
from gatewright.identity.keys import KeyStore
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.groundhog_client import Groundhog, connected
from tests.storage.parts import state_in

__all__ = ["DOORS", "INVOKE", "REGISTER", "SHUT_OUT", "TERM", "GroundhogHouse", "houses", "tree"]

DOORS = ("main websocket", "websocket", "http", "tcp")
"""The gateway's own address by Upgrade, and the protocol's own with each transport."""

SHUT_OUT = "shut-out"
"""Who may not use what everybody may."""
TERM = "Project Zebra"
"""What no result may have."""

INVOKE: dict[str, Any] = {
    "tool_id": "directory_list",
    "tool_version": "1.0.0",
    "parameters": {"path": "./src", "recursive": True, "max_depth": 3},
    "security_context": {
        "user_id": "user123",
        "session_id": "session456",
        "permissions": ["read:filesystem"],
    },
}
"""The specification's request, word for word."""

REGISTER: dict[str, Any] = {
    "tool_metadata": {
        "name": "directory_list",
        "version": "1.0.0",
        "description": "Secure directory listing tool",
        "author": "Groundhog Team",
        "categories": ["filesystem", "utility"],
    },
    "security_profile": {
        "permissions": ["read:filesystem"],
        "sandbox_level": "container",
        "resource_limits": {"max_execution_time": 30, "max_memory": 268435456},
    },
    "schema": {
        "input": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "recursive": {"type": "boolean"},
                "max_depth": {"type": "integer"},
            },
            "required": ["path"],
        },
        "output": {"type": "object", "required": ["path", "entries", "metadata"]},
    },
}
"""The same, with real schemas where its text has comments."""

_NUMBERS = itertools.count(1)


def tree(root: Path) -> Path:
    """A folder with files at four depths, hidden ones, and links that lead out."""
    (root / "src" / "one" / "two" / "three").mkdir(parents=True)
    (root / "src" / "main.rs").write_text("x" * 1024)
    (root / "src" / "main.rs").chmod(0o644)
    (root / "src" / ".hidden").write_text("h")
    (root / "src" / "one" / "a.txt").write_text("a")
    (root / "src" / "one" / "two" / "b.txt").write_text("b")
    (root / "src" / "one" / "two" / "three" / "c.txt").write_text("c")
    (root / "private").mkdir()
    (root / "private" / "salary.txt").write_text("1")
    (root / "out").symlink_to("/etc")
    return root


class GroundhogHouse:
    """One gateway, and who may use it."""

    def __init__(self, gateway: Gateway, root: Path) -> None:
        self.gateway = gateway
        self.root = root

    def url(self, door: str) -> str:
        """Where a door is."""
        return self.gateway.urls["websocket" if door == "main websocket" else "groundhog"]

    def user(self, name: str = "", **user: Any) -> tuple[str, str]:
        """A fresh user's name and key; `user` is what the key says of it."""
        name = name or f"user-{next(_NUMBERS)}"
        callers = KeyStore(
            state_in(self.gateway.folder / "state"), clock=time.time, random=os.urandom
        )
        try:
            return name, callers.create(name, user=UserContext(**user), by="test")[1]
        finally:
            callers.close()

    def revoke(self, key: str) -> None:
        """Take a key back."""
        callers = KeyStore(
            state_in(self.gateway.folder / "state"), clock=time.time, random=os.urandom
        )
        try:
            callers.revoke(key.split("_")[1], by="test")
        finally:
            callers.close()

    def trusted(self, trust: Trust) -> str:
        """The key of a user who is trusted so far."""
        if trust == "system":
            return self.gateway.operator_token
        return self.user(trust=trust)[1]

    @asynccontextmanager
    async def client(self, door: str, key: str | None = None) -> AsyncIterator[Groundhog]:
        """A client of a user, or of a fresh one."""
        async with connected(self.url(door), key or self.user()[1]) as client:
            yield client

    @asynccontextmanager
    async def operator(self, door: str) -> AsyncIterator[Groundhog]:
        """A client of whoever runs the gateway."""
        async with connected(self.url(door), self.gateway.operator_token) as client:
            yield client

    def bad(self) -> dict[str, str | None]:
        """Credentials of other kinds that let nobody in: there are none here."""
        return {}

    def records(self, audit_id: str) -> list[dict[str, Any]]:
        """What the record has under an audit id, as `audit show` would find it."""
        reader = AuditReader(self.gateway.folder / "state")
        return list(reader.query(Query(trace_id=audit_id, newest_first=False)))

    def events(self) -> list[dict[str, Any]]:
        """What its file sink has."""
        path = self.gateway.folder / "state" / "groundhog.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]


def content(root: Path, transport: str, **more: Any) -> dict[str, Any]:
    """The configuration of one gateway."""
    limits = {
        f"{who}_requests_per_{span}": 100_000
        for who in ("global", "user", "tool")
        for span in ("second", "minute")
    }
    protocol: dict[str, Any] = {
        "transport": {"type": transport, "port": 0},
        "rate_limits": limits,
        "security": {"max_concurrent_sessions": 1000},
        "audit": {"sinks": {"file_sink": True, "file_path": "groundhog.jsonl"}},
    }
    protocol |= more
    echo = server(
        "echo",
        mgp={"trust_level": "sandboxed"},
        isolation="none",  # this trust level has it isolated, which not every machine can
        tools={"echo": {"categories": ["text"], "risk_level": "safe"}},
    )
    writer = server(
        "echo", "writer", tools={"echo": {"permissions_required": ["filesystem.write"]}}
    )
    guarded = server(
        "echo",
        "guarded",
        tools={
            "echo": {
                "validator": "paths",
                "validator_args": ["/message"],
                "redaction": "personal",
            }
        },
    )
    everybody = {"agent": "*", "server": "gatewright", "permissions": ["filesystem.read"]}
    return config(
        echo,
        writer,
        guarded,
        grants=[
            everybody,
            {"agent": "*", "server": "echo"},
            {"agent": SHUT_OUT, "server": "echo", "permission": "deny"},
            {"agent": "*", "server": "writer"},
            {"agent": "*", "server": "guarded"},
        ],
        gateway={"anonymous": "deny"},
        redaction={"terms": [TERM], "hidden": "remove"},
        builtin={"directory_list": {"roots": [str(root)]}},
        mcp={"protocol": protocol},
    )


@contextmanager
def houses(folder: Path) -> Iterator[dict[str, GroundhogHouse]]:
    """Door → the gateway behind it. They start at the same time."""
    with contextlib.ExitStack() as stack, ThreadPoolExecutor() as threads:

        def start(transport: str) -> tuple[str, GroundhogHouse]:
            root = tree(folder / transport / "tree")
            gateway = running(folder / transport, content(root, transport))
            return transport, GroundhogHouse(stack.enter_context(gateway), root)

        found = dict(threads.map(start, ("websocket", "http", "tcp")))
        found["main websocket"] = found["websocket"]
        yield found
