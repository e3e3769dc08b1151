"""Two gateways of one configuration, one of which prepares no calls, and callers who say the same to both: what they hear and what is recorded must be equal."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_VERSION,
)
from gatewright.patterns import Pattern
from gatewright.prepared import Mode, PreparedCalls
from tests import prepared_shadow  # noqa: F401 - makes itself known to whoever is shadowed
from tests.prepared_house import PreparedHouse, RawClient, prepared_house, told

__all__ = ["CALLERS", "MODERN", "Caller", "Clock", "Gateway", "Heard", "Twins", "full", "twins"]

MODERN = "2026-07-28"
CALLERS = {"anna": "2025-06-18", "ben": "2025-11-25", "carl": MODERN, "dora": "2025-06-18"}
"""Who calls, and what he speaks."""
OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "access_control", "lifecycle"]}}
_IDS = Pattern(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}"
    r"|term:[0-9a-f]{6}|ap_[0-9a-f]{16}"
)
_OWN = frozenset({"id", "time", "trace_id", "call", "session", "hash", "prev", "seq"})
_OF_A_RUN = frozenset({"duration_ms", "session", "trace_id", "pid", "path", "approval", "key"})


class Clock:
    """The wall clock and the one by which calls are counted: both stand still until somebody moves them."""

    def __init__(self) -> None:
        self.now = 1_900_000_000.0

    def forward(self, seconds: float) -> None:
        """Let time go by."""
        self.now += seconds

    def seconds(self) -> float:
        """As `time.time` says it."""
        return self.now

    def nanos(self) -> int:
        """As `time.monotonic_ns` says it."""
        return int(self.now * 1e9)

    @contextmanager
    def instead(self) -> Iterator[None]:
        """In place of the machine's, for whatever is made inside."""
        nanos = mock.patch.object(time, "monotonic_ns", self.nanos)
        with mock.patch.object(time, "time", self.seconds), nanos:
            yield


class Caller(RawClient):
    """One connection of one session, or of a client that has none."""

    def __init__(self, port: int, key: str, revision: str) -> None:
        super().__init__(port, key, revision)
        self.modern = revision == MODERN

    async def open(self, **capabilities: Any) -> RawClient:
        """Say hello, where that is done."""
        if not self.modern:
            return await super().open(**capabilities)
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    def send(self, message: dict[str, Any]) -> None:
        """Send a message, and wait for nothing."""
        self.writer.write(self.spelled(message))

    def spelled(self, message: dict[str, Any]) -> bytes:
        """The whole request."""
        head = []
        if self.modern:
            params = message.get("params", {})
            meta = {
                META_VERSION: MODERN,
                META_CLIENT_INFO: {"name": "twin", "version": "1"},
                META_CLIENT_CAPABILITIES: {},
            }
            message = {**message, "params": {**params, "_meta": meta}}
            head = [f"MCP-Protocol-Version: {MODERN}", f"Mcp-Method: {message['method']}"]
            head += [f"Mcp-Name: {params['name']}"] if "name" in params else []
        elif self._session:
            head = [f"MCP-Session-Id: {self._session}", f"MCP-Protocol-Version: {self._revision}"]
        return self.raw("POST", json.dumps({"jsonrpc": "2.0", **message}).encode(), head)

    def raw(self, verb: str, body: bytes, head: list[str]) -> bytes:
        """A request with these headers of MCP."""
        lines = [
            f"{verb} /mcp HTTP/1.1",
            "Host: 127.0.0.1",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            *([f"Authorization: Bearer {self._key}"] if self._key else []),
            *head,
            f"Content-Length: {len(body)}",
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    async def beside(self) -> Caller:
        """Another connection of the same session."""
        other = Caller(self._port, self._key, self._revision)
        other._session = self._session
        other.reader, other.writer = await asyncio.open_connection("127.0.0.1", self._port)
        return other

    def leave(self) -> None:
        """End the session."""
        self.writer.write(self.raw("DELETE", b"", [f"MCP-Session-Id: {self._session}"]))


class Heard:
    """One answer: what is the same whoever gives it, and what it says in a word."""

    def __init__(self, headers: dict[str, str], body: bytes, folder: Path) -> None:
        self.says, self.is_stream = headers["status"], body[:1] not in {b"{", b""}
        message = body
        if self.is_stream:
            lines = [line[5:].strip() for line in body.splitlines() if line[:5] == b"data:"]
            message = next(one for one in reversed(lines) if one)
        left = {"date", "mcp-session-id"}
        self.same = self.says, _plain(message).replace(str(folder), "FOLDER")
        self.head = {name: said for name, said in headers.items() if name not in left}
        if self.says == "200":
            try:
                self.says = _IDS.sub("ID", told(json.loads(message)))
            except (KeyError, IndexError, TypeError):  # a result without a text
                self.says = self.same[1]


def _plain(body: bytes) -> str:
    return _IDS.sub("ID", body.decode())


class Gateway:
    """One of the two."""

    def __init__(self, house: PreparedHouse, folder: Path) -> None:
        self.house, self.folder, self.gateway = house, folder, house.gateway
        self.records: list[bytes] = []
        self.gateway.audit.heard.listen(self.records.append)
        self.callers: dict[str, Caller] = {}
        self.keys: dict[str, str] = {}

    def gate(self, name: str) -> Any:
        """One of those in force."""
        gates: Any = self.gateway.kernel.policy.gates
        return next(one for one in gates if one.name == name)

    async def hears(self, caller: Caller) -> Heard:
        """The next answer to a caller."""
        return Heard(*await caller.receive(), self.folder)

    async def arrives(self, name: str) -> None:
        """A caller with a fresh key."""
        made, secret = self.gateway.callers.create(name, by="test")
        self.keys[name] = made.id
        await self.begins(name, secret)

    async def begins(self, name: str, secret: str) -> None:
        """A session of his."""
        caller = self.callers[name] = Caller(self.house.port, secret, CALLERS[name])
        await caller.open()

    async def operates(self) -> None:
        """The operator is there."""
        token = self.gateway._tokens["operator"]
        self.operator = Caller(self.house.port, token, "2025-11-25")
        await self.operator.open(**OFFER)

    def taken(self) -> list[str]:
        """What was recorded of calls since this was asked, without what is different in each run."""
        found, self.records[:] = [json.loads(one) for one in self.records], []
        return sorted(_comparable(one) for one in found if "call" in one)


def _comparable(record: dict[str, Any]) -> str:
    said = {name: one for name, one in record.items() if name not in _OWN}
    said["actor"] = {**said["actor"], "key_id": ""}
    details = said.get("details")
    if isinstance(details, dict):
        said["details"] = {name: one for name, one in details.items() if name not in _OF_A_RUN}
    return _IDS.sub("ID", json.dumps(said, sort_keys=True))


def _same(one: Any, other: Any) -> Any:
    """What both say. Raises `AssertionError` that names both where they differ."""
    if one != other:
        raise AssertionError(f"prepared: {one!r}\nwalked: {other!r}")
    return one


def _apart(one: Counter[str], other: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    return one - other, other - one


class Twins:
    """Both of them. What is asked of them is asked of both, and they must agree."""

    def __init__(self, prepares: Gateway, walks: Gateway) -> None:
        self.both = prepares, walks
        self.prepares = prepares

    async def each(self, does: Callable[[Gateway], Coroutine[Any, Any, Any]]) -> list[Any]:
        """The same with both, one after the other."""
        return [await does(one) for one in self.both]

    async def agree(self, does: Callable[[Gateway], Coroutine[Any, Any, Any]]) -> Any:
        """The same with both, who must answer alike."""
        one, other = await self.each(does)
        return _same(one, other)

    async def hears(self, send: Callable[[Gateway], Caller]) -> str:
        """What both answer to one request, in a word."""

        async def asked(gateway: Gateway) -> Heard:
            return await gateway.hears(send(gateway))

        one, other = await self.each(asked)
        _same(one.same, other.same)
        if not (one.is_stream or other.is_stream):  # which a call becomes that takes long
            _same(one.head, other.head)
        said: str = one.says
        return said

    async def orders(self, method: str, **params: Any) -> Any:
        """What the operator is answered: the order holds from then on."""

        async def asked(gateway: Gateway) -> Any:
            said = await gateway.operator.ask(method, params, 1)
            assert "result" in said, said
            return None

        await self.each(asked)

    def recorded(self) -> list[str]:
        """What both have recorded since this was asked: the same."""
        one, other = (each.taken() for each in self.both)
        # Each as often: a call that is recorded twice in place of another is no less a difference.
        _same(*(sorted(found.elements()) for found in _apart(Counter(one), Counter(other))))
        return one


@asynccontextmanager
async def twins(folder: Path, mode: Mode = "on", **tables: Any) -> AsyncIterator[Twins]:
    """Two that serve. The first does with prepared calls as `mode` says, from the first call of a kind on."""
    modes: tuple[tuple[str, Mode], ...] = ("one", mode), ("two", "off")
    made: list[Gateway] = []
    async with AsyncExitStack() as stack:
        for name, how in modes:  # names of equal length, since answers name the folders
            place = folder / name
            place.mkdir()
            after = mock.patch.object(PreparedCalls, "after", 1)
            with after, mock.patch.object(PreparedCalls, "mode", how):
                house = await stack.enter_async_context(prepared_house(place, **tables))
            house.prepared.mode, house.prepared.after = how, 1
            made.append(Gateway(house, place))
        for one in made:
            await one.operates()
            for who in CALLERS:
                await one.arrives(who)
        yield Twins(*made)
        for one in made:
            for caller in (*one.callers.values(), one.operator):
                caller.close()


def full(gateway: Gateway) -> Callable[[], None]:
    """Let its record be written to a disk that is full; returns what makes room again."""
    journal: Any = gateway.gateway.audit._journal
    file, disk = journal._file, os.open("/dev/full", os.O_WRONLY)
    journal._file = disk

    def room() -> None:
        journal._file = file
        os.close(disk)

    return room
