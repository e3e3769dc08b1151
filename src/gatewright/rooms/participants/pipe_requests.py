"""`PipeRequests`: JSON-RPC requests of several senders over one pipe: maps ids and progress tokens, remembers cancelled ones.

MCP's pipes mark nothing that a server asks or logs with the request that it belongs to. It belongs to one that has not been answered, and
to such a request also where it was given up: the server may work on it still, and a cancelled one is answered with nothing. So a request
that nobody waits for counts among those until it is answered after all, or has had the time of a whole call besides, or the pipe ends
(decisions 0004, 0113).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from secrets import token_hex
from typing import Any

import msgspec

from gatewright.mcp.wire import jsonrpc

__all__ = ["GIVEN_UP", "NOBODY", "WORKS_ON_S", "PipeRequests", "asks"]

_INTERNAL = -32603
NOBODY = ""
"""Whose a request is whose sender is gone: whoever is called so next is another."""
GIVEN_UP = 1024
"""How many requests are kept apart that nobody waits for; of more it is kept whose they were, and until when the last of them counts."""
WORKS_ON_S = 300.0
"""So many seconds a server may work on a request at least that was given up, though it has heard so; more where a call may take more."""


class _Running:
    """A request that somebody waits for."""

    __slots__ = ("sender", "token")

    def __init__(self, sender: str, token: bytes) -> None:
        self.sender = sender
        self.token = token
        """The progress token of its sender, JSON text; empty where it has none."""


class PipeRequests:
    """Requests of ours on a pipe that are not answered yet. Belongs to one event loop."""

    def __init__(
        self,
        name: str,
        answer_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        fresh: Callable[[], str] = lambda: token_hex(8),
    ) -> None:
        """`name` begins our ids, which nobody can guess who is not told of them; `fresh` gives the rest. What is not answered within `answer_s` seconds is given up, and counts for as long once more,
        at least for `WORKS_ON_S`. `clock` gives seconds."""
        self._name = name
        self._clock = clock
        self._works_on_s = max(answer_s, WORKS_ON_S)
        self._answer_s = answer_s
        self._fresh = fresh
        self._waiting: dict[bytes, asyncio.Future[jsonrpc.Response]] = {}
        self._named: dict[tuple[str, bytes], list[bytes]] = {}
        """Sender and its id of a request → our ids of it: a room tells requests apart by their envelopes, so there may be several."""
        self._running: dict[bytes, _Running] = {}
        self._given_up: dict[bytes, tuple[str, float]] = {}
        """Our ids of requests that nobody waits for, and that may be worked on still → whose they were and until when, oldest first."""
        self._displaced: dict[str, float] = {}
        """Whose those were of which the ids were not kept → until when the last of them counts."""

    def ask(self) -> tuple[bytes, asyncio.Future[jsonrpc.Response]]:
        """An id that nobody else uses, and what will be answered to it."""
        ident = jsonrpc.encode(f"{self._name}-{self._fresh()}")
        future: asyncio.Future[jsonrpc.Response] = asyncio.get_running_loop().create_future()
        self._waiting[ident] = future
        future.add_done_callback(lambda _: self._waiting.pop(ident, None))
        return ident, future

    async def put(
        self,
        members: dict[str, msgspec.Raw],
        sender: str,
        send: Callable[[bytes], None],
    ) -> bytes:
        """Ask what a request of `sender` asks, under an id of ours; the response to it under its own, or an error after so long.
        Raises `ValueError` where its `_meta` cannot be read."""
        ident = bytes(members["id"])
        own, future = self.ask()
        named = self._named.setdefault((sender, ident), [])
        named.append(own)
        try:
            members, token = _with_token(members, own)
            self._running[own] = _Running(sender, token)
            send(jsonrpc.encode({**members, "id": msgspec.Raw(own)}))
            async with asyncio.timeout(self._answer_s):
                found = await future
        except TimeoutError:
            self._give_up(own, sender, send)
            return jsonrpc.error(ident, (_INTERNAL, f"no answer within {self._answer_s:g} s"))
        finally:
            # Where nobody has said that it is given up, whoever asked has lost its place, and may be anybody when it has one again.
            self._give_up(own, NOBODY, send)
            future.cancel()
            named.remove(own)
            if not named:
                del self._named[sender, ident]
        if found.error:
            return jsonrpc.error(ident, found.error)
        return jsonrpc.response(ident, found.result)

    def _give_up(
        self, own: bytes, sender: str, send: Callable[[bytes], None], note: bytes = b""
    ) -> None:
        """Nobody waits for a request any more. The server hears so, unless it has answered, or heard so already."""
        if self._running.pop(own, None) is None:
            return
        self._given_up[own] = sender, self._clock() + self._works_on_s
        if len(self._given_up) > GIVEN_UP:
            self._displace(*self._given_up.pop(next(iter(self._given_up))))
        send(note or _cancelled(own))

    def _displace(self, sender: str, until: float) -> None:
        self._displaced[sender] = max(until, self._displaced.get(sender, until))

    def cancel(
        self, members: dict[str, msgspec.Raw], sender: str, send: Callable[[bytes], None]
    ) -> None:
        """`sender` gives up on a request, which is not answered then. It names its own id, so that the requests of
        others are out of its reach."""
        params = jsonrpc.decode_members(members.get("params", msgspec.Raw(b"{}")))
        for own in tuple(self._named.get((sender, bytes(params.get("requestId", b""))), ())):
            future = self._waiting.get(own)
            if future is not None:
                params["requestId"] = msgspec.Raw(own)
                note = jsonrpc.encode({**members, "params": params})
                self._give_up(own, sender, send, note)
                future.cancel()  # MCP: what is cancelled is not answered

    def gone(self, sender: str, send: Callable[[bytes], None]) -> None:
        """`sender` has left, and waits for nothing any more. What it asked for may go on, and is nobody's from now on."""
        every = [own for (who, _), named in self._named.items() if who == sender for own in named]
        for own in every:
            self._give_up(own, NOBODY, send)
            future = self._waiting.get(own)
            if future is not None:
                future.cancel()
        for own, (who, until) in self._given_up.items():
            if who == sender:
                self._given_up[own] = NOBODY, until
        if sender in self._displaced:
            self._displace(NOBODY, self._displaced.pop(sender))

    def answer(self, response: jsonrpc.Response) -> None:
        """Somebody has answered; stray answers are let be."""
        self._running.pop(response.id, None)
        self._given_up.pop(response.id, None)
        future = self._waiting.get(response.id)
        if future is not None and not future.done():
            future.set_result(response)

    def settled(self, flaw: jsonrpc.Malformed, data: bytes) -> bool:
        """Whether a message that cannot be read is an answer to a request of ours. Who waits for it is told now."""
        if (flaw.id not in self._waiting and flaw.id not in self._given_up) or asks(data):
            return False
        error = {"code": _INTERNAL, "message": f"the answer is broken: {flaw.message}"}
        self.answer(jsonrpc.Response(flaw.id, b"", jsonrpc.encode(error)))
        return True

    def end(self, reason: str) -> None:
        """Nobody will."""
        error = jsonrpc.encode({"code": _INTERNAL, "message": reason})
        for ident in list(self._waiting):
            self.answer(jsonrpc.Response(ident, b"", error))
        self._running.clear()
        self._given_up.clear()
        self._displaced.clear()

    # -- whose something is that names no request

    @property
    def senders(self) -> set[str]:
        """Whose requests the other side may be working on; `NOBODY` among them for those whose sender is gone."""
        now = self._clock()
        # MCP has a server not answer what is cancelled: else nothing would ever say that it works on it no more.
        for own in [own for own, (_, until) in self._given_up.items() if until <= now]:
            del self._given_up[own]
        late = {who for who, until in self._displaced.items() if until > now}
        late |= {who for who, _ in self._given_up.values()}
        return late | {one.sender for one in self._running.values()}

    @property
    def haunted(self) -> bool:
        """Whether it would be clear whose request the other side works on, but for such as were given up."""
        return len({one.sender for one in self._running.values()}) == 1 < len(self.senders)

    def waits(self, sender: str) -> bool:
        """Whether `sender` waits for an answer."""
        return any(one.sender == sender for one in self._running.values())

    def progress(self, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Whom a `notifications/progress` is for, and its params with the token of that one's request; None where nobody waits
        for what it is about."""
        running = self._running.get(jsonrpc.encode(params.get("progressToken")))
        if running is None or not running.token:
            return None
        return running.sender, {**params, "progressToken": msgspec.Raw(running.token)}


def asks(data: bytes) -> bool:
    """Whether a message has a method, and so is no answer."""
    try:
        return "method" in jsonrpc.members_named(data, "method")
    except ValueError:
        return False


def _with_token(
    members: dict[str, msgspec.Raw], own: bytes
) -> tuple[dict[str, msgspec.Raw], bytes]:
    """A request with a progress token of ours in the place of its sender's, and that one's as it was written; empty where it has none.
    Two senders may have the same, and one may name ours."""
    params = members.get("params")
    said = {} if params is None else jsonrpc.decode_members(params)
    if bytes(said.get("_meta", b""))[:1] != b"{":
        return members, b""
    meta = jsonrpc.decode_members(said["_meta"])
    token = bytes(meta.get("progressToken", b""))
    if not token:
        return members, b""
    meta["progressToken"] = msgspec.Raw(own)
    said["_meta"] = msgspec.Raw(jsonrpc.encode(meta))
    return {**members, "params": msgspec.Raw(jsonrpc.encode(said))}, token


def _cancelled(ident: bytes) -> bytes:
    return jsonrpc.notification("notifications/cancelled", {"requestId": jsonrpc.decode(ident)})
