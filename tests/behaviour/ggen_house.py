"""ggen's clients, and a gateway in front of a server that offers the tool of its specification."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from gatewright.identity.keys import KeyStore
from tests.behaviour.gateway import Gateway, config, running, server
from tests.storage.parts import state_in

__all__ = ["DEADLINE", "Client", "Firm", "chunks", "firm_running"]

DEADLINE = 30.0


_TWICE = {"repeatable": True}
"""ggen calls a crash and a timeout retryable; a gateway announces that where its operator vouches for the tool."""


class Firm(NamedTuple):
    """A gateway where `analyst` may use everything, `clerk` one tool, `nobody` nothing."""

    gateway: Gateway
    keys: dict[str, str]


@contextmanager
def firm_running(folder: Path) -> Iterator[Firm]:
    """One, until the block ends."""
    content = config(
        server("finance", call_timeout_s=1.5, tools={"Crash": _TWICE, "Slow": _TWICE}),
        gateway={"unprefixed": True, "anonymous": "deny"},
        grants=[
            {"agent": "analyst", "server": "finance"},
            {"agent": "clerk", "server": "finance", "tool": "Report"},
        ],
    )
    with running(folder, content) as gateway:
        callers = KeyStore(state_in(folder / "state"), clock=time.time, random=os.urandom)
        try:
            names = ("analyst", "clerk", "nobody")
            keys = {name: callers.create(name, by="test")[1] for name in names}
        finally:
            callers.close()
        yield Firm(gateway, keys)


class Client:
    """A client in ggen's manner: JSON in, JSON out."""

    def __init__(self, gateway: Gateway, kind: str, key: str | None) -> None:
        self.kind = kind
        self.url = gateway.urls["rpc"]
        self.headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self.status = 0

    async def __aenter__(self) -> Client:
        self.http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=DEADLINE))
        if self.kind == "websocket":
            self.socket = await self.http.ws_connect(
                self.url.replace("http", "ws", 1), headers=self.headers, max_msg_size=0
            )
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.http.close()

    async def send(self, body: str) -> Any:
        """The answer to a text."""
        if self.kind == "websocket":
            await self.socket.send_str(body)
            return await self.socket.receive_json(timeout=DEADLINE)
        headers = {"content-type": "application/json", **self.headers}
        async with self.http.post(self.url, data=body, headers=headers) as answer:
            self.status = answer.status
            return await answer.json()

    async def ask(self, method: str, params: Any = None, **more: Any) -> Any:
        """The answer to a request."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}, **more}
        return await self.send(json.dumps(body))

    async def call(self, name: str, **arguments: Any) -> Any:
        """The answer to a tool call."""
        return await self.ask("tools/call", {"name": name, "arguments": arguments})


async def chunks(answer: aiohttp.ClientResponse) -> list[int]:
    """The lengths of the chunks in which a body was sent, however many reads each of them took here."""
    found, length = [], 0
    async for piece, ended in answer.content.iter_chunks():
        length += len(piece)
        if ended:
            found.append(length)
            length = 0
    assert length == 0
    return found
