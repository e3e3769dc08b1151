"""A host on pipes and a gateway on a WebSocket, for tests of the bridge between them."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, TypeVar

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from tests.cli.shell import DEADLINE_S, Shell

T = TypeVar("T")
Handler = Callable[[ServerConnection], Awaitable[None]]


async def within(work: Awaitable[T]) -> T:
    """What comes of `work`, which must not take long."""
    return await asyncio.wait_for(work, DEADLINE_S)


def ask(ident: Any, method: str = "tools/call", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}


class Gateway:
    """A WebSocket server whose frames the test reads and writes."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.connections: asyncio.Queue[ServerConnection] = asyncio.Queue()
        self.requests: list[Request] = []
        self.refusal: HTTPStatus | None = None
        self._server: Server | None = None
        self._over = asyncio.Event()

    async def start(self, port: int = 0) -> None:
        """Listen, and say so in `gateway.json`."""
        self._over.clear()
        self._server = await serve(
            self._serve,
            "127.0.0.1",
            port,
            subprotocols=[Subprotocol("mcp")],
            process_request=self._admit,
            max_size=None,
        )
        self.port: int = next(iter(self._server.sockets)).getsockname()[1]
        self.shell.state.mkdir(parents=True, exist_ok=True)
        running = {
            "url": f"http://127.0.0.1:{self.port}/mcp",
            "pid": os.getpid(),
            "operator_token": "operator-token",
            "local_token": f"local-token-{self.port}",
            "version": "0.1.0",
        }
        (self.shell.state / "gateway.json").write_text(json.dumps(running))

    async def stop(self) -> None:
        """Fall, with every connection."""
        self._over.set()
        assert self._server is not None
        self._server.close()
        await within(self._server.wait_closed())

    async def accepted(self) -> ServerConnection:
        """The next connection."""
        return await within(self.connections.get())

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        self.requests.append(request)
        if self.refusal is not None:
            return connection.respond(self.refusal, "no\n")
        return None

    async def _serve(self, connection: ServerConnection) -> None:
        self.connections.put_nowait(connection)
        waiting = [
            asyncio.create_task(self._over.wait()),
            asyncio.create_task(connection.wait_closed()),
        ]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()


class Host:
    """The bridge's process, and its pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.stdin, self.stdout, self.stderr = process.stdin, process.stdout, process.stderr

    async def say(self, *lines: bytes | dict[str, Any]) -> None:
        """Write lines."""
        for line in lines:
            text = line if isinstance(line, bytes) else json.dumps(line).encode()
            self.stdin.write(text + b"\n")
        await within(self.stdin.drain())

    async def line(self) -> bytes:
        """The next line of the bridge."""
        return (await within(self.stdout.readline())).removesuffix(b"\n")

    async def message(self) -> Any:
        """The next line, decoded."""
        return json.loads(await self.line())

    async def notes(self, text: str) -> None:
        """Wait until the bridge has said so on standard error."""
        while text.encode() not in (line := await within(self.stderr.readline())):
            assert line, f"the bridge ended without saying {text!r}"

    async def leave(self) -> int:
        """Close standard input and wait for the bridge's end."""
        self.stdin.close()
        return await within(self.process.wait())


@asynccontextmanager
async def bridged(shell: Shell, *arguments: str) -> AsyncIterator[Host]:
    process = await asyncio.create_subprocess_exec(
        *shell.command("bridge", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=shell.environ(),
        cwd=shell.folder,
        limit=1 << 28,
    )
    host = Host(process)
    try:
        yield host
    finally:
        if process.returncode is None:
            process.kill()
        await within(process.communicate())


async def open_session(host: Host, connection: ServerConnection) -> None:
    """A session of a handshake revision."""
    await host.say(ask(0, "initialize", protocolVersion="2025-11-25"))
    assert json.loads(await within(connection.recv()))["method"] == "initialize"
    await connection.send('{"jsonrpc":"2.0","id":0,"result":{}}')
    assert await host.message() == {"jsonrpc": "2.0", "id": 0, "result": {}}
    await host.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert json.loads(await within(connection.recv()))["method"] == "notifications/initialized"
