"""MCP handshake over Streamable HTTP: settles revision and session, waits for MGP permissions; `FellBack` where the URL does not speak it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from gatewright.mcp.client.http_link import DRAIN_S, HttpLink
from gatewright.mcp.client.http_rules import SESSION, error_in
from gatewright.mcp.client.link import LinkClosed, ServerFailed
from gatewright.mcp.protocol.mcp_client import (
    INITIALIZED,
    Ask,
    Failed,
    Fallback,
    Handshake,
    Hello,
    Step,
)
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import request_headers
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.versions import is_modern, revision
from gatewright.transport.http_client import Posted
from gatewright.web.redirects import redirect_said

__all__ = ["FellBack", "greet"]


class FellBack(ServerFailed):
    """The URL does not speak Streamable HTTP."""


async def greet(link: HttpLink, handshake: Handshake) -> None:
    """Say hello and set the link's hello, session and revision.

    Raises `FellBack`, `LinkClosed` or `UpstreamError`. The time that all this may take is the
    caller's to bound.
    """
    step: Step = handshake.start()
    while isinstance(step, Ask):
        step = await _ask(link, handshake, step)
    if isinstance(step, Fallback):
        raise FellBack("the URL does not speak Streamable HTTP")
    if isinstance(step, Failed):
        raise LinkClosed(step.reason)
    await _settle(link, step)


async def _ask(link: HttpLink, handshake: Handshake, ask: Ask) -> Step:
    answer = _Answer(link, ask)
    posted = await answer.wait()
    if posted is not None and posted.body is not None:
        if not 200 <= posted.status < 300:
            away = redirect_said(link.spec.url, posted.status, posted.headers)
            if away:
                return Failed(f"the server {away}")
            return handshake.refused(posted.status, error_in(posted.body))
        answer.arrived(posted.body)
    if not answer.found.done():
        return Failed(
            f"the server answered {ask.method} with nothing that is an answer{answer.but}"
        )
    step = handshake.answered(answer.found.result())
    return step or Failed(f"the server answered {ask.method} out of turn")


class _Answer:
    """The answer to one question of the handshake, in a body or on a stream."""

    def __init__(self, link: HttpLink, ask: Ask) -> None:
        self._link = link
        self._ask = ask
        self.but = ""
        """What is to be said besides where nothing was found."""
        self.found: asyncio.Future[jsonrpc.Response] = asyncio.get_running_loop().create_future()

    async def wait(self) -> Posted | None:
        """What was posted, or None where a stream went on after the answer."""
        ask = self._ask
        headers = {}
        if is_modern(ask.revision):
            headers = request_headers(ask.method, ask.params, {}, ask.revision)
        body = jsonrpc.request(b"%d" % ask.ident, ask.method, ask.params)
        asking = asyncio.ensure_future(
            self._link.wire.post(body, headers, self.arrived, self._opened)
        )
        both: list[asyncio.Future[Any]] = [asking, self.found]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            # Behind the answer a server may keep its stream open for ever.
            await asyncio.wait([asking], timeout=DRAIN_S if self.found.done() else None)
            return asking.result() if asking.done() else None
        finally:
            asking.cancel()

    def arrived(self, data: bytes) -> None:
        """Take one message. What else comes this early is dropped, and so is what is long: no hello is, and it may come as often as
        a server likes."""
        if len(data) > DECODED_BYTES:
            self.but = f"; what has more than {DECODED_BYTES} bytes is not read"
            return
        message = jsonrpc.parse(data)
        ours = isinstance(message, jsonrpc.Response) and message.id == b"%d" % self._ask.ident
        if ours and not self.found.done():
            self.found.set_result(message)  # type: ignore[arg-type]

    def _opened(self, status: int, headers: Mapping[str, str]) -> None:
        # A session that comes with a refusal is none.
        if self._ask.method == "initialize" and status < 300:
            self._link.wire.session = headers.get(SESSION)


async def _settle(link: HttpLink, hello: Hello) -> None:
    if not hello.modern and revision(hello.revision).version_header:
        link.wire.revision = hello.revision
    link.hello = hello
    if link.admits is not None:
        await link.admits.admit(link)
    if not hello.modern:
        await link.wire.post(INITIALIZED, {}, lambda _: None)
