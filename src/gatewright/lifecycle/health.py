"""`Health`: asks a connected server by its MGP method (§11.3), else `ping` or `server/discover`; judges others by state; trims details."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from gatewright.mcp.client.failures import AnswerTooLong
from gatewright.mcp.client.link import Link, ServerFailed, ServerRefused
from gatewright.mcp.client.short_answers import fetch_short
from gatewright.secret_scanning import without_secrets
from gatewright.secret_scanning.escape_invisible import spelled
from gatewright.servers.local import LocalServer
from gatewright.servers.server import Server
from gatewright.servers.server_life import speaks
from gatewright.servers.states import State

__all__ = ["Asked", "Health", "Status", "bounded"]

Status = Literal["healthy", "degraded", "unhealthy"]

ANSWER_S = 4.0
"""How long a server has: its caller has its answer within the 5 s of MGP §11.3."""

_MEMBERS, _NAME_CHARS, _TEXT_CHARS = 64, 64, 200
"""Of `resources` and `checks` of a server so many are shown, of such a length."""

_UNSUPPORTED = frozenset({-32601, -32602})
"""How servers refuse methods that they do not know; some know no better than that the parameters are wrong."""

_OF_STATE: Mapping[State, Status] = {
    "registered": "degraded",
    "connecting": "degraded",
    "connected": "healthy",
    "draining": "degraded",
    "disconnected": "unhealthy",
    "error": "unhealthy",
    "restarting": "degraded",
}


class Asked(msgspec.Struct, frozen=True):
    """How a server is. `said` is what it answered itself in MGP, decoded; empty where it was not asked so."""

    status: Status
    said: Mapping[str, Any] = {}


class Health:
    """Asks servers. Whoever asks while an answer is on its way gets that one: a server has no more to do for many."""

    def __init__(self) -> None:
        self._asking: dict[tuple[str, str], asyncio.Task[Asked]] = {}

    async def of(self, server: Server | LocalServer, method: str, params: dict[str, Any]) -> Asked:
        """How it is, asked by a method of MGP §11.3 where it knows that. Never raises, and never takes long."""
        if isinstance(server, LocalServer):
            return Asked("healthy")
        key = server.id, method
        asking = self._asking.get(key)
        if asking is None:
            work = _asked(server, method, params)
            asking = self._asking[key] = asyncio.get_running_loop().create_task(work)
            asking.add_done_callback(lambda _: self._asking.pop(key, None))
        return await asyncio.shield(asking)


async def _asked(server: Server, method: str, params: dict[str, Any]) -> Asked:
    link = server.link
    if link is None or not link.open:
        return Asked("healthy" if server.life.waits else _OF_STATE[server.state])
    try:
        if not speaks(link):
            return await _in_mcp(link, ANSWER_S)
        return await _in_mgp(link, method, params) or await _in_mcp(link, ANSWER_S / 2)
    except ServerFailed:
        return Asked("unhealthy")


async def _in_mgp(link: Link, method: str, params: dict[str, Any]) -> Asked | None:
    """Its own answer; None where it has none. Raises `ServerFailed`."""
    if (
        link.full
    ):  # those that run end, by their time limit at latest, and there is room to ask again
        return Asked("degraded")
    try:
        said = await fetch_short(link, method, params, ANSWER_S / 2)
    except ServerRefused as problem:
        return None if problem.code in _UNSUPPORTED else Asked("unhealthy")
    except (AnswerTooLong, ValueError):
        return None
    if said.get("status") not in get_args(Status):
        return None
    return Asked(said["status"], said)


async def _in_mcp(link: Link, answer_s: float) -> Asked:
    """Whether it answers at all. Raises `ServerFailed`."""
    if link.spec.transport in ("openapi", "python"):
        return Asked("healthy")  # there is nobody to ask: an HTTP API, and code of this process
    if link.full:
        return Asked("degraded")
    with contextlib.suppress(ServerRefused):  # which is an answer
        await link.fetch("server/discover" if link.modern else "ping", {}, answer_s)
    return Asked("healthy")


def bounded(said: Any) -> dict[str, Any]:
    """What a server says under names of its own (`resources`, `checks`): plain values, not too many, without secrets."""
    found: dict[str, Any] = {}
    for name, value in said.items() if isinstance(said, dict) else ():
        if len(found) >= _MEMBERS:
            break
        if isinstance(value, bool | int | float) or value is None:
            found[_clean(name, _NAME_CHARS)] = value
        elif isinstance(value, str):
            found[_clean(name, _NAME_CHARS)] = _clean(value, _TEXT_CHARS)
    return found


def _clean(text: str, most: int) -> str:
    """So many characters of it; more are looked at, as a secret may begin among them."""
    seen = text[: 4 * most].encode("utf-8", "replace")
    return spelled(without_secrets(seen).decode())[:most]
