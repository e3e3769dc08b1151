"""Connects to an MCP server (stdio, HTTP, HTTP+SSE, WebSocket) with handshake; falls back to `initialize` or to HTTP+SSE."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gatewright.mcp.client.authorization import Authorizer
from gatewright.mcp.client.endpoint import Endpoint
from gatewright.mcp.client.http_endpoint import HttpEndpoint, challenges
from gatewright.mcp.client.http_handshake import FellBack, greet
from gatewright.mcp.client.http_link import HttpLink
from gatewright.mcp.client.link import Admits, Link, LinkClosed, ServerFailed, Sink
from gatewright.mcp.client.pipe_link import PipeLink
from gatewright.mcp.client.server_requests import Outside
from gatewright.mcp.protocol.mcp_client import ASKABLE, Handshake
from gatewright.transport.http_client import HttpUpstream, UpstreamError
from gatewright.transport.http_pool import Most
from gatewright.transport.launch import CannotStart
from gatewright.transport.open_posts import Requests
from gatewright.transport.process import spawn
from gatewright.transport.sse_client import NoEventStream, SsePipe, connect_sse
from gatewright.transport.websocket import CannotConnect
from gatewright.transport.websocket import connect as dial

__all__ = ["RESERVE", "Around", "connect"]

RESERVE = 32
"""So many connections more than calls in flight: calls may wait for answers to questions and for the stream on which those come, and they
end by cancellations."""


class Around(msgspec.Struct, frozen=True):
    """What a connection needs besides its configuration."""

    info: Mapping[str, Any]
    """What we call ourselves."""
    sink: Sink
    """Who takes what the server says outside any call."""
    stderr: Callable[[], Callable[[str], None]]
    """Asked with each process that is started: who takes its log lines."""
    leave: Callable[[Link], None]
    """Who stops links that came to nothing."""
    authorizer: Authorizer | None = None
    outside: Outside | None = None
    """Who answers what the server asks outside any call."""
    admits: Admits | None = None
    """Who decides whether the server may go on after its hello."""


async def connect(
    spec: Endpoint, around: Around, capabilities: Mapping[str, Any] = ASKABLE
) -> Link:
    """A connection whose handshake is done. `capabilities` are what the server may ask of us.

    Raises `ServerFailed`.
    """

    def hand(era: str = spec.era) -> Handshake:
        return Handshake(info=around.info, capabilities=capabilities, era=era, face=spec.face)

    if spec.transport == "stdio":
        return await _stdio(spec, around, hand)
    if spec.transport == "websocket":
        return await _websocket(spec, around, hand)
    if spec.transport == "sse":
        return await _sse(spec, around, hand)
    try:
        return await _http(spec, around, hand)
    except FellBack as problem:
        try:
            return await _sse(spec, around, hand)
        except ServerFailed as other:
            raise ServerFailed(f"{problem}, and not HTTP+SSE either: {other}") from None


async def _stdio(spec: Endpoint, around: Around, hand: Callable[[str], Handshake]) -> Link:
    eras = ("auto", "legacy") if spec.era == "auto" else (spec.era,)
    for era in eras:
        handshake = hand(era)
        link = _piped(spec, around)
        opening = asyncio.ensure_future(
            spawn(
                spec.command,
                spec.args,
                env=spec.env,
                cwd=spec.cwd,
                isolation=spec.isolation,
                receiver=link,
                limits=spec.limits,
                stderr=around.stderr(),
            )
        )
        link.opening = opening
        try:
            # Shielded: a process that is half started cannot be stopped; `link.stop` waits for it and ends it.
            await link.greet(await asyncio.shield(opening), handshake)
        except CannotStart as problem:
            raise ServerFailed(str(problem)) from None
        except LinkClosed:
            around.leave(link)
            # Some old servers end on a question they do not know. They get a second life, in which
            # they are asked the old way only.
            if era == eras[-1] or not handshake.probing:
                raise
            continue
        except BaseException:
            around.leave(link)
            raise
        return link
    raise ServerFailed("the server cannot be agreed with")


async def _http(spec: Endpoint, around: Around, hand: Callable[[str], Handshake]) -> Link:
    async def hello(link: HttpLink) -> None:
        # A session is made anew in the era that is known by then.
        known = link.hello is not None and not link.modern
        await greet(link, hand("legacy" if known else spec.era))

    http = _upstream(spec, _connections(lambda: link.spec))
    wire = HttpEndpoint(http, spec.headers, around.authorizer)
    link = HttpLink(spec, around.info, around.sink, wire, hello)
    link.answer_outside(around.outside)
    link.admit_by(around.admits)
    try:
        await link.start()
    except BaseException:
        around.leave(link)
        raise
    return link


async def _websocket(spec: Endpoint, around: Around, hand: Callable[[str], Handshake]) -> Link:
    link = _piped(spec, around)
    headers = dict(spec.headers)
    if around.authorizer is not None and (used := await around.authorizer.authorization()):
        headers["Authorization"] = used
    try:
        pipe = await dial(spec.url, receiver=link, headers=headers, limits=spec.limits)
    except CannotConnect as problem:
        raise ServerFailed(str(problem)) from None
    try:
        await link.greet(pipe, hand(spec.era))
    except BaseException:
        around.leave(link)
        raise
    return link


def _piped(spec: Endpoint, around: Around) -> PipeLink:
    link = PipeLink(spec, around.info, around.sink)
    link.answer_outside(around.outside)
    link.admit_by(around.admits)
    return link


async def _sse(spec: Endpoint, around: Around, hand: Callable[[str], Handshake]) -> Link:
    link = _piped(spec, around)
    try:
        pipe = await _stream(spec, around, link)
    except UpstreamError as problem:
        raise ServerFailed(str(problem)) from None
    try:
        # Nobody ever spoke the modern era over this transport.
        await link.greet(pipe, hand("legacy"))
    except BaseException:
        around.leave(link)
        raise
    return link


async def _stream(spec: Endpoint, around: Around, link: PipeLink) -> SsePipe:
    """The event stream of a server, with whatever token it takes. A token that ends later ends the
    connection, which is then made anew with another."""
    turn = 0
    while True:
        used = await around.authorizer.authorization() if around.authorizer is not None else None
        headers = {**spec.headers, **({} if used is None else {"Authorization": used})}
        try:
            return await connect_sse(
                spec.url,
                receiver=link,
                requests=Requests(link.waits, link.lost, link.shares.late),
                headers=headers,
                limits=spec.limits,
                most=_connections(lambda: link.spec),
            )
        except ValueError as problem:
            raise ServerFailed(str(problem)) from None
        except NoEventStream as problem:
            if around.authorizer is None:
                raise
            status, given = problem.answer.status, challenges(problem.answer)
            if not await around.authorizer.challenged(turn, status, given, used):
                raise
        turn += 1


def _connections(spec: Callable[[], Endpoint]) -> Most:
    """How many may be open: those of as many calls as may be in flight now, or might be since it was connected, because those run still, and
    where they wait for an answer or are called off, that needs one more."""
    most = 0

    def bound() -> int:
        nonlocal most
        most = max(most, spec().in_flight + RESERVE)
        return most

    return bound


def _upstream(spec: Endpoint, most: Most) -> HttpUpstream:
    try:
        return HttpUpstream(spec.url, limits=spec.limits, most=most)
    except ValueError as problem:
        raise ServerFailed(str(problem)) from None
