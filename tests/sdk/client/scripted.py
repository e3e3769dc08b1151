"""A server in this process whose answers the test writes, and who counts and times what arrives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from gatewright.transport.base import Closed, Pipe, Receiver
from gatewright.transport.memory import MemoryPipe, pair

__all__ = ["MGP", "SECONDS", "Clock", "Scripted", "broken", "text", "within"]

SECONDS = 20.0
MGP = {"version": "0.2.0", "extensions": ["security", "audit"]}

Handler = Callable[[dict[str, Any]], Any]


async def within(waiting: Any) -> Any:
    """What is waited for, with the deadline that every wait has."""
    async with asyncio.timeout(SECONDS):
        return await waiting


def text(said: str, **more: Any) -> dict[str, Any]:
    """A tool's result with one text block."""
    return {"content": [{"type": "text", "text": said}], **more}


class Failing(Exception):  # noqa: N818 - what the handler does
    """What a handler raises to answer with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error


def broken(code: int, message: str = "no", **mgp: Any) -> Failing:
    """An error with MGP's recovery object, where any member of it is given."""
    error: dict[str, Any] = {"code": code, "message": message}
    if mgp:
        error["data"] = {"_mgp": mgp}
    return Failing(error)


class Clock:
    """Time by hand: sleeping takes none, and is written down."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Note how long."""
        self.slept.append(seconds)


class Scripted:
    """A legacy server (`InMemory`). `on[method]` answers: a dict, a function of the params, or one that raises."""

    def __init__(self, mgp: dict[str, Any] | None = None, place: str = "mgp", **on: Any) -> None:
        self.on: dict[str, Any] = {name.replace("_", "/", 1): one for name, one in on.items()}
        self.seen: list[dict[str, Any]] = []
        self.hellos = 0
        self.pipe: MemoryPipe | None = None
        self.replies: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._mgp = mgp
        self._place = place
        self._news = asyncio.Event()

    def attach(self, receiver: Receiver) -> Pipe:
        """A new connection."""
        theirs, ours = pair(receiver, self)
        self.pipe = ours
        return theirs

    def closed(self, reason: str) -> None:
        """The client left (`Receiver`)."""
        self.pipe = None

    def message(self, data: bytes) -> None:
        """Take one message (`Receiver`)."""
        message = json.loads(data)
        self.seen.append(message)
        self._news.set()
        if "method" not in message:
            self.replies.put_nowait(message)
        elif "id" in message:
            self._answer(message)

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until what has arrived makes a condition true."""
        async with asyncio.timeout(SECONDS):
            while not true():
                self._news.clear()
                await self._news.wait()

    def params(self, method: str) -> list[dict[str, Any]]:
        """The params of all messages of one method."""
        return [one.get("params", {}) for one in self.seen if one.get("method") == method]

    def say(self, method: str, params: dict[str, Any], ident: Any = None) -> None:
        """A notification, or a request with this id."""
        frame = {"jsonrpc": "2.0", "method": method, "params": params}
        self.send(frame if ident is None else {**frame, "id": ident})

    def send(self, frame: dict[str, Any]) -> None:
        """Any frame; lost where nobody is connected."""
        if self.pipe is not None:
            try:
                self.pipe.send(json.dumps(frame).encode())
            except Closed:
                self.pipe = None

    def _answer(self, message: dict[str, Any]) -> None:
        head = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            result = self._result(message["method"], message.get("params", {}))
        except Failing as failing:
            self.send({**head, "error": failing.error})
            return
        if result is not None:
            self.send({**head, "result": result})

    def _result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            self.hellos += 1
            return self._hello(params)
        found = self.on.get(method)
        if found is None:
            raise broken(-32601, f"no method {method}")
        return found(params) if callable(found) else found

    def _hello(self, params: dict[str, Any]) -> dict[str, Any]:
        capabilities: dict[str, Any] = {"tools": {}, "logging": {}}
        if self._mgp is not None:
            key = "dev.cloto/mgp" if self._place == "extensions" else "mgp"
            capabilities |= (
                {"mgp": self._mgp} if self._place == "mgp" else {self._place: {key: self._mgp}}
            )
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": capabilities,
            "serverInfo": {"name": "scripted", "version": "1"},
        }
