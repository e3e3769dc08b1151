"""`ServerRequests`: attributes a server's request (elicitation, sampling, roots) to a call in flight, holds it while unclear, asks the caller.

On a pipe that several sessions share, a server's request does not say which call it belongs to. It can only belong to a call that was in
flight when it arrived. Where all of those are of one party (a session, and keys with equal limits), that one is asked. Where they are not, the
question is held: the server that asks is waiting, calls that do not wait come to their end, and soon the candidates are of one party. Where they
do not become so in time, nobody is asked and the server gets an error that names the way out.

Calls that were given up here (cancelled, out of time) may still run over there and ask. They stay candidates that nobody can be asked for,
until the server answers them or the connection ends: no time says that a server has stopped. So does what goes on without a call
(`ServerRequests.stays`), and a call that fails while a question waits: its server may have given that up. A question that says to which
task it belongs is for whoever has that, and for nobody else. Decisions 0004, 0104 and 0119 say what was weighed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from gatewright.call import Back, CannotAsk, Question
from gatewright.mcp.client.pending_requests import PendingRequest
from gatewright.mcp.client.related_tasks import Related, RunningTasks, named, without
from gatewright.mcp.client.request_origin import CROWD, TOLD, Absent, RequestOrigin, failed
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.permissions import ASKED

__all__ = ["GHOSTS", "HELD_S", "UNATTRIBUTABLE", "WAITING", "Outside", "ServerRequests"]

log = logging.getLogger("gatewright.mcp.client")

UNATTRIBUTABLE = "question_unattributable"
"""The marker in the error a server gets, by which its failing call is recognised afterwards."""

HELD_S = 30.0
"""How long a question waits at most to become one session's; less where a candidate has less time."""

GHOSTS = 4096
"""Of so many calls that were given up it is remembered whose they were; with more, nobody is asked any more
without being named."""

_MOST = 256
WAITING = 16
"""Of so many questions it may be unknown at a time whose they are. Where two callers' calls have asked, they wait for each other."""
CANDIDATES = 8192
"""The calls that all open questions together may be of: the clocks of all of them stand still."""

_Work = Callable[[], Awaitable[None]]
Own = Callable[[Any], Awaitable[dict[str, Any]]]
"""Answers what a server asks the gateway itself: takes the params, gives the result. Raises `CannotAsk`."""


async def _nobody(params: Any) -> dict[str, Any]:
    raise CannotAsk("Method not found", jsonrpc.METHOD_NOT_FOUND)


Outside = Callable[[Question], Awaitable[dict[str, Any]]]
"""Answers a question that belongs to no call. Raises `CannotAsk`."""


class ServerRequests:
    """The questions of one connection. `send` writes a response frame and may fail silently."""

    def __init__(
        self,
        server: str,
        send: Callable[[bytes], None],
        may_ask: Callable[[str], bool] = lambda _: True,
        remark: Callable[[bytes], None] | None = None,
    ) -> None:
        """`may_ask` says of a method whether this server may ask it of anybody; `remark` writes what may be lost, `send` without it."""
        self.related = Related()
        """What tasks are called on the one side and on the other."""
        self.lives = RunningTasks(self)
        """Those that run."""
        self._may_ask = may_ask
        self._server = server
        self._send = send
        self._remark = remark or send
        self._loop = asyncio.get_running_loop()
        self._running: dict[bytes, asyncio.Task[None]] = {}
        self._warned = False
        self.held: list[RequestOrigin] = []
        """The questions that are waiting: for their candidates to become one session's, or for its answer."""
        self._ghosts = Absent()
        """Whose the calls were that were given up, and that the server has not answered; and what else may ask (`stays`)."""
        self.asked = False
        """Whether the server has ever asked something in the middle of a call."""
        self.roots_wanted = False
        """Whether it has ever asked for roots while no call was in flight, as many do right after `initialized`."""
        self.own: Own = _nobody
        """Who answers what the server asks the gateway itself."""
        self.outside: Outside | None = None
        """Who answers what the server asks outside any call; without one roots are none, and the rest is refused."""

    def put(
        self,
        request: jsonrpc.Request,
        candidates: Sequence[PendingRequest],
        *,
        exact: bool = False,
    ) -> None:
        """Take one request of the server. `candidates` are the exchanges it may belong to, oldest
        first; `exact` says that it came on the one candidate's own stream."""
        # Before all bounds: a ping is to be answered promptly (MCP basic/utilities/ping), or the server may hang up.
        if request.method == "ping":
            self._send(jsonrpc.response(request.id, b"{}"))
            return
        if self._refused(request):
            return
        ours = request.method in ASKED
        if len(self._running) >= _MOST or request.id in self._running:
            self._refuse(request.id, f"at most {_MOST} questions with distinct ids may be open")
            return
        found = self._waiting(candidates)
        if not found and not ours:
            self._nobody(request)
            return
        try:
            params = _params_of(request)
        except CannotAsk as no:
            self._refuse(request.id, no.message, no.code)
            return
        if ours:
            self._keep(request.id, partial(self._answer, request.id, params))
            return
        self.asked = self.asked or not exact
        self._hold(request, params, found, exact=exact)

    def _waiting(self, candidates: Sequence[PendingRequest]) -> list[PendingRequest]:
        """The exchanges that wait for an answer. One whose answer came right before is among the candidates still: who waits for
        it has not had a turn yet."""
        done = [one for one in candidates if one.future.done() and one.answered]
        for one in done:
            self.lives.answered(one)
        found = [one for one in candidates if one.call is not None]
        return [one for one in found if not one.answered] if done else found

    def _hold(
        self, request: jsonrpc.Request, params: Any, found: list[PendingRequest], *, exact: bool
    ) -> None:
        """Put a question that one of the exchanges may have asked, once it is known which."""
        related = named(params)
        if related is not None:
            found, exact = self.related.about(related, found), True  # it says itself whose it is
            if not found:
                self._refuse(request.id, "nobody who has this task is waiting for it here")
                return
        if sum(len(one.live) for one in self.held) + len(found) > CANDIDATES:
            self._refuse(request.id, _CROWDED)
            return
        held = RequestOrigin(self._loop, found, Absent() if exact else self._ghosts)
        if not held.settled:
            if held.hopeless or sum(one.waits for one in self.held) >= WAITING:
                self._refuse_unattributable(request.id, request.method)
                return
            held.wait()
        self.held.append(held)  # at once: what ends from now on ends for this question, too
        told = self._progress_of(params)
        question = Question(request.method, params, progress=told, server=self._server)
        task = self._keep(request.id, partial(self._run, request.id, question, held))
        task.add_done_callback(lambda _: self.held.remove(held))

    def _refused(self, request: jsonrpc.Request) -> bool:
        """Whether it was refused, whoever could be asked."""
        if not self._may_ask(request.method):
            said = f"Method not found: {request.method[:100]}"
            self._refuse(request.id, said, jsonrpc.METHOD_NOT_FOUND)
            return True
        if len(request.params) > DECODED_BYTES:
            said = f"a question has at most {DECODED_BYTES} bytes"
            self._refuse(request.id, said, jsonrpc.INVALID_PARAMS)
            return True
        return False

    def _keep(self, ident: bytes, work: _Work) -> asyncio.Task[None]:
        """Work on one request of the server until it is answered or taken back."""
        task = self._running[ident] = self._loop.create_task(self._guarded(ident, work))
        task.add_done_callback(partial(self._ended, ident))
        return task

    async def _guarded(self, ident: bytes, work: _Work) -> None:
        """What breaks is answered, too: the server, and the call that it works on, would wait for its time limit."""
        try:
            await work()
        except CannotAsk as no:
            self._refuse(ident, no.message, no.code, no.data)
        except Exception:
            log.exception("server %s: what it asked broke", self._server)
            self._refuse(ident, "internal error")

    def _ended(self, ident: bytes, task: asyncio.Task[None]) -> None:
        if self._running.get(ident) is task:
            del self._running[ident]

    def _progress_of(self, params: Any) -> Callable[[dict[str, Any]], None] | None:
        """Where the server wants to hear how far the caller is: how it is told, under its own token."""
        meta = params.get("_meta") if type(params) is dict else None
        token = meta.get("progressToken") if type(meta) is dict else None
        if token is None:
            return None

        def told(said: dict[str, Any]) -> None:
            params = without({**said, "progressToken": token})
            self._remark(jsonrpc.notification("notifications/progress", params))

        return told

    def withdraw(self, ident: bytes) -> None:
        """The server does not want the answer any more."""
        task = self._running.get(ident)
        if task is not None:
            task.cancel()

    def answered(self, exchange: PendingRequest) -> None:
        """An exchange got its answer, and can no longer be the one that asks. To be told where any are `held`."""
        gave_up = bool(self.held) and exchange.answered and failed(exchange.future.result())
        if exchange.call is None:
            self.laid(exchange.ident, gave_up=gave_up)
        for held in self.held:
            held.answered(exchange, gave_up=gave_up)

    def abandoned(self, exchange: PendingRequest) -> None:
        """We gave an exchange up; the server may not have."""
        if exchange.call is None:
            return
        self.lives.abandoned(exchange)
        for held in self.held:
            held.abandoned(exchange)
        self._remember(exchange.ident, exchange.party)
        self.answered(exchange)

    def _remember(self, key: int | str, party: str) -> None:
        if len(self._ghosts) < GHOSTS or key in self._ghosts:
            self._ghosts.add(key, party)
        else:
            self._ghosts.add(CROWD, "")  # nobody's party: with it no wait can help (`hopeless`)

    def stays(self, key: int | str, party: str, of: int | None = None) -> None:
        """From now on a party may be the one that is asked although no call of it is in flight: one that was told something,
        has a task (`of` its call), or is fetched something (under the request's number). Until `laid`, or the connection ends."""
        if of is not None:
            for held in self.held:
                held.stays(key, party, of)
        self._remember(key, party)

    def told(self, party: str) -> None:
        """A party said something that nobody answers: no end of that is known."""
        self.stays(f"{TOLD}{party}", party)

    @property
    def haunted(self) -> bool:
        """Whether anybody may be meant by a question who has no call in flight."""
        return bool(self._ghosts)

    def laid(
        self, ident: int | str, reply: jsonrpc.Response | None = None, *, gave_up: bool = False
    ) -> bool:
        """The server answered an exchange that was given up, or what stayed is over, or has failed (`gave_up`); True where there was one."""
        if reply is not None and type(ident) is int:
            self.lives.late(ident, reply)
        if not self._ghosts.remove(ident):
            return False
        gave_up = gave_up or (bool(self.held) and failed(reply))
        for held in self.held:
            held.laid(ident, gave_up=gave_up)
        return True

    def forgotten(self) -> None:
        """The server knows of nothing that it was told or asked until now, and waits for no answer."""
        self.close()
        self._running.clear()  # it may count anew, and ask by the same ids

    def party(self, candidates: Sequence[PendingRequest]) -> PendingRequest | None:
        """The newest exchange where all candidates are of one party, else None."""
        newest = next((one for one in reversed(candidates) if one.call is not None), None)
        if newest is None or any(one != newest.party for one in self._ghosts.parties):
            return None
        others = (one.party for one in candidates if one.call is not None)
        return newest if all(one == newest.party for one in others) else None

    def close(self) -> None:
        """The connection is gone: nobody needs an answer."""
        self._ghosts.clear()
        self.lives.close()
        for task in list(self._running.values()):
            task.cancel()

    async def _answer(self, ident: bytes, params: Any) -> None:
        """Answer what the gateway itself was asked; no caller ever hears of it."""
        self._send(jsonrpc.response(ident, jsonrpc.encode(await self.own(params))))

    # -- one question ------------------------------------------------------------------------------

    async def _run(self, ident: bytes, question: Question, held: RequestOrigin) -> None:
        settled = not held.waits or await self._settle(held)
        if not held.live:
            self._refuse(ident, _OVER)
        elif settled:
            await self._put(ident, question, held)
        else:
            self._refuse_unattributable(ident, question.method)

    async def _settle(self, held: RequestOrigin) -> bool:
        """Wait until it is known whose a question is; whether it is."""
        # Four fifths of what the first call has left: then that call can still fail with the reason, and not by its time limit.
        patience_s = min([HELD_S, *(0.8 * one.left for one in held.live.values())])
        await asyncio.wait([held.decided], timeout=patience_s)
        return held.end_wait()

    async def _put(self, ident: bytes, question: Question, held: RequestOrigin) -> None:
        """Ask the newest exchange that can be asked, while any candidate is alive."""
        # All of them: the server waits for this answer, and which of its calls do is not known (decision 0004).
        paused = list(held.live.values())
        for one in paused:
            one.pause()
        asking = asyncio.ensure_future(self._ask(question, paused[::-1]))
        try:
            both: list[asyncio.Future[Any]] = [asking, held.over]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if asking.done() and not asking.cancelled():
                self._send(jsonrpc.response(ident, jsonrpc.encode(asking.result())))
            else:
                self._refuse(ident, _OVER)
        finally:
            asking.cancel()
            for one in paused:
                one.resume()

    async def _ask(
        self, question: Question, newest_first: list[PendingRequest]
    ) -> dict[str, object]:
        no: CannotAsk | None = None
        for one in newest_first:
            params = question.params
            if type(params) is dict:
                params = self.related.inward(params, one.call)
            try:
                found = await _back(one).ask(replace(question, params=params))
                return self.related.outward(found, one.call)
            except CannotAsk as problem:
                no = no or problem
        raise no or CannotAsk("nobody can be asked")

    async def _run_outside(self, request: jsonrpc.Request, ask: Outside) -> None:
        found = await ask(Question(request.method, _params_of(request)))
        self._send(jsonrpc.response(request.id, jsonrpc.encode(found)))

    def _nobody(self, request: jsonrpc.Request) -> None:
        self.roots_wanted = self.roots_wanted or request.method == "roots/list"
        if self.outside is not None:
            self._keep(request.id, partial(self._run_outside, request, self.outside))
            return
        if request.method == "roots/list":
            # Asked outside any call. The gateway has no roots of its own, and what one caller
            # shows is nobody else's business.
            self._send(jsonrpc.response(request.id, b'{"roots":[]}'))
            return
        self._refuse(
            request.id,
            "no call is in flight on this connection, so there is nobody to ask",
            jsonrpc.INVALID_REQUEST,
        )

    def _refuse_unattributable(self, ident: bytes, method: str) -> None:
        # What each further one needs is the same: a server that goes on asking is not to fill the log.
        level, self._warned = logging.DEBUG if self._warned else logging.WARNING, True
        log.log(level, "server %s asked %s; %s", self._server, method, _HINT)
        self._refuse(ident, f"{UNATTRIBUTABLE}: {_HINT}")

    def _refuse(
        self, ident: bytes, message: str, code: int = jsonrpc.INTERNAL_ERROR, data: object = None
    ) -> None:
        self._send(jsonrpc.error(ident, (code, message, data)))


def _params_of(request: jsonrpc.Request) -> Any:
    try:
        return jsonrpc.decode(request.params) if request.params else None
    except ValueError as problem:
        raise CannotAsk(f"params cannot be read: {problem}", jsonrpc.INVALID_PARAMS) from None


_OVER = "the call that this belongs to is over"
_CROWDED = "too many questions are open for the calls in flight; wait until some are answered"
_HINT = (
    "calls of several sessions, or of keys with other limits, are in flight on one connection and none can be told to be the one "
    'that asks; set share = "session" for this server to give each session its own, and open a session with each key'
)


def _back(exchange: PendingRequest) -> Back:
    if exchange.back is None:
        raise CannotAsk("the gateway itself made this request")
    exchange.heard = True
    return exchange.back
