"""HTTP servers that say exactly what they are told to, byte by byte."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Self

import pytest

from gatewright.transport.http_client import HttpUpstream
from tests.transport.collecting import within

__all__ = [
    "Reach",
    "ScriptedServer",
    "Turn",
    "answering",
    "event_stream",
    "free_port",
    "json_answer",
    "nothing",
]

Reach = Callable[..., HttpUpstream]


class Turn:
    """One request as the server sees it, and what it may answer."""

    def __init__(
        self,
        number: int,
        head: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.number = number
        self.head = head
        self.body = b""
        self.reader = reader
        self.writer = writer

    def header(self, name: str) -> str | None:
        """A header of the request; `name` in lower case."""
        for line in self.head.decode("latin-1").split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name:
                return value.strip()
        return None

    async def say(self, *pieces: bytes) -> None:
        """Write these bytes, one after the other."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def gone(self) -> None:
        """Wait until the client closes the connection."""
        await self.reader.read()
        raise ConnectionError

    def reset(self) -> None:
        """Cut the connection off without a goodbye."""
        self.writer.transport.abort()


Script = Callable[[Turn], Awaitable[None]]


class ScriptedServer:
    """Reads whole requests and lets `script` answer each; `number` counts those of one connection from 1."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._server: asyncio.Server
        self._tasks: set[asyncio.Task[None]] = set()
        self.turns: list[Turn] = []
        self.lost = asyncio.Event()
        """Set whenever a client closed its connection."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await within(asyncio.gather(*self._tasks, return_exceptions=True))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        number = 0
        try:
            while True:
                number += 1
                head = await reader.readuntil(b"\r\n\r\n")
                turn = Turn(number, head, reader, writer)
                turn.body = await reader.readexactly(int(turn.header("content-length") or 0))
                self.turns.append(turn)
                await self._script(turn)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.lost.set()
        except asyncio.CancelledError:
            return  # asyncio's streams would report it as an error
        finally:
            writer.transport.abort()


def json_answer(body: bytes, status: bytes = b"200 OK", *more: bytes) -> bytes:
    """A whole JSON response."""
    head = b"HTTP/1.1 " + status + b"\r\ncontent-type: application/json; charset=utf-8\r\n"
    return head + b"".join(more) + b"content-length: %d\r\n\r\n" % len(body) + body


def event_stream(*chunks: bytes, end: bool = True, status: bytes = b"200 OK") -> bytes:
    """The head of an event stream and some of it."""
    head = (
        b"HTTP/1.1 " + status + b"\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
        b"mcp-session-id: s1\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head + body + (b"0\r\n\r\n" if end else b"")


def answering(*answers: bytes) -> ScriptedServer:
    """A server that gives these answers, the last one again and again."""
    left = list(answers)

    async def script(turn: Turn) -> None:
        await turn.say(left.pop(0) if len(left) > 1 else left[0])

    return ScriptedServer(script)


def nothing(message: bytes) -> None:
    """A taker of messages where none may come."""
    pytest.fail(f"no message was expected: {message!r}")


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
