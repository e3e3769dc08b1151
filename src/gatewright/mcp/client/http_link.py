"""`HttpLink`: client connection over Streamable HTTP: POSTs, event streams, resumption; renews lost sessions, resends what is safe.

What comes on the stream of a POST belongs to that request, so questions need no guessing. A lost session of a legacy server is made again, and what
was refused for its sake is sent again, because it was not executed; only a tool call goes back unsent: whether the tool is still the same has to be
seen first. A request whose connection broke is sent again only where that is harmless; otherwise its outcome is unknown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from gatewright.call import RECONNECT, Event, Failure
from gatewright.mcp.client.authorization import NotAuthorized
from gatewright.mcp.client.background_posts import NOBODY, BackgroundPosts
from gatewright.mcp.client.endpoint import Endpoint
from gatewright.mcp.client.http_endpoint import HttpEndpoint
from gatewright.mcp.client.http_rules import (
    NOT_REACHED,
    answer_in,
    answers,
    gone,
    headers_of,
    is_numbered,
    is_own,
    lost,
    may_repeat,
    messages,
    once_more,
    refusal,
    resume_ms,
    unsent,
)
from gatewright.mcp.client.link import Link, LinkClosed, ServerFailed, Sink
from gatewright.mcp.client.outgoing import question
from gatewright.mcp.client.pending_requests import Params, PendingRequest, Reply
from gatewright.mcp.client.session_probe import LostSessions, is_gone, is_lost
from gatewright.mcp.client.unsolicited_stream import follow_unsolicited
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.cancelled_tasks import let_go
from gatewright.transport.http_client import ConnectionBroken, OnMessage, Posted, UpstreamError

__all__ = ["DRAIN_S", "HttpLink"]

log = logging.getLogger("gatewright.mcp.client")

DRAIN_S = 1.0
"""How long the end of a stream is waited for after its answer, so that its connection can be used again."""
_RESUMES = 100
"""How often one answer may be asked for again; the call's own time limit usually ends it before."""


class HttpLink(Link):
    """`greet` says hello over a wire; it is called again when the server has lost our session."""

    def __init__(
        self,
        spec: Endpoint,
        info: Mapping[str, Any],
        sink: Sink,
        wire: HttpEndpoint,
        greet: Callable[[HttpLink], Awaitable[None]],
    ) -> None:
        super().__init__(spec, info, sink)
        self.wire = wire
        self._greet = greet
        self._tasks: set[asyncio.Task[Any]] = set()
        self._posts = BackgroundPosts(spec.id, wire, self._headers, self._taker, self.spawn)
        self._listening: asyncio.Task[Any] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._doubted: str | None = None
        self._lost = LostSessions()

    # -- life ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Say hello. Raises `ServerFailed`."""
        try:
            await self._greet(self)
        except UpstreamError as problem:
            raise ServerFailed(str(problem)) from None
        if not self.modern:
            self._listening = self.spawn(
                follow_unsolicited(self.wire, self._taker(self.wire.session))
            )

    def close(self, reason: str) -> None:
        """End the connection; what is in flight fails. Idempotent."""
        self._retire(reason)
        self._questions.close()
        for exchange in list(self._pending.values()):
            exchange.settle(self._gone(exchange))
        for task in self._tasks - self._posts.closed():
            task.cancel()

    async def stop(self, grace_s: float) -> None:
        """Like `close`, after what is in flight had its time, all of it where the trouble was another's; ends the session where there is one."""
        limit_s = None if self._closing and self.patient else grace_s
        self._retire("stopped")
        try:
            if calls := [one.future for one in self._pending.values() if one.call is not None]:
                await asyncio.wait(calls, timeout=limit_s)
            self.close("stopped")
            await self._posts.last()
            async with asyncio.timeout(grace_s):
                await self.wire.goodbye()
        except (TimeoutError, UpstreamError, ServerFailed):
            log.debug("server %s did not hear our goodbye", self.spec.id)
        finally:
            self.close("stopped")
            await self.wire.close()

    def _gone(self, exchange: PendingRequest) -> Failure:
        return gone(self.spec.id, self._closing, sent=exchange.sent_in > 0)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do something that ends with the link."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        let_go(task)  # its exchange has it: a call that was given up would be kept
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.warning("server %s: %s: %s", self.spec.id, type(problem).__name__, problem)

    @property
    def told_on(self) -> int:
        """0 where there is no session: the server may have begun to count anew at any time."""
        return 0 if self.wire.session is None else self.number

    # -- one request ---------------------------------------------------------------------------------

    def _send(self, exchange: PendingRequest, method: str, params: Params) -> Reply | None:
        if self._closing:
            return self._gone(exchange)
        exchange.work = self.spawn(self._talk(exchange, method, params))
        return None

    def _over(self, exchange: PendingRequest) -> None:
        if self._questions.held:
            self._questions.answered(exchange)
        talk = exchange.work
        if talk is not None and not talk.done():
            self._loop.call_later(DRAIN_S, talk.cancel)

    def _abandon(self, exchange: PendingRequest, reason: str) -> None:
        if exchange.work is not None:
            exchange.work.cancel()  # closes the stream, which is how a modern call is cancelled
        runs = self._may_go_on(exchange)
        (self._questions.abandoned if runs else self._questions.answered)(exchange)
        if not self.modern and exchange.sent_in == self.number:
            self._cancels.call_off(exchange, NOBODY)
        elif exchange.sent_in:
            self._posts.call_off(exchange.ident, exchange.session)

    def at_work(self) -> list[PendingRequest]:
        """What was sent in this session; what a lost one still answers is none of it."""
        return [one for one in self._pending.values() if one.sent_in == self.number]

    def _may_go_on(self, exchange: PendingRequest) -> bool:
        """Whether a request may run over there, although nobody waits for it here, and ask on a stream that belongs to none."""
        hears = not (self.modern or self._listening is None or self._listening.done())
        return hears and exchange.sent_in == self.number

    def _fail(self, exchange: PendingRequest, reply: Reply) -> None:
        """Settle a request without a word of its server."""
        if exchange.settle(reply) and self._may_go_on(exchange):
            self._questions.abandoned(exchange)

    async def _talk(self, exchange: PendingRequest, method: str, params: Params) -> None:
        """Send one request and settle its exchange."""
        try:
            await self._converse(exchange, method, params)
        except UpstreamError as problem:
            self._lost_on_its_way(exchange, problem)
        except LinkClosed:
            self._fail(exchange, self._gone(exchange))
        except ServerFailed as problem:
            others = any(one.sent_in for one in self._pending.values() if one.call and not one.over)
            if isinstance(problem, NotAuthorized) and problem.altogether and not others:
                self._retire(str(problem))  # no call can do better before a person has logged in
            sent = {"sent": True} if exchange.sent_in else {}
            self._fail(exchange, Failure("upstream_unavailable", str(problem), sent))
        except Exception:
            log.exception("server %s: %s broke the link", self.spec.id, method)
            self._fail(exchange, Failure("internal"))

    async def _converse(self, exchange: PendingRequest, method: str, params: Params) -> None:
        """Send one request, again where that is right."""
        ident, call = exchange.ident, exchange.call
        body = question(ident, method, params)
        headers = headers_of(self.hello, method, params, call)
        take = partial(self._arrived, exchange)
        judged = call is not None and call.tool is not None
        acts, renewed = not may_repeat(call, method), False
        while True:
            waited = self._renewing is not None and await self._renewal()
            if self._closing:
                raise LinkClosed(self._closing)
            moved = exchange.sent_in not in (0, self.number)
            if (waited or renewed or moved) and judged:
                self._fail(exchange, unsent(self.spec.id, ran=exchange.sent_in > 0))
                return
            session, before = self.wire.session, exchange.sent_in
            exchange.sent_in, exchange.session = self.number, session
            try:
                posted = await self.wire.post(body, headers, take, acts=acts)
                if renewed or not await is_lost(self.wire, posted, session, ident, self._ident):
                    await self._answer(posted, session, exchange, before, doubted=not renewed)
                    return
            except (UpstreamError, ServerFailed) as problem:
                if not isinstance(problem, UpstreamError) or problem.not_sent:
                    exchange.sent_in = before
                if acts or before or exchange.heard or not once_more(problem):
                    raise
                continue
            exchange.sent_in, renewed = before, True
            await self._renew(session)

    def _lost_on_its_way(self, exchange: PendingRequest, problem: UpstreamError) -> None:
        if problem.not_sent:
            if not self.wire.reachable:  # else the server is there, and others are at work with it
                self._retire(str(problem))
            sent, why = exchange.sent_in > 0, str(problem)
            self._fail(exchange, gone(self.spec.id, why, sent=sent, how=NOT_REACHED))
        elif answers(problem, exchange.ident):
            exchange.settle(lost(problem))
        else:
            self._fail(exchange, lost(problem))

    def _ident(self) -> int:
        self._next += 1
        return self._next - 1

    async def _doubt(self, session: str) -> None:
        """An answer to a call that is a 404 as well may mean the session: then later calls get a new one."""
        if self._doubted == session:
            return  # that is being asked
        self._doubted = session
        try:
            if await is_gone(self.wire, session, self._ident()):
                await self._renew(session)
        finally:
            self._doubted = None

    async def _renew(self, lost: str | None) -> None:
        """Make the session again, once for all requests that were refused for it."""
        if not await self._renewal() and self.wire.session == lost and not self._closing:
            self._renewing = self.spawn(self._greet_again(lost))
            await self._renewal()

    async def _renewal(self) -> bool:
        """Wait for a new session, where one is being made."""
        renewing = self._renewing
        if renewing is None or renewing.done():
            return False
        await asyncio.shield(renewing)
        return True

    async def _greet_again(self, lost: str | None) -> None:
        if self._lost.again(lost):
            self._retire("it forgets each session that it gives before it has answered anything")
            raise LinkClosed(self._closing)
        log.info("server %s lost our session; it is made again", self.spec.id)
        self.wire.session = self.wire.revision = None
        self._renumber()  # what is of the lost one is none of the next from here on
        self._notes.forgotten()
        self._posts.forget()
        if self._listening is not None:
            self._listening.cancel()
        try:
            async with asyncio.timeout(limit := self.spec.connect_s):
                await self.start()
        except Exception as problem:
            if not isinstance(problem, TimeoutError | ServerFailed):
                log.exception("server %s: no new session", self.spec.id)
            self._posts.state = "unadmitted"
            self._retire(str(problem) or f"no new session within {limit:g} s")
            raise LinkClosed(self._closing) from None
        self.sink.renewed(self)

    # -- what comes back -------------------------------------------------------------------------------

    async def _answer(
        self,
        posted: Posted,
        session: str | None,
        exchange: PendingRequest,
        before: int,
        *,
        doubted: bool,
    ) -> None:
        """Settle a request by its answer, whichever form that has. `before` is where it was sent the time before."""
        self._lost.took(posted, session)
        if posted.body is None:
            await self._follow(posted, exchange)
        elif not 200 <= posted.status < 300:
            self._refused(posted, exchange, before)
        else:
            self._arrived(exchange, posted.body)
            if not exchange.future.done():
                text = f"server {self.spec.id} answered HTTP {posted.status} without an answer"
                self._fail(exchange, Failure("upstream_error", text))
        if posted.status == 404 and session is not None and self.open and doubted:
            self.spawn(self._doubt(session))

    def _refused(self, posted: Posted, exchange: PendingRequest, before: int) -> None:
        """A server that answers a request by its own number has ended it. Who stands before a server has not passed it on, or from 500 on has
        given it up, as proxies do after a minute, and the server may still work on it."""
        said = answer_in(posted.body or b"", exchange.ident)
        found = refusal(self.spec.id, posted.status, posted.headers, said)
        if is_own(said, exchange.ident):
            exchange.settle(found)
            return
        if posted.status < 500:
            exchange.sent_in = before
        self._fail(exchange, found)

    async def _follow(self, posted: Posted, exchange: PendingRequest) -> None:
        """A stream has ended. Where it did so before the answer, ask for the rest of it."""
        last_id, wait_ms = posted.last_event_id, resume_ms(None)
        for _ in range(_RESUMES):
            if exchange.future.done():
                return
            last_id = posted.last_event_id or last_id
            if not last_id or self.modern:  # MCP 2026-07-28 has no resumption
                raise ConnectionBroken("the stream ended before the answer")
            wait_ms = wait_ms if posted.retry_ms is None else resume_ms(posted.retry_ms)
            if exchange.back is not None and posted.ended == "complete":
                exchange.back.emit(Event(RECONNECT, {"retry_ms": wait_ms}))
            await asyncio.sleep(wait_ms / 1000)
            posted = await self._resumed(exchange, last_id)
        raise ConnectionBroken("the stream ended too often before the answer")

    async def _resumed(self, exchange: PendingRequest, last_id: str) -> Posted:
        if exchange.sent_in != self.number:  # the next session may have streams of the same ids
            raise ConnectionBroken("the session is lost in which the stream could be resumed")
        try:
            posted = await self.wire.listen(partial(self._arrived, exchange), last_id)
        except (UpstreamError, ServerFailed) as problem:
            # Whether this request was sent matters to nobody: the call itself was sent long ago.
            raise ConnectionBroken(str(problem)) from None
        if not posted.streamed:
            raise ConnectionBroken(f"the stream cannot be resumed (HTTP {posted.status})")
        return posted

    def _taker(self, session: str | None) -> OnMessage:
        """What takes that which comes in a session and in answer to no request."""
        number = self.number if session == self.wire.session else 0  # of one that is lost
        return partial(self._arrived, None, number=number)

    def _arrived(self, exchange: PendingRequest | None, data: bytes, number: int = 0) -> None:
        """Take what came in answer to a request, or, without one, on a stream of the session of this `number` for everything else."""
        past = (number if exchange is None else exchange.sent_in) != self.number
        for message in messages(data):
            if isinstance(message, jsonrpc.Response):
                self._answered(message, exchange)
            elif past and (exchange is None or is_numbered(message)):
                self._drop("what is of a session that is lost")
                if isinstance(message, jsonrpc.Request) and exchange is not None:
                    self._posts.refuse(message, exchange.session)
            elif isinstance(message, jsonrpc.Notification):
                self._notified(message, exchange)
            elif isinstance(message, jsonrpc.Request):
                exact = exchange is not None
                candidates = [exchange] if exchange is not None else self.at_work()
                self._questions.put(message, candidates, exact=exact)
            else:
                self._drop(f"an unreadable message: {message.message}")

    def _answered(self, response: jsonrpc.Response, exchange: PendingRequest | None) -> None:
        if response.id != b"null":
            # Also answers to other requests: one stream may bring what another lost.
            ident = int(response.id) if response.id.isdigit() else -1
            exchange = self._pending.get(ident)
            if exchange is None:
                self._questions.laid(ident, response)
        if exchange is None or not exchange.settle(response):
            self._drop("an answer to a request that is not open")

    # -- out -----------------------------------------------------------------------------------------

    def _headers(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        return headers_of(self.hello, method, params)

    def notify(self, method: str, params: Params) -> None:
        """Tell the server something. Lost without a word when the connection is gone."""
        self._posts.notify(method, params)

    def _reply(self, frame: bytes) -> None:
        self._posts.reply(frame)

    def _remark(self, frame: bytes) -> None:
        self._posts.remark(frame)
