"""The wire of the test servers: JSON-RPC over stdin and stdout, without any library.

A server here is one function from a `Call` to a result. What it returns is sent as JSON; a `Raw`
goes out character by character, so that a server can say things that no JSON writer would say.
Calls run side by side; a cancelled one is cancelled as a task and never answered.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # who answers line by line starts without it
    import asyncio

__all__ = [
    "LEGACY",
    "Call",
    "Client",
    "Raw",
    "RefusalError",
    "encode",
    "hello",
    "member",
    "serve_stdio",
]

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LINE_LIMIT = 128 * 1024 * 1024

Send = Callable[[str], Awaitable[None]]
_DECODER = json.JSONDecoder()


class Raw(str):
    """JSON text that must not be touched on its way out."""

    __slots__ = ()


class RefusalError(Exception):
    """A JSON-RPC error; `data` may be a `Raw`."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def encode(value: Any) -> str:
    """JSON without blanks; a `Raw` as it is."""
    if isinstance(value, Raw):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def member(text: str, name: str) -> str | None:
    """The exact text of one member of the JSON object in `text`, None when it has none.

    Numbers, blanks and escapes inside the value stay as they were written.
    """
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        if key == name:
            return text[start:end]
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return None


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


class Call:
    """One request or notification (`id` is None) from a client."""

    # No dataclass: to import those costs a server as much as all else that it is.
    def __init__(
        self,
        client: Client,
        method: str,
        params: dict[str, Any],
        text: str,
        id: Any,
        send: Send,
        headers: dict[str, str] | None = None,
    ) -> None:
        """`text` is the params exactly as they came, "" when there were none; `send` leads to the stream on which the answer
        of this call will go."""
        self.client, self.method, self.params, self.text = client, method, params, text
        self.id, self.send, self.headers = id, send, headers or {}

    async def notify(self, method: str, params: Any) -> None:
        """Tell the client something that belongs to this call."""
        await self.send(f'{{"jsonrpc":"2.0","method":{encode(method)},"params":{encode(params)}}}')

    async def ask(self, method: str, params: Any) -> Any:
        """The client's result; RefusalError when it answers with an error."""
        return await self.client.ask(method, params, self.send)

    async def progress(self, so_far: float, total: float, message: str | None = None) -> None:
        """Report progress, if this call asked for it."""
        token = (self.params.get("_meta") or {}).get("progressToken")
        if token is not None:
            body = {"progressToken": token, "progress": so_far, "total": total}
            await self.notify(
                "notifications/progress", body if message is None else {**body, "message": message}
            )


App = Callable[[Call], Awaitable[Any]]


class Client:
    """One client: a pipe, a session, or a single exchange in the stateless era."""

    def __init__(self, app: App, send: Send) -> None:
        self.app = app
        self.send = send  # for what belongs to no call
        self.facts: dict[str, Any] = {}
        self.cancelled: list[Any] = []
        self.gone = False
        self._running: dict[Any, asyncio.Task[None]] = {}
        self._waiting: dict[Any, asyncio.Future[Any]] = {}
        self._ids = itertools.count(1)

    async def notify(self, method: str, params: Any) -> None:
        """Tell the client something that belongs to no call."""
        await self.send(f'{{"jsonrpc":"2.0","method":{encode(method)},"params":{encode(params)}}}')

    async def ask(self, method: str, params: Any, send: Send) -> Any:
        """Ask the client over `send` and wait for its answer."""
        import asyncio  # noqa: PLC0415

        key = f"s{next(self._ids)}"
        future = asyncio.get_running_loop().create_future()
        self._waiting[key] = future
        body = "" if params is None else f',"params":{encode(params)}'
        try:
            await send(f'{{"jsonrpc":"2.0","id":"{key}","method":{encode(method)}{body}}}')
            return await future
        finally:
            del self._waiting[key]

    async def take(
        self, raw: bytes | str, send: Send, headers: dict[str, str] | None = None
    ) -> asyncio.Task[None] | None:
        """Act on one message; for a request the task that will answer it over `send`."""
        import asyncio  # noqa: PLC0415

        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        try:
            message = json.loads(text)
        except ValueError:
            await send(_failure(None, RefusalError(-32700, "That was not JSON")))
            return None
        if not isinstance(message, dict):
            await send(_failure(None, RefusalError(-32600, "One message at a time")))
            return None
        if "method" not in message:
            self._answered(message)
            return None
        call = Call(
            self,
            message["method"],
            message.get("params") or {},
            member(text, "params") or "",
            message.get("id"),
            send,
            headers,
        )
        if "id" not in message:
            await self._noticed(call)
            return None
        task = asyncio.create_task(self._answer(call))
        self._running[call.id] = task
        task.add_done_callback(lambda _: self._running.pop(call.id, None))
        await asyncio.sleep(0)  # let it begin: what comes next may cancel it
        return task

    def hang_up(self) -> None:
        """Cancel all that runs for this client."""
        self.gone = True
        for task in list(self._running.values()):
            task.cancel()

    async def _noticed(self, call: Call) -> None:
        if call.method == "notifications/cancelled":
            key = call.params.get("requestId")
            self.cancelled.append(key)
            if key in self._running:
                self._running[key].cancel()
        await self.app(call)

    def _answered(self, message: dict[str, Any]) -> None:
        future = self._waiting.get(message.get("id"))
        if future is None or future.done():
            return
        if "error" in message:
            error = message["error"]
            future.set_exception(RefusalError(error["code"], error["message"], error.get("data")))
        else:
            future.set_result(message.get("result"))

    async def _answer(self, call: Call) -> None:
        try:
            result = await self.app(call)
        except RefusalError as refusal:
            await call.send(_failure(call.id, refusal))
        else:
            await call.send(f'{{"jsonrpc":"2.0","id":{encode(call.id)},"result":{encode(result)}}}')


def _failure(key: Any, refusal: RefusalError) -> str:
    data = "" if refusal.data is None else f',"data":{encode(refusal.data)}'
    error = f'{{"code":{refusal.code},"message":{encode(refusal.message)}{data}}}'
    return f'{{"jsonrpc":"2.0","id":{encode(key)},"error":{error}}}'


def hello(call: Call, name: str, capabilities: Any, **more: Any) -> dict[str, Any]:
    """The result of `initialize`: the version that was asked for, or the newest known one."""
    asked = call.params.get("protocolVersion")
    version = asked if asked in LEGACY else LEGACY[-1]
    call.client.facts["version"] = version
    call.client.facts["capabilities"] = call.params.get("capabilities") or {}
    return {
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": {"name": name, "version": "1.0.0"},
        **more,
    }


async def _stdio(app: App) -> None:
    import asyncio  # noqa: PLC0415

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def send(text: str) -> None:
        # Written in one go and blocking: two answers never mix, and order is the order of sends.
        data = memoryview(text.encode("utf-8") + b"\n")
        while data:
            data = data[os.write(1, data) :]

    client = Client(app, send)
    while line := await reader.readline():
        await client.take(line, send)
    client.hang_up()


def serve_stdio(app: App) -> int:
    """Serve stdin and stdout until stdin ends; the exit status."""
    import asyncio  # noqa: PLC0415

    try:
        asyncio.run(_stdio(app))
    except (BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        return 1
    return 0
