"""Making one connection to a server, by whatever way its configuration names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from gatewright.protocol.mcp_client import ASKABLE, Handshake
from gatewright.transport.launch import CannotStart
from gatewright.transport.process import spawn
from gatewright.upstream.link import Link, LinkClosed, Sink, UpstreamFailed
from gatewright.upstream.pipe_link import PipeLink
from gatewright.upstream.spec import ServerSpec

__all__ = ["connect"]


async def connect(
    spec: ServerSpec,
    info: Mapping[str, Any],
    sink: Sink,
    stderr: Callable[[str], None],
    leave: Callable[[Link], None],
    capabilities: Mapping[str, Any] = ASKABLE,
) -> Link:
    """A link that has said hello. `info` is what we call ourselves; `stderr` takes a child's log
    lines; `leave` takes links that came to nothing and have to be stopped; `capabilities` are what
    the server may ask of us. Raises `UpstreamFailed`."""
    return await _stdio(spec, info, sink, stderr, leave, capabilities)


async def _stdio(
    spec: ServerSpec,
    info: Mapping[str, Any],
    sink: Sink,
    stderr: Callable[[str], None],
    leave: Callable[[Link], None],
    capabilities: Mapping[str, Any],
) -> Link:
    eras = ("auto", "legacy") if spec.era == "auto" else (spec.era,)
    for era in eras:
        handshake = Handshake(info=info, capabilities=capabilities, era=era, face=spec.face)
        link = PipeLink(spec, info, sink)
        opening = asyncio.ensure_future(
            spawn(
                spec.command,
                spec.args,
                env=spec.env,
                cwd=spec.cwd,
                receiver=link,
                limits=spec.limits,
                stderr=stderr,
            )
        )
        link.opening = opening
        try:
            await link.greet(await asyncio.shield(opening), handshake)
        except CannotStart as problem:
            raise UpstreamFailed(str(problem)) from None
        except LinkClosed:
            leave(link)
            # Some old servers end on a question they do not know. They get a second life, in which
            # they are asked the old way only.
            if era == eras[-1] or not handshake.probing:
                raise
            continue
        except BaseException:
            leave(link)
            raise
        return link
    raise UpstreamFailed("the server cannot be agreed with")
