"""Making one connection to a server, by whatever way its configuration names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gatewright.protocol.mcp_client import ASKABLE, Handshake
from gatewright.transport.http_client import HttpUpstream
from gatewright.transport.launch import CannotStart
from gatewright.transport.process import spawn
from gatewright.upstream.authorize import Authorizer
from gatewright.upstream.http_hello import greet
from gatewright.upstream.http_link import HttpLink
from gatewright.upstream.http_wire import HttpWire
from gatewright.upstream.link import Link, LinkClosed, Sink, UpstreamFailed
from gatewright.upstream.pipe_link import PipeLink
from gatewright.upstream.spec import ServerSpec

__all__ = ["Around", "connect"]


class Around(msgspec.Struct, frozen=True):
    """What a connection needs besides its configuration."""

    info: Mapping[str, Any]
    """What we call ourselves."""
    sink: Sink
    """Who takes what the server says outside any call."""
    stderr: Callable[[str], None]
    """Who takes a child's log lines."""
    leave: Callable[[Link], None]
    """Who stops links that came to nothing."""
    authorizer: Authorizer | None = None


async def connect(
    spec: ServerSpec, around: Around, capabilities: Mapping[str, Any] = ASKABLE
) -> Link:
    """A link that has said hello. `capabilities` are what the server may ask of us.

    Raises `UpstreamFailed`.
    """

    def hand(era: str = spec.era) -> Handshake:
        return Handshake(info=around.info, capabilities=capabilities, era=era, face=spec.face)

    if spec.transport == "stdio":
        return await _stdio(spec, around, hand)
    return await _http(spec, around, hand)


async def _stdio(spec: ServerSpec, around: Around, hand: Callable[[str], Handshake]) -> Link:
    eras = ("auto", "legacy") if spec.era == "auto" else (spec.era,)
    for era in eras:
        handshake = hand(era)
        link = PipeLink(spec, around.info, around.sink)
        opening = asyncio.ensure_future(
            spawn(
                spec.command,
                spec.args,
                env=spec.env,
                cwd=spec.cwd,
                receiver=link,
                limits=spec.limits,
                stderr=around.stderr,
            )
        )
        link.opening = opening
        try:
            await link.greet(await asyncio.shield(opening), handshake)
        except CannotStart as problem:
            raise UpstreamFailed(str(problem)) from None
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
    raise UpstreamFailed("the server cannot be agreed with")


async def _http(spec: ServerSpec, around: Around, hand: Callable[[str], Handshake]) -> Link:
    async def hello(link: HttpLink) -> None:
        # A session is made anew in the era that is known by then.
        known = link.hello is not None and not link.modern
        await greet(link, hand("legacy" if known else spec.era))

    wire = HttpWire(_upstream(spec), spec.headers, around.authorizer)
    link = HttpLink(spec, around.info, around.sink, wire, hello)
    try:
        await link.start()
    except BaseException:
        around.leave(link)
        raise
    return link


def _upstream(spec: ServerSpec) -> HttpUpstream:
    try:
        return HttpUpstream(spec.url, limits=spec.limits)
    except ValueError as problem:
        raise UpstreamFailed(str(problem)) from None
