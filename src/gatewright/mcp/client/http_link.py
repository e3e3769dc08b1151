"""`HttpLink`: client connection over Streamable HTTP: POSTs, event streams, resumption; renews lost sessions, resends what is safe.

What comes on the stream of a POST belongs to that request for certain, so questions need no guessing. A session of a legacy
server can be lost: it is made again, and what was refused for its sake is sent again, because it was not executed. Only a tool
call goes back unsent: whether the tool is still the same has to be seen first. A request whose connection broke is sent again
only where that is harmless; otherwise the caller is told that the outcome is unknown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from gatewright.call import RECONNECT, Event, Failure
from gatewright.mcp.client.authorization import NotAuthorized
from gatewright.mcp.client.endpoint import Endpoint
from gatewright.mcp.client.http_endpoint import HttpEndpoint
from gatewright.mcp.client.http_rules import (
    IN_TROUBLE,
    Pauses,
    answer_in,
    gone,
    may_repeat,
    messages,
    refusal,
    resume_ms,
    session_is_lost,
    speaks_of_session,
    unsent,
)
from gatewright.mcp.client.link import Link, LinkClosed, ServerFailed, Sink
from gatewright.mcp.client.outgoing import question
from gatewright.mcp.client.pending_requests import Params, PendingRequest, Reply
from gatewright.mcp.client.response_queue import ResponseQueue
from gatewright.mcp.client.session_probe import LostSessions, is_gone, refuses_alike
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import request_headers
from gatewright.transport.cancelled_tasks import let_go
from gatewright.transport.http_client import (
    AnswerTooLarge,
    BadAnswer,
    ConnectionBroken,
    Posted,
    UpstreamError,
)

__all__ = ["DRAIN_S", "HttpLink"]

log = logging.getLogger("gatewright.mcp.client")

BACKGROUND_S = 30.0
"""The time limit of what nobody waits for: answers to the server, notifications."""

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
        self._answers = ResponseQueue(spec.id, lambda frame: self._post(frame, "", {}), self.spawn)
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
            self._listening = self.spawn(self._listen_for_unsolicited())

    def close(self, reason: str) -> None:
        """End the connection; what is in flight fails. Idempotent."""
        self._retire(reason)
        self._questions.close()
        for exchange in list(self._pending.values()):
            exchange.settle(self._gone(sent=True))
        for task in list(self._tasks):
            task.cancel()

    async def stop(self, grace_s: float) -> None:
        """Like `close`, after what is in flight had its time; ends the session where there is one."""
        self._retire("stopped")
        calls = [one.future for one in self._pending.values() if one.call is not None]
        if calls:
            await asyncio.wait(calls, timeout=grace_s)
        self.close("stopped")
        try:
            async with asyncio.timeout(grace_s):
                await self.wire.goodbye()
        except (TimeoutError, UpstreamError, ServerFailed):
            log.debug("server %s did not hear our goodbye", self.spec.id)
        finally:
            await self.wire.close()

    def _gone(self, *, sent: bool) -> Failure:
        return gone(self.spec.id, self._closing, sent=sent)

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
            return self._gone(sent=False)
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
        if self.modern:
            self._questions.answered(exchange)
            return
        if self._listening is None or self._listening.done():
            self._questions.answered(exchange)
        else:
            # It may still run over there, and ask on the stream that belongs to no call.
            self._questions.abandoned(exchange)
        self._cancels.call_off(exchange, "nobody waits for the answer any more")

    async def _talk(self, exchange: PendingRequest, method: str, params: Params) -> None:
        """Send one request and settle its exchange."""
        try:
            await self._converse(exchange, method, params)
        except LinkClosed:
            exchange.settle(self._gone(sent=False))
        except NotAuthorized as problem:
            if problem.altogether:
                self._retire(str(problem))  # no call can do better before a person has logged in
            exchange.settle(Failure("upstream_unavailable", str(problem)))
        except ServerFailed as problem:
            exchange.settle(Failure("upstream_unavailable", str(problem)))
        except Exception:
            log.exception("server %s: %s broke the link", self.spec.id, method)
            exchange.settle(Failure("internal"))

    async def _converse(self, exchange: PendingRequest, method: str, params: Params) -> None:
        """Send one request, again where that is right."""
        body = question(exchange.ident, method, params)
        headers = self._headers(exchange, method, params)
        take = partial(self._arrived, exchange)
        judged = exchange.call is not None and exchange.call.tool is not None
        acts = not may_repeat(exchange.call)
        renewed = repeated = False
        while True:
            waited = self._renewing is not None and await self._renewal()
            if (waited or renewed) and judged:
                exchange.settle(unsent(self.spec.id))
                return
            session = self.wire.session
            try:
                posted = await self.wire.post(body, headers, take, acts=acts)
                if not renewed and await self._is_lost(posted, session, exchange.ident):
                    renewed = True
                    await self._renew(session)
                    continue
                self._lost.took(posted, session)
                await self._read(posted, exchange)
                if posted.status == 404 and session is not None and self.open and not renewed:
                    self.spawn(self._doubt(session))
                return
            except UpstreamError as problem:
                again = isinstance(problem, ConnectionBroken) and not problem.not_sent
                if repeated or not again or exchange.heard or not may_repeat(exchange.call):
                    self._failed(problem, exchange)
                    return
                repeated = True

    def _failed(self, problem: UpstreamError, exchange: PendingRequest) -> None:
        if problem.not_sent:
            self._retire(str(problem))
            exchange.settle(self._gone(sent=False))
        elif isinstance(problem, AnswerTooLarge | BadAnswer):
            exchange.settle(Failure("upstream_error", str(problem)))
        else:
            text = f"{problem}; the outcome of the call is unknown"
            failure = Failure("upstream_unavailable", text, {"sent": True}, retry_after_ms=1000)
            exchange.settle(failure)

    def _headers(self, exchange: PendingRequest, method: str, params: Params) -> dict[str, str]:
        if not self.modern or self.hello is None:
            return {}
        call = exchange.call
        annotations = call.tool.headers if call is not None and call.tool is not None else {}
        return request_headers(method, params, annotations, self.hello.revision)

    async def _is_lost(self, posted: Posted, session: str | None, ident: int) -> bool:
        """Whether a request was refused because the server forgot our session, and so not executed."""
        if posted.status not in (400, 404) or posted.body is None or session is None:
            return False
        said = answer_in(posted.body, ident)
        if session_is_lost(posted.status, said, True, ident):
            return True
        if not speaks_of_session(posted.status, said, ident):
            return False
        return await refuses_alike(self.wire, session, self._ident())

    def _ident(self) -> int:
        ident = self._next
        self._next = ident + 1
        return ident

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
        if not await self._renewal() and self.wire.session == lost:
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
        self._questions.forgotten()
        self._answers.clear()
        if self._listening is not None:
            self._listening.cancel()
        try:
            async with asyncio.timeout(limit := self.spec.connect_s):
                await self.start()
        except (TimeoutError, ServerFailed) as problem:
            self._retire(str(problem) or f"no new session within {limit:g} s")
            raise LinkClosed(self._closing) from None
        self._renumber()
        self.sink.renewed(self)

    # -- what comes back -------------------------------------------------------------------------------

    async def _read(self, posted: Posted, exchange: PendingRequest) -> None:
        """Settle a request by its answer, whichever form that has."""
        if posted.body is None:
            await self._follow(posted, exchange)
        elif not 200 <= posted.status < 300:
            said = answer_in(posted.body, exchange.ident)
            exchange.settle(refusal(self.spec.id, posted.status, posted.headers, said))
        else:
            self._arrived(exchange, posted.body)
            if not exchange.future.done():
                text = f"server {self.spec.id} answered HTTP {posted.status} without an answer"
                exchange.settle(Failure("upstream_error", text))

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
        try:
            posted = await self.wire.listen(partial(self._arrived, exchange), last_id)
        except UpstreamError as problem:
            # Whether this request was sent matters to nobody: the call itself was sent long ago.
            raise ConnectionBroken(str(problem)) from None
        if not posted.streamed:
            status = posted.status
            raise ConnectionBroken(f"the stream ended and cannot be resumed (HTTP {status})")
        return posted

    def _arrived(self, exchange: PendingRequest | None, data: bytes) -> None:
        """Take what came in answer to a request, or, without one, on the stream for everything else."""
        for message in messages(data):
            if isinstance(message, jsonrpc.Response):
                self._answered(message, exchange)
            elif isinstance(message, jsonrpc.Notification):
                self._notified(message, exchange)
            elif isinstance(message, jsonrpc.Request):
                exact = exchange is not None
                candidates = [exchange] if exchange is not None else list(self._pending.values())
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

    async def _listen_for_unsolicited(self) -> None:
        """Hold the stream of a legacy server for what belongs to no request, where it has one."""
        last_id, pauses = "", Pauses()
        take = pauses.hearing(partial(self._arrived, None))
        while self.open:
            try:
                posted = await self.wire.listen(take, last_id)
                if not posted.streamed and posted.status not in IN_TROUBLE:
                    return
                last_id = posted.last_event_id or last_id
                pause_s = pauses.ended(posted.retry_ms) if posted.streamed else pauses.failed()
            except (UpstreamError, ServerFailed):  # a proxy or a token endpoint that is in trouble
                pause_s = pauses.failed()
            await asyncio.sleep(pause_s)

    # -- out -----------------------------------------------------------------------------------------

    def notify(self, method: str, params: Params) -> None:
        """Tell the server something. Lost without a word when the connection is gone."""
        if not self._closing:
            self.spawn(self._post(jsonrpc.notification(method, params), method, params))

    def _reply(self, frame: bytes) -> None:
        if not self._closing:
            self._answers.send(frame)

    def _remark(self, frame: bytes) -> None:
        if not self._closing:
            self._answers.remark(frame)

    async def _post(self, frame: bytes, method: str, params: Params) -> None:
        headers = {}
        if self.modern and self.hello is not None:
            headers = request_headers(method, params, {}, self.hello.revision)
        try:
            async with asyncio.timeout(BACKGROUND_S):
                await self.wire.post(frame, headers, partial(self._arrived, None))
        except (TimeoutError, UpstreamError, ServerFailed) as problem:
            log.info("server %s was not told %s: %s", self.spec.id, method or "an answer", problem)
