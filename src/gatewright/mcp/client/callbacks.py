"""`Callbacks`: puts an MGP server's callback requests (§13.4) to the tool call's caller, returns the response; fails the call on timeout.

The server's notification names the call by `request_id`, so that it is known whose it is; the call's clock stands still while its
caller thinks. Nobody who can be asked, no answer in time, or an answer that nobody gave: the call fails and the server is told to
stop. What the server hears is a request of its own, `mgp/callback/respond`. An answer is of the session in which was asked: in the next one its
id may be that of somebody else's callback, so a call that waits for an answer when its session is lost ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any, Protocol

from gatewright.call import CannotAsk, Event, Failure, Question
from gatewright.mcp.client.endpoint import Endpoint
from gatewright.mcp.client.pending_requests import EXPIRED, PendingRequest
from gatewright.mcp.protocol.callbacks import Callback, read_callback
from gatewright.mcp.wire.methods import CALLBACK

__all__ = ["CALLBACKS_MOST", "RESPOND", "Asks", "Callbacks"]

log = logging.getLogger("gatewright.mcp.client")

RESPOND = "mgp/callback/respond"
CALLBACKS_MOST = 256
"""So many callbacks of one connection may wait for their answers."""

TOLD_S = 30.0
"""How long a server has to take an answer."""


class Asks(Protocol):
    """The connection on which the server asks."""

    spec: Endpoint
    number: int
    """Of the session in which the server asks now."""

    def fetch(
        self, method: str, params: dict[str, Any], timeout_s: float, whose: str = ""
    ) -> Coroutine[Any, Any, bytes]:
        """Ask the server something on the gateway's own behalf. Raises where it does not answer."""


class Callbacks:
    """Those of one connection."""

    def __init__(self, link: Asks) -> None:
        self._link = link
        self._open: dict[str | int, PendingRequest] = {}
        """Of which request each callback is that waits for its answer."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._said: OrderedDict[tuple[int, str | int], str] = OrderedDict()
        """The last answers, by request and callback: what is asked again is answered alike, and nobody is asked twice."""

    def forgotten(self) -> None:
        """The server knows of nothing that it asked until now, may ask by the same ids, and waits for no answer: what would have one ends."""
        open_, self._open = self._open, {}
        self._said.clear()
        for task in self._tasks:
            task.cancel()  # also one whose answer is on its way: it would arrive in the next session
        for exchange in open_.values():
            self._lost(exchange)

    def take(self, params: dict[str, Any], exchange: PendingRequest) -> None:
        """Take one callback of the call that `exchange` is."""
        call, back = exchange.call, exchange.back
        if call is None or back is None or exchange.future.done():
            return
        try:
            callback = read_callback(params)
        except ValueError as flaw:
            self._fail(exchange, "upstream_error", f"asked for a callback that cannot be: {flaw}")
            return
        exchange.heard = True
        if callback.type == "notification":
            back.emit(Event(CALLBACK, {"request_id": call.id, **callback.params}))
            return
        if exchange.sent_in not in (0, self._link.number):
            self._lost(exchange)
            return
        asker = self._open.get(callback.id)
        if asker is exchange:  # said twice, asked once
            return
        if asker is not None:  # its answer could be taken for that of the other one
            said = "asked for a callback by an id under which another call waits for its answer"
            self._fail(exchange, "upstream_error", said)
            return
        if len(self._open) >= CALLBACKS_MOST:
            said = f"waits for the answers to {CALLBACKS_MOST} callbacks already"
            self._fail(exchange, "resource_exhausted", said)
            return
        self._open[callback.id] = exchange
        task = asyncio.get_running_loop().create_task(self._ask(callback, exchange))
        self._tasks.add(task)
        task.add_done_callback(lambda _: self._over(callback, exchange))
        task.add_done_callback(self._tasks.discard)

    def _over(self, callback: Callback, exchange: PendingRequest) -> None:
        if self._open.get(callback.id) is exchange:  # and not that of the next session
            del self._open[callback.id]

    async def _ask(self, callback: Callback, exchange: PendingRequest) -> None:
        try:
            once = exchange.ident, callback.id
            response = self._said.get(once)
            if response is None:
                response = await self._answer(callback, exchange)
            if response is not None:
                self._said[once] = response
                if len(self._said) > CALLBACKS_MOST:
                    self._said.popitem(last=False)
                await self._respond(callback, response, exchange)
        except CannotAsk as no:
            said = f"needs a {callback.type} that its caller cannot be asked for ({no.message})"
            self._fail(exchange, "confirmation_required", said)
        except Exception:  # the server, and the caller, would wait for the time limit of the call
            log.exception("server %s: a callback broke", self._link.spec.id)
            self._fail(exchange, "internal", "asked for a callback that broke")

    async def _answer(self, callback: Callback, exchange: PendingRequest) -> str | None:
        """What the caller says; None where the call is over. Raises `CannotAsk`."""
        back = exchange.back
        if back is None:
            raise CannotAsk("the gateway itself made this request")
        question = Question(CALLBACK, callback.params, server=self._link.spec.id)
        exchange.pause()
        asking = asyncio.ensure_future(back.ask(question))
        try:
            either: list[asyncio.Future[Any]] = [asking, exchange.future]
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait(either, timeout=callback.timeout_s, return_when=first)
            if exchange.future.done():
                return None
            if not asking.done():
                said = f"got no answer to its {callback.type} within {callback.timeout_s:g} s"
                self._fail(exchange, "timeout", said)
                return None
            if asking.cancelled():
                raise CannotAsk("the question was given up")
            return str(asking.result()["response"])
        finally:
            asking.cancel()
            exchange.resume()

    async def _respond(self, callback: Callback, response: str, exchange: PendingRequest) -> None:
        params = {"callback_id": callback.id, "response": response}
        try:
            await self._link.fetch(RESPOND, params, TOLD_S)
        except Exception as problem:  # noqa: BLE001 - `link.ServerFailed`, which says why
            log.warning("server %s: %s", self._link.spec.id, problem)
            self._fail(exchange, "upstream_error", "did not take the answer to its callback")

    def _lost(self, exchange: PendingRequest) -> None:
        said = "lost the session in which it asked for a callback"
        self._fail(exchange, "upstream_unavailable", said)

    def _fail(self, exchange: PendingRequest, reason: str, said: str) -> None:
        """End a call, and tell the server that it is over."""
        server = self._link.spec.id
        exchange.given_up = Failure(reason, f"server {server} {said}, so the call was ended")
        exchange.settle(EXPIRED)
