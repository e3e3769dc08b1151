"""Saying hello over HTTP: which answers to a POST mean what, until the era of the server is known."""

from __future__ import annotations

from gatewright.protocol.mcp_client import (
    INITIALIZED,
    Ask,
    Failed,
    Fallback,
    Handshake,
    Hello,
    Step,
)
from gatewright.upstream.http_link import HttpLink
from gatewright.upstream.http_rules import SESSION, error_in, is_stream
from gatewright.upstream.http_wire import HttpAnswer
from gatewright.upstream.link import LinkClosed, UpstreamFailed
from gatewright.wire import jsonrpc
from gatewright.wire.mcp import request_headers
from gatewright.wire.versions import is_modern, revision

__all__ = ["FellBack", "greet"]


class FellBack(UpstreamFailed):
    """The URL does not speak Streamable HTTP."""


async def greet(link: HttpLink, handshake: Handshake) -> None:
    """Say hello and set the link's hello, session and revision.

    Raises `FellBack`, `LinkClosed`, `NotSent` or `Broken`. The time that all this may take is the
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
    headers = {}
    if is_modern(ask.revision):
        headers = request_headers(ask.method, ask.params, {}, ask.revision)
    body = jsonrpc.request(b"%d" % ask.ident, ask.method, ask.params)
    answer = await link.wire.post(body, headers)
    try:
        if not 200 <= answer.status < 300:
            return handshake.refused(answer.status, error_in(await answer.read()))
        if ask.method == "initialize":
            link.wire.session = answer.headers.get(SESSION)
        response = await _response(answer, ask)
    finally:
        answer.close()
    if response is None:
        return Failed(f"the server answered {ask.method} with nothing that is an answer")
    return handshake.answered(response) or Failed(f"the server answered {ask.method} out of turn")


async def _response(answer: HttpAnswer, ask: Ask) -> jsonrpc.Response | None:
    """The answer to our question, in a body or on a stream. What else comes this early is dropped."""
    if not is_stream(answer.headers):
        return _answer(await answer.read(), ask)
    async for event in answer.events():
        found = _answer(event.data, ask)
        if found is not None:
            return found
    return None


def _answer(data: bytes, ask: Ask) -> jsonrpc.Response | None:
    message = jsonrpc.parse(data)
    if isinstance(message, jsonrpc.Response) and message.id == b"%d" % ask.ident:
        return message
    return None


async def _settle(link: HttpLink, hello: Hello) -> None:
    if not hello.modern:
        if revision(hello.revision).version_header:
            link.wire.revision = hello.revision
        (await link.wire.post(INITIALIZED)).close()
    link.hello = hello
