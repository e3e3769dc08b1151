"""In-process MCP server of a Python module: discovers its tools, connects to them over in-memory pipes, rescans for new modules.

Theory: the gateway speaks MCP to it over a pair of pipes, so that catalogue, reload, time limits, progress, questions and
the record know nothing new. What it costs is one JSON text each way; what it saves is a process and its pipes.

There is no wall between such tools and the gateway: they can do whatever it can. What is looked for again every 300 seconds are
new modules; the code of one that is loaded changes only with a new process.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from gatewright.call import Back, Call, Failure, Outcome
from gatewright.mcp.client.connect import Around
from gatewright.mcp.client.link import Link, ServerFailed
from gatewright.mcp.client.pipe_link import PipeLink
from gatewright.mcp.protocol.mcp_client import Handshake
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import REASONS
from gatewright.sdk.discovery import Discovery, Found, is_folder
from gatewright.sdk.errors import RegistrationError
from gatewright.sdk.limits import TimeLimits
from gatewright.sdk.registry import Registry
from gatewright.sdk.server import MGP_EXTENSIONS, Server
from gatewright.sdk.trust import TrustGateway, TrustState
from gatewright.servers.spec import ServerSpec
from gatewright.transport.base import Pipe

__all__ = ["connect_python"]

log = logging.getLogger("gatewright.servers")

_looking: set[asyncio.Task[None]] = set()
"""Searches that go on as long as their connection; the loop itself holds tasks only weakly."""


async def connect_python(spec: ServerSpec, around: Around, capabilities: Mapping[str, Any]) -> Link:
    """A link to the tools of `spec.python` that has said hello.

    Raises `ServerFailed` where no tool was found, with the reason for each module that has none to give.
    """
    trust = TrustGateway(TrustState[spec.trust_gateway.upper()])
    registry = Registry(spec.id, limits=TimeLimits(tool_s=spec.call_s), trust=trust)
    discovery = Discovery(_where(spec), registry=registry)
    await _first_look(spec, discovery)
    # The other end is the SDK's server, which speaks MGP unless the configuration says otherwise.
    spec = msgspec.structs.replace(spec, face=spec.face or Face(MGP_EXTENSIONS))
    link = _OwnLink(spec, around.info, around.sink)
    link.answer_outside(around.outside)
    link.admit_by(around.admits)
    hand = Handshake(info=around.info, capabilities=capabilities, era=spec.era, face=spec.face)
    try:
        pipe = Server(spec.id, registry=registry).attach(link, spec.limits)
        await link.greet(pipe, hand)
    except BaseException:
        around.leave(link)
        raise
    task = asyncio.ensure_future(_look_again(spec, discovery, pipe))
    _looking.add(task)
    task.add_done_callback(_looking.discard)
    return link


class _OwnLink(PipeLink):
    """A link whose other end is ours: the reason that it gives for a failure is the reason."""

    async def request(
        self, method: str, params: dict[str, Any], *, call: Call, back: Back, deadline: float
    ) -> Outcome:
        """As `Link.request`."""
        return _reasoned(
            await super().request(method, params, call=call, back=back, deadline=deadline)
        )


def _reasoned(outcome: Outcome) -> Outcome:
    if not isinstance(outcome, Failure) or outcome.error is None:
        return outcome
    error = jsonrpc.decode(outcome.error)
    data = error.get("data") or {}
    reason = str(data.get("reason"))
    if reason not in REASONS:
        return outcome
    details = data.get("_mgp", {}).get("details", {})
    # What answers was asked: its word is never that the call was not sent.
    details = {name: one for name, one in details.items() if name != "sent"}
    return Failure(reason, error.get("message", ""), details)


def _where(spec: ServerSpec) -> str:
    """The module, or the folder from where the configuration means it."""
    folder = spec.cwd or "."
    if is_folder(spec.python):
        return str(Path(folder, Path(spec.python).expanduser()))
    # At the end: what lies beside the configuration may not stand in for an installed module.
    if folder not in sys.path:
        sys.path.append(folder)
    return spec.python


async def _first_look(spec: ServerSpec, discovery: Discovery) -> None:
    found = await discovery.find()
    _report(spec, found)
    flawed = _without_the_flawed(spec, discovery.registry)
    if found.complete and not len(discovery.registry):
        why = "; ".join([*map(str, found.problems), *flawed])
        raise ServerFailed(why or f"{spec.python} has no @mcp_tool")


def _without_the_flawed(spec: ServerSpec, registry: Registry) -> list[str]:
    """Take out what nobody could call: a schema that cannot be compiled, an example that is none."""
    flawed = []
    for tool in registry.list():
        try:
            tool.check()
        except RegistrationError as problem:
            registry.unregister(tool.name, tool.version)
            flawed.append(str(problem))
            log.warning("server %s: left out: %s", spec.id, problem)
    return flawed


def _report(spec: ServerSpec, found: Found) -> None:
    for problem in found.problems:
        log.warning("server %s: left out: %s", spec.id, problem)


async def _look_again(spec: ServerSpec, discovery: Discovery, pipe: Pipe) -> None:
    """Find what is added, until the connection ends."""
    closed = asyncio.ensure_future(pipe.wait_closed())
    known = discovery.found
    try:
        while not closed.done():
            await asyncio.wait((closed,), timeout=max(1.0, discovery.valid_s()))
            found = known if closed.done() else await discovery.find()
            if found is not known and found.problems != known.problems:
                _report(spec, found)
            known = found
    finally:
        closed.cancel()
