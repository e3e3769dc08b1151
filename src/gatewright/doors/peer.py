"""One host: what it runs, what it was asked, what it wants to hear of.

Every MCP door owns peers: one for a connection (stdio, WebSocket, HTTP+SSE), one for an HTTP session,
one for a single sessionless request. What arrives becomes an effect of the peer's conversation, and
`serve` does what the effect says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from gatewright.call import Call, Caller, CannotAsk
from gatewright.doors.exchange import Exchange, Parked, Reply
from gatewright.doors.front import Front
from gatewright.doors.listening import Listening
from gatewright.protocol import eras
from gatewright.protocol import mcp_server as mcp
from gatewright.protocol.verdicts import Spelled
from gatewright.wire import jsonrpc
from gatewright.wire.versions import INTERRUPTIBLE

__all__ = ["Peer", "spelled_rejection"]

log = logging.getLogger("gatewright.doors")

_GONE = Spelled(
    error=b'{"code":-32602,"message":"requestState names a call that has ended"}', http=400
)


def spelled_rejection(rejected: mcp.Rejected) -> Spelled:
    """The error of a request that never became a call."""
    body: dict[str, Any] = {"code": rejected.code, "message": rejected.message}
    if rejected.data is not None:
        body["data"] = rejected.data
    return Spelled(error=jsonrpc.encode(body), http=rejected.http)


class Peer:
    """See the module's text. `send` carries what the gateway says on its own account."""

    def __init__(
        self,
        front: Front,
        parked: Parked,
        caller: Caller,
        *,
        door: str,
        credential: str | None,
        profile: str,
        session: str | None,
        send: Callable[[bytes], None],
    ) -> None:
        self._front = front
        self._parked = parked
        self._credential = credential
        self._send = send
        self._door = door
        self._profile = profile
        self.caller = caller
        self.session = session
        self.conversation = mcp.Conversation(front.face)
        self._running: dict[bytes, asyncio.Task[Any]] = {}
        self._asks: dict[bytes, asyncio.Future[Any]] = {}
        self._subscribed: set[str] = set()
        self._unwatch: Callable[[], None] | None = None
        if session is not None:
            front.owners[session] = caller.id

    # -- what arrives

    def take(self, effect: mcp.Effect) -> bool:
        """Do what needs no answer, at once. False where the effect is for `serve`."""
        if isinstance(effect, mcp.Cancelled):
            task = self._running.get(effect.id)
            if task is not None:
                task.cancel()
        elif isinstance(effect, mcp.Answered):
            self._answered(effect)
        elif isinstance(effect, mcp.Notice):
            notify = self._front.upstream.notify(self.caller, effect.method, effect.params)
            _keep(asyncio.create_task(notify))
        else:
            return False
        return True

    def _answered(self, effect: mcp.Answered) -> None:
        asked = self._asks.get(effect.id)
        if asked is None or asked.done():
            return  # late, or an answer to a question nobody asked
        try:
            if effect.error:
                error = jsonrpc.decode(effect.error)
                asked.set_exception(_refused(error))
            else:
                asked.set_result(jsonrpc.decode(effect.result))
        except ValueError:
            asked.set_exception(CannotAsk("the caller's answer cannot be read", -32603))

    async def serve(self, effect: mcp.Effect, reply: Reply) -> None:
        """Answer one request. Raises only the cancellation of its own task by others than the host."""
        if isinstance(effect, mcp.Inbound):
            await self._call(effect, reply)
        elif isinstance(effect, mcp.Hello):
            await reply.finish(effect.id, Spelled(await self._hello(effect)))
        elif isinstance(effect, mcp.Reply):
            await reply.finish(effect.id, Spelled(effect.result))
        elif isinstance(effect, mcp.Rejected):
            await reply.finish(effect.id, spelled_rejection(effect))
        elif isinstance(effect, mcp.Listen):
            await self._listen(effect, reply)

    # -- calls

    async def _call(self, inbound: mcp.Inbound, reply: Reply) -> None:
        if "requestState" in inbound.params and inbound.method in INTERRUPTIBLE:
            opened = await self._reopen(inbound, reply)
            if opened is None:
                return
            inbound = opened
        flaw = self._note(inbound)
        if flaw:
            await reply.finish(inbound.id, spelled_rejection(flaw))
            return
        await self._front.upstream.settled()  # what is still starting is not missing
        call = self.call(inbound)
        exchange = Exchange(
            self._front, self._parked, self.conversation, inbound, reply, self._asks
        )
        task = asyncio.current_task()
        if task is not None:
            self._running[inbound.id] = task
        try:
            await exchange.run(call)
        except asyncio.CancelledError:
            if task is None or task.uncancel() > 0:
                raise
            await exchange.abandon()
        finally:
            if self._running.get(inbound.id) is task:
                del self._running[inbound.id]

    def call(self, inbound: mcp.Inbound) -> Call:
        """The call an inbound request of this peer asks for."""
        return self._front.call(
            inbound,
            self.caller,
            door=self._door,
            credential=self._credential,
            session=self.session,
            profile=self._profile,
        )

    def _note(self, inbound: mcp.Inbound) -> mcp.Rejected | None:
        """Remember what the host wants to hear of; the flaw where it asks for what cannot be."""
        if inbound.method == "logging/setLevel":
            level = inbound.params.get("level")
            if level not in mcp.LOG_LEVELS:
                return mcp.Rejected(
                    inbound.id,
                    jsonrpc.INVALID_PARAMS,
                    f"level must be one of {', '.join(mcp.LOG_LEVELS)}",
                    http=200,
                )
            self.conversation.set_level(level)
        elif inbound.method == "resources/subscribe":
            uri = inbound.params.get("uri")
            if len(self._subscribed) >= self._front.subscriptions:
                return mcp.Rejected(
                    inbound.id,
                    jsonrpc.INVALID_PARAMS,
                    f"at most {self._front.subscriptions} resources can be subscribed to",
                    http=200,
                )
            if isinstance(uri, str):
                self._subscribed.add(uri)
        elif inbound.method == "resources/unsubscribe":
            self._subscribed.discard(str(inbound.params.get("uri")))
        return None

    async def _reopen(self, inbound: mcp.Inbound, reply: Reply) -> mcp.Inbound | None:
        """Take up what a sealed state names. The request to go on with, or None where it is answered."""
        params = inbound.params
        try:
            state = self._front.sealer.open(
                str(params["requestState"]),
                principal=self.caller.id,
                digest=eras.request_digest(inbound.method, params),
                now=self._front.clock(),
            )
        except ValueError as problem:
            flaw = mcp.Rejected(inbound.id, jsonrpc.INVALID_PARAMS, str(problem))
            await reply.finish(inbound.id, spelled_rejection(flaw))
            return None
        if state.kind == "upstream":
            return mcp.Inbound(
                inbound.id,
                inbound.method,
                {**params, "requestState": state.text},
                inbound.client,
                inbound.spec,
                inbound.trace_id,
            )
        exchange = self._parked.find(state.text)
        if exchange is None:
            await reply.finish(inbound.id, _GONE)
            return None
        await exchange.resume(params.get("inputResponses"), inbound, reply)
        return None

    # -- handshake and changes

    async def _hello(self, hello: mcp.Hello) -> bytes:
        front = self._front
        capabilities, instructions = await front.upstream.describe(self._profile, self.caller)
        if hello.modern:
            return mcp.discovered(hello, capabilities, instructions, front.info, front.face)
        if self._unwatch is None:
            self._unwatch = front.upstream.watch(
                self.caller, self._profile, self._changed, self.session
            )
        return self.conversation.welcome(hello, capabilities, instructions, front.info)

    def _changed(self, server: str, method: str, params: dict[str, Any]) -> None:
        client = self.conversation.client
        if client is None:
            return
        if (
            method == "notifications/resources/updated"
            and params.get("uri") not in self._subscribed
        ):
            return
        if method == "notifications/message" and not self.conversation.wants_log(
            client, params.get("level")
        ):
            return
        if method.startswith("notifications/mgp.") and client.mgp is None:
            return
        self._send(jsonrpc.notification(method, params or None))

    async def _listen(self, listen: mcp.Listen, reply: Reply) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._running[listen.id] = task
        try:
            await Listening(self._front, self.call, listen, reply).run(self.caller, self._profile)
        except asyncio.CancelledError:
            if task is None or task.uncancel() > 0:
                raise
        finally:
            self._running.pop(listen.id, None)

    def close(self) -> None:
        """The host is gone: what it runs is cancelled, what was kept for it is given up."""
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        for task in list(self._running.values()):
            task.cancel()
        for asked in self._asks.values():
            if not asked.done():
                asked.set_exception(CannotAsk("the caller went away", -32000))
        if self.session is not None:
            self._front.owners.pop(self.session, None)
            self._front.upstream.forget(self.session)


def _refused(error: Any) -> CannotAsk:
    if not isinstance(error, dict):
        return CannotAsk("the caller refused", -32603)
    code = error.get("code")
    return CannotAsk(
        str(error.get("message", "the caller refused")),
        code if isinstance(code, int) else -32603,
        error.get("data"),
    )


_kept: set[asyncio.Task[Any]] = set()


def _keep(task: asyncio.Task[Any]) -> None:
    """Hold a task that nobody awaits, and log how it failed."""
    _kept.add(task)
    task.add_done_callback(_done)


def _done(task: asyncio.Task[Any]) -> None:
    _kept.discard(task)
    if not task.cancelled() and task.exception() is not None:
        log.error("a notification was lost", exc_info=task.exception())
