"""A link over Streamable HTTP, both eras: each request is a POST of its own, answered as JSON or as a stream.

What comes on the stream of a POST belongs to that request for certain, so questions need no guessing.
A legacy server gives a session, which can be lost: it is made again, and what was refused for its sake
is repeated, because it was not executed. What broke on its way is repeated only where repeating is
harmless; otherwise the caller is told that the outcome is unknown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import Any

from gatewright.call import RECONNECT, Event, Failure
from gatewright.upstream.exchange import EXPIRED, Exchange, Reply
from gatewright.upstream.http_rules import (
    error_in,
    is_stream,
    may_repeat,
    refusal,
    session_is_lost,
)
from gatewright.upstream.http_wire import Broken, HttpAnswer, HttpWire, NotSent
from gatewright.upstream.link import Link, Sink, UpstreamFailed
from gatewright.upstream.spec import ServerSpec
from gatewright.wire import jsonrpc
from gatewright.wire.mcp import request_headers
from gatewright.wire.sse import SseEvent

__all__ = ["HttpLink"]

log = logging.getLogger("gatewright.upstream")

BACKGROUND_S = 30.0
"""The time limit of what nobody waits for: answers to the server, notifications."""

RESUME_MS = 1000
"""How soon a stream that broke off is asked for again, where the server does not say."""

DRAIN_S = 1.0
"""How long the end of a stream is waited for after its answer, so that its connection can be used again."""

_RESUMES = 100
"""How often one answer may be asked for again; the call's own time limit usually ends it before."""


class HttpLink(Link):
    """`greet` says hello over a wire; it is called again when the server has lost our session."""

    def __init__(
        self,
        spec: ServerSpec,
        info: Mapping[str, Any],
        sink: Sink,
        wire: HttpWire,
        greet: Callable[[HttpLink], Awaitable[None]],
    ) -> None:
        super().__init__(spec, info, sink)
        self.wire = wire
        self._greet = greet
        self._closing = ""
        self._ended: asyncio.Future[str] = self._loop.create_future()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._listening: asyncio.Task[Any] | None = None
        self._renewing: asyncio.Task[None] | None = None

    # -- life ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Say hello. Raises `UpstreamFailed`; `NotSent` and `Broken` are told as that."""
        try:
            await self._greet(self)
        except (NotSent, Broken) as problem:
            raise UpstreamFailed(str(problem)) from None
        if not self.modern:
            self._listening = self.spawn(self._listen_for_unsolicited())

    @property
    def open(self) -> bool:
        """Whether a call can be sent now."""
        return self.hello is not None and not self._closing

    def close(self, reason: str) -> None:
        """End the connection; what is in flight fails. Idempotent."""
        self._retire(reason)
        self._questions.close()
        for exchange in list(self._pending.values()):
            exchange.settle(self._gone(sent=True))
        for task in list(self._tasks):
            task.cancel()

    def _retire(self, reason: str) -> None:
        """Take no more calls. What is in flight on its own connection may still be answered."""
        if not self._closing:
            self._closing = reason or "closed"
            self._ended.set_result(self._closing)

    async def wait_closed(self) -> str:
        """Wait for the end, and return its reason."""
        return await asyncio.shield(self._ended)

    async def stop(self, grace_s: float) -> None:
        """Like `close`, after what is in flight had its time; ends the session where there is one."""
        self._retire("stopped")
        if self._pending:
            waiting = [exchange.future for exchange in self._pending.values()]
            await asyncio.wait(waiting, timeout=grace_s)
        self.close("stopped")
        try:
            async with asyncio.timeout(grace_s):
                await self.wire.goodbye()
        except (TimeoutError, NotSent, Broken, UpstreamFailed):
            log.debug("server %s did not hear our goodbye", self.spec.id)
        finally:
            await self.wire.close()

    def _gone(self, *, sent: bool) -> Failure:
        what = "the call was on its way: its outcome is unknown" if sent else "it was not sent"
        return Failure(
            "upstream_unavailable",
            f"server {self.spec.id} is gone ({self._closing}); {what}",
            {"sent": sent},
            retry_after_ms=1000,
        )

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do something that ends with the link."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.warning("server %s: %s: %s", self.spec.id, type(problem).__name__, problem)

    # -- one request ---------------------------------------------------------------------------------

    async def _exchange(
        self, exchange: Exchange, method: str, params: dict[str, Any], deadline: float
    ) -> Reply:
        if self._closing:
            return self._gone(sent=False)
        ident = exchange.ident
        self._pending[ident] = exchange
        exchange.arm(deadline)
        talk = self.spawn(self._talk(exchange, method, params))
        reply: Reply = EXPIRED
        try:
            reply = await exchange.future
        finally:
            exchange.end()
            self._pending.pop(ident, None)
            self._questions.answered(exchange)
            if type(reply) is not jsonrpc.Response:
                talk.cancel()  # closes the stream, which is how a modern call is cancelled
                if reply is EXPIRED and not self.modern:
                    gone = {"requestId": ident, "reason": "nobody waits for the answer any more"}
                    self.notify("notifications/cancelled", gone)
        return reply

    async def _talk(self, exchange: Exchange, method: str, params: dict[str, Any]) -> None:
        """Send one request and settle its exchange."""
        try:
            await self._converse(exchange, method, params)
        except UpstreamFailed as problem:
            exchange.settle(Failure("upstream_unavailable", str(problem)))
        except Exception:
            log.exception("server %s: %s broke the link", self.spec.id, method)
            exchange.settle(Failure("internal"))

    async def _converse(self, exchange: Exchange, method: str, params: dict[str, Any]) -> None:
        """Send one request, again where that is right."""
        body = jsonrpc.request(b"%d" % exchange.ident, method, params)
        headers = self._headers(exchange, method, params)
        again = may_repeat(exchange.call)
        renewed = False
        while True:
            try:
                session = self.wire.session
                answer = await self.wire.post(body, headers)
                if 200 <= answer.status < 300:
                    await self._read(answer, exchange)
                    return
                lost = await self._refused(answer, exchange, session)
                if lost and not renewed:
                    renewed = True
                    await self._renew(session)
                    continue
                return
            except NotSent as problem:
                self._retire(str(problem))
                exchange.settle(self._gone(sent=False))
                return
            except Broken as problem:
                if again:
                    again = False
                    continue
                exchange.settle(self._unknown(str(problem)))
                return

    def _headers(self, exchange: Exchange, method: str, params: dict[str, Any]) -> dict[str, str]:
        if not self.modern or self.hello is None:
            return {}
        call = exchange.call
        annotations = call.tool.headers if call is not None and call.tool is not None else {}
        return request_headers(method, params, annotations, self.hello.revision)

    async def _refused(self, answer: HttpAnswer, exchange: Exchange, session: str | None) -> bool:
        """Settle a refused request, or return True where the lost session is to blame."""
        error = error_in(await answer.read())
        if session_is_lost(answer.status, error, session is not None):
            return True
        exchange.settle(refusal(self.spec.id, answer.status, answer.headers, error))
        return False

    async def _renew(self, lost: str | None) -> None:
        """Make the session again, once for all requests that were refused for it."""
        if self.wire.session != lost:
            return
        if self._renewing is None or self._renewing.done():
            self._renewing = self.spawn(self._greet_again())
        await asyncio.shield(self._renewing)

    async def _greet_again(self) -> None:
        log.info("server %s lost our session; it is made again", self.spec.id)
        self.wire.session = self.wire.revision = None
        if self._listening is not None:
            self._listening.cancel()
        try:
            await self.start()
        except UpstreamFailed as problem:
            self.close(str(problem))
            raise
        self.sink.renewed(self)

    def _unknown(self, reason: str) -> Failure:
        return Failure(
            "upstream_unavailable",
            f"the connection to server {self.spec.id} broke in the middle of the call ({reason}); "
            "its outcome is unknown",
            {"sent": True},
            retry_after_ms=1000,
        )

    # -- what comes back -------------------------------------------------------------------------------

    async def _read(self, answer: HttpAnswer, exchange: Exchange) -> None:
        """Read the answer to a request to its end, whichever form it has. Raises `Broken`."""
        if is_stream(answer.headers):
            await self._follow(answer, exchange)
            return
        body = await answer.read()
        for message in _messages(body):
            self._take(message, exchange)
        if not exchange.future.done():
            text = f"server {self.spec.id} answered HTTP {answer.status} without an answer in it"
            exchange.settle(Failure("upstream_error", text))

    async def _follow(self, answer: HttpAnswer, exchange: Exchange) -> None:
        """Read a stream until it has the answer; one that ends before is asked for again."""
        last_id = ""
        for _ in range(_RESUMES):
            broken: Broken | None = None
            events = answer.events()
            try:
                async for event in events:
                    for message in _messages(event.data):
                        self._take(message, exchange)
                    if exchange.future.done():
                        await _drain(events)
                        return
            except Broken as problem:
                broken = problem
            finally:
                answer.close()
            last_id = answer.last_event_id or last_id
            if not last_id or self.modern:
                raise broken or Broken("the stream ended before the answer")
            wait_ms = RESUME_MS if answer.retry_ms is None else answer.retry_ms
            if exchange.back is not None and broken is None:
                exchange.back.emit(Event(RECONNECT, {"retry_ms": wait_ms}))
            await asyncio.sleep(wait_ms / 1000)
            answer = await self._resumed(last_id)
        raise Broken("the stream ended too often before the answer")

    async def _resumed(self, last_id: str) -> HttpAnswer:
        try:
            answer = await self.wire.get(last_id)
        except NotSent as problem:
            # Not this request, but the one it belongs to: that was sent long ago.
            raise Broken(str(problem)) from None
        if answer.status != 200 or not is_stream(answer.headers):
            answer.close()
            raise Broken(f"the stream ended, and cannot be resumed (HTTP {answer.status})")
        return answer

    def _take(self, message: jsonrpc.Message, exchange: Exchange | None) -> None:
        """Take one message; `exchange` is the request on whose stream it came."""
        if isinstance(message, jsonrpc.Response):
            self._answered(message, exchange)
        elif isinstance(message, jsonrpc.Notification):
            self._notified(message, exchange)
        elif isinstance(message, jsonrpc.Request):
            if exchange is not None:
                self._questions.put(message, [exchange], exact=True)
            else:
                self._questions.put(message, list(self._pending.values()))
        else:
            self._drop(f"an unreadable message: {message.message}")

    def _answered(self, response: jsonrpc.Response, exchange: Exchange | None) -> None:
        if response.id != b"null":
            # Also answers to other requests: one stream may bring what another lost.
            exchange = self._pending.get(int(response.id)) if response.id.isdigit() else None
        if exchange is None or not exchange.settle(response):
            self._drop("an answer to a request that is not open")

    async def _listen_for_unsolicited(self) -> None:
        """Hold the stream of a legacy server for what belongs to no request, where it has one."""
        last_id, pause_s = "", RESUME_MS / 1000
        while self.open:
            try:
                answer = await self.wire.get(last_id)
                if answer.status != 200 or not is_stream(answer.headers):
                    answer.close()
                    return
                async for event in answer.events():
                    pause_s = RESUME_MS / 1000
                    for message in _messages(event.data):
                        self._take(message, None)
                last_id = answer.last_event_id or last_id
                if answer.retry_ms is not None:
                    pause_s = answer.retry_ms / 1000
            except (NotSent, Broken):
                pause_s = min(30.0, pause_s * 2)
            await asyncio.sleep(pause_s)

    # -- out -----------------------------------------------------------------------------------------

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tell the server something. Lost without a word when the connection is gone."""
        if not self._closing:
            self.spawn(self._post(jsonrpc.notification(method, params), method, params))

    def _reply(self, frame: bytes) -> None:
        if not self._closing:
            self.spawn(self._post(frame, "", {}))

    async def _post(self, frame: bytes, method: str, params: dict[str, Any]) -> None:
        headers = {}
        if self.modern and self.hello is not None:
            headers = request_headers(method, params, {}, self.hello.revision)
        try:
            async with asyncio.timeout(BACKGROUND_S):
                answer = await self.wire.post(frame, headers)
                answer.close()
        except (TimeoutError, NotSent, Broken, UpstreamFailed) as problem:
            log.info("server %s was not told %s: %s", self.spec.id, method or "an answer", problem)


async def _drain(events: AsyncIterator[SseEvent]) -> None:
    try:
        async with asyncio.timeout(DRAIN_S):
            async for _ in events:
                pass
    except (TimeoutError, Broken):
        return


def _messages(data: bytes) -> list[jsonrpc.Message]:
    """The messages in one body or event: none in an empty one, several in a batch (2025-03-26)."""
    if not data.strip():
        return []
    if data.lstrip()[:1] == b"[":
        batch = jsonrpc.parse_many(data)
        return batch if isinstance(batch, list) else [batch]
    return [jsonrpc.parse(data)]
