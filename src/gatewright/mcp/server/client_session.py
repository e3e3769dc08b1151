"""`ClientSession`: answers one MCP client's handshake, starts its requests, resumes those pending input, cancels them; tells it of changes.

Every MCP endpoint owns client sessions: one for a connection (stdio, WebSocket, HTTP+SSE), one for an HTTP session,
one for a single sessionless request. What arrives becomes an effect of the session's conversation, and
`serve` does what the effect says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec.structs import replace

from gatewright.call import Call, Caller, CannotAsk, Question, Refusal
from gatewright.mcp.protocol import mcp_server as mcp
from gatewright.mcp.protocol.client_params import Dropped, Notice, Rejected
from gatewright.mcp.protocol.outcomes import Spelled, spell_error
from gatewright.mcp.protocol.refused_questions import refused_by
from gatewright.mcp.server import notifications
from gatewright.mcp.server.kept_answers import About, of_request, of_server
from gatewright.mcp.server.listening import Listening
from gatewright.mcp.server.pending_input import PendingInputs
from gatewright.mcp.server.sealed_state import foreign, opened
from gatewright.mcp.server.served_request import ServedRequest, broken
from gatewright.mcp.server.server_context import Presented, Reply, Running, ServerContext, Standing
from gatewright.mcp.server.server_events import hears
from gatewright.mcp.server.session_subscriptions import Subscribed
from gatewright.mcp.server.shown_rights import at_least
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.versions import INTERRUPTIBLE
from gatewright.transport.slices import by_and_by

__all__ = ["ClientSession"]

log = logging.getLogger("gatewright.mcp.server")

_COMPLETE = "notifications/elicitation/complete"
_ELICITED = 64
_BROKEN = "a request could not be served"
_NOBODYS: tuple[None, None] = None, None
_NOTED = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})


class ClientSession:
    """See the module's text. `send` carries what the gateway says on its own account."""

    _elicited: tuple[tuple[str, str], ...] = ()
    """Which questions that lead to a page the host was asked, by the server and its id; the last of them."""
    _unwatch: Callable[[], None] | None = None
    carrier: Callable[[], Presented] | None = None
    """Who hears what it is told of, where that need not be who came last."""
    telling, deafened = 0, False
    closed = False
    """Whether the host is gone: what begins to listen after that would listen for ever."""

    def __init__(
        self,
        front: ServerContext,
        parked: PendingInputs[ServedRequest],
        caller: Caller,
        *,
        door: str,
        credential: str | None,
        profile: str,
        session: str | None,
        send: Callable[[bytes, About], None],
    ) -> None:
        self.front = front
        self.parked = parked
        self.shown = Presented(door, caller, credential)
        """Who came last, and with what."""
        self._send = send
        self.door = door
        self.profile = profile
        self.caller = caller
        self.session = session
        self.conversation = mcp.Conversation(front.face)
        self._subscribed = Subscribed()
        self.running: dict[bytes, Running] = {}
        self.asks: dict[bytes, tuple[asyncio.Future[Any], Presented]] = {}
        self.hearing: dict[str, tuple[Callable[[dict[str, Any]], None], Presented]] = {}
        if session is not None:
            now = front.clock()
            front.owners[session] = caller.who
            front.standing[session] = Standing(door, profile, caller, now, now, end=self.close)

    @property
    def busy(self) -> bool:
        """Whether something runs for the host."""
        return bool(self.running)

    # -- what arrives

    def take(self, effect: mcp.Effect) -> bool:
        """Do what needs no answer, at once. False where the effect is for `serve`."""
        if type(effect) is mcp.Inbound:
            return False
        if isinstance(effect, mcp.Cancelled):
            running = self.running.get(mcp.request_key(effect.id))
            if running is not None and at_least(self.shown, running.shown):
                running.cancel(effect.id)
        elif isinstance(effect, mcp.Answered):
            self._answered(effect)
        elif isinstance(effect, Notice):
            self._noticed(effect)
        elif isinstance(effect, Dropped):
            self.front.refused(self.caller, self.door, effect.code, effect.message)
        else:
            return False
        return True

    def _noticed(self, notice: Notice) -> None:
        if notice.method != notifications.PROGRESS:
            notifications.take(self, notice)
            return
        token = notice.params.get("progressToken")
        told, whose = self.hearing.get(token, _NOBODYS) if isinstance(token, str) else _NOBODYS
        if told is not None and at_least(self.shown, whose):
            told(notice.params)  # of no question that is open, or of another key's: nobody's

    def _answered(self, effect: mcp.Answered) -> None:
        asked, whose = self.asks.get(effect.id, (None, None))
        if asked is None or asked.done() or not at_least(self.shown, whose):
            return  # late, or an answer to a question nobody asked, or that another key's call asked
        try:
            if effect.error:
                error = jsonrpc.decode(effect.error)
                asked.set_exception(refused_by(error))
            else:
                result = jsonrpc.decode(effect.result)
                if not isinstance(result, dict):
                    raise ValueError("a result is an object")
                asked.set_result(result)
        except ValueError:
            asked.set_exception(CannotAsk("the caller's answer cannot be read", -32603))

    def serve(self, effect: mcp.Effect, reply: Reply) -> Coroutine[Any, Any, None]:
        """Answer one request. What it starts can be cancelled by the host from now on, though it runs
        only once it is awaited. Raises nothing but the cancellation of its task by others."""
        if type(effect) is not mcp.Inbound:
            if isinstance(effect, mcp.Listen):
                return self._listen(effect, reply)
            return self._at_once(effect, reply)
        key = effect.id if effect.id.find(b"\\") < 0 else mcp.request_key(effect.id)
        if (
            key in self.running
            or effect.client.mgp_problem
            or "requestState" in effect.params
            or effect.method in _NOTED
        ):
            return self._unusual(effect, key, reply)
        self.running[key] = exchange = ServedRequest(self, effect, reply)
        return exchange.run(key)

    def _unusual(self, effect: mcp.Inbound, key: bytes, reply: Reply) -> Coroutine[Any, Any, None]:
        """A call that is not simply made."""
        if key in self.running:
            return self._twice(effect.id, reply)
        if effect.client.mgp_problem:
            self.front.look_at_offer(effect.client, self.caller, self.door)
        if "requestState" in effect.params and _reopens(effect):
            return self._reopen(effect, reply)
        return self._new(effect, key, reply)

    def _twice(self, ident: bytes, reply: Reply) -> Coroutine[Any, Any, None]:
        """A request of this id is still to be answered: a client that lost its connection and says it again would have it carried
        out twice."""
        return self._reject(Rejected(ident, jsonrpc.INVALID_REQUEST, _RUNS, http=400), reply)

    async def _at_once(self, effect: mcp.Effect, reply: Reply) -> None:
        if isinstance(effect, mcp.Hello):
            try:
                result = await self._hello(effect)
            except Exception:
                log.exception(_BROKEN)
                await self._broke(effect.id, reply)
            else:
                await reply.finish(effect.id, Spelled(result))
        elif isinstance(effect, mcp.Reply):
            await reply.finish(effect.id, Spelled(effect.result))
        elif isinstance(effect, Rejected):
            await self._reject(effect, reply)

    async def _reject(self, flaw: Rejected, reply: Reply) -> None:
        self.front.refused(self.caller, self.door, flaw.code, flaw.message)
        client = flaw.client or self.conversation.client
        spelled = spell_error(flaw.code, flaw.message, client, data=flaw.data, http=flaw.http)
        await reply.finish(flaw.id, spelled)

    async def _broke(self, ident: bytes, reply: Reply) -> None:
        await reply.finish(ident, broken(self.conversation.client))

    # -- calls

    def _new(self, inbound: mcp.Inbound, key: bytes, reply: Reply) -> Coroutine[Any, Any, None]:
        self.running[key] = exchange = ServedRequest(self, inbound, reply)
        if inbound.method in _NOTED:
            return self._run_noted(exchange, inbound, key, reply)
        return exchange.run(key)

    async def _run_noted(
        self, exchange: ServedRequest, inbound: mcp.Inbound, key: bytes, reply: Reply
    ) -> None:
        try:
            flaw = self._note(inbound)
            if flaw is not None:
                await self._reject(flaw, reply)
            else:
                await exchange.run(key)
        except Exception:
            log.exception(_BROKEN)
            await self._broke(inbound.id, reply)
        finally:
            if inbound.method == "resources/subscribe":
                uri = inbound.params["uri"]
                self._subscribed.settle(uri, inbound.id, granted=exchange.answered)
            elif inbound.method == "resources/unsubscribe" and not exchange.cancelled:
                self._subscribed.left(inbound.params["uri"])
            self._ended(inbound.id, exchange)

    def _ended(self, ident: bytes, running: Running) -> None:
        key = mcp.request_key(ident)
        if self.running.get(key) is running:
            del self.running[key]

    def call(self, inbound: mcp.Inbound, shown: Presented | None = None) -> Call:
        """The call that a request of this session asks for, which came with what was `shown`, else with what was last."""
        _, caller, credential = shown or self.shown  # the caller with the limits of that credential
        return self.front.call(inbound, caller, self.door, credential, self.session, self.profile)

    def asked(self, question: Question) -> None:
        """Remember whom the host was sent to a page by: it hears when that is done (`notifications/elicitation/complete`)."""
        ident = (question.params or {}).get("elicitationId")
        if isinstance(ident, str):
            self._elicited = (*self._elicited, (question.server, ident))[-_ELICITED:]

    @property
    def presented(self) -> Presented:
        """Who the host is, and what it presented last."""
        return self.shown

    def still(self) -> Caller | Refusal:
        """The host's caller as it is now, or why its credential is good no more."""
        return self.front.still(*(self.presented if self.carrier is None else self.carrier()))

    def _note(self, inbound: mcp.Inbound) -> Rejected | None:
        """Remember what the host wants to hear of; the flaw where it asks for what cannot be."""
        if inbound.method == "logging/setLevel":
            level = inbound.params.get("level")
            if level not in mcp.LOG_LEVELS:
                flaw = f"level must be one of {', '.join(mcp.LOG_LEVELS)}"
                return Rejected(inbound.id, jsonrpc.INVALID_PARAMS, flaw, http=200)
            self.conversation.set_level(level)
        elif inbound.method == "resources/subscribe":
            uri, most = inbound.params["uri"], self.front.subscriptions
            if self._subscribed.full(uri, most):
                flaw = f"at most {most} resources can be subscribed to"
                return Rejected(inbound.id, jsonrpc.INVALID_PARAMS, flaw, http=200)
            self._subscribed.ask(uri, inbound.id)
        elif inbound.method == "resources/unsubscribe":
            self._subscribed.end(inbound.params["uri"])
        return None

    def _reopen(self, inbound: mcp.Inbound, reply: Reply) -> Coroutine[Any, Any, None]:
        """Take up what a sealed state names: a call of ours that waits, or a server's own round."""
        params = inbound.params
        try:
            shown = self.shown._replace(door=self.door)
            state = opened(self.front, shown, self.profile, inbound.method, params)
        except ValueError as problem:
            return self._reject(foreign(inbound, str(problem)), reply)
        if state.kind == "upstream":
            inner = {**params, "requestState": state.text}
            key = mcp.request_key(inbound.id)
            return self._new(replace(inbound, params=inner), key, reply)
        exchange = self.parked.find(state.text)
        # What it came to meanwhile is not handed out past a grant that was taken back.
        if (
            exchange is None
            or not at_least(self.shown, exchange.shown)
            or (exchange.outcome is not None and self._withheld(inbound))
        ):
            return self._reject(foreign(inbound, _GONE), reply)
        # So that the repeated request can be cancelled by its own id.
        self.running[mcp.request_key(inbound.id)] = exchange
        return self._again(exchange.resume(inbound, reply), exchange, inbound.id)

    def _withheld(self, inbound: mcp.Inbound) -> bool:
        about = of_request(inbound)
        return self.front.upstream.kept.withheld(self.shown.caller, self.profile, about)

    async def _again(
        self, resumed: Coroutine[Any, Any, None], exchange: ServedRequest, ident: bytes
    ) -> None:
        try:
            await resumed
        finally:
            self._ended(ident, exchange)

    # -- handshake and changes

    async def _hello(self, hello: mcp.Hello) -> bytes:
        front = self.front
        front.look_at_offer(hello.client, self.caller, self.door)
        found, instructions = await front.upstream.describe(self.profile, self.caller)
        capabilities = front.announced(found, hello.client)
        if hello.modern:
            return mcp.discovered(hello, capabilities, instructions, front.info, front.face)
        # One session hears once, however often it says hello. It may have ended while servers were described.
        if self._unwatch is None and not self.closed:
            mgp = hello.client.mgp
            self._unwatch = front.upstream.watch(
                self.caller,
                self.profile,
                self._changed,
                self.session,
                audit=mgp is not None and "audit" in mgp.extensions,
                door=self.door,
                still=self.still,
            )
        meta = front.counts() if front.counts is not None else None
        return self.conversation.welcome(hello, capabilities, instructions, front.info, meta)

    def _changed(self, server: str, method: str, params: dict[str, Any]) -> None:
        client = self.conversation.client
        if client is None or isinstance(self.still(), Refusal):
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
        # Ids of pages are the servers' own: another one may use the same.
        if method == _COMPLETE and (server, params.get("elicitationId")) not in self._elicited:
            return
        if not hears(client, method):
            return
        self._send(jsonrpc.notification(method, params or None), of_server(server, params))

    def _listen(self, listen: mcp.Listen, reply: Reply) -> Coroutine[Any, Any, None]:
        key = mcp.request_key(listen.id)
        if key in self.running:
            return self._twice(listen.id, reply)
        self.running[key] = listening = Listening(self.front, self, listen, reply)
        if self.closed:
            listening.cancel()
        return self._hear(listening, listen, reply)

    async def _hear(self, listening: Listening, listen: mcp.Listen, reply: Reply) -> None:
        try:
            await listening.run()
        except Exception:
            log.exception(_BROKEN)
            await self._broke(listen.id, reply)
        finally:
            self._ended(listen.id, listening)

    def deaf(self) -> None:
        """The host will say nothing more: what waits for its word ends; answers still reach it."""
        for running in list(self.running.values()):
            if isinstance(running, Listening):
                running.cancel()
        for asked, _ in self.asks.values():
            if not asked.done():
                asked.set_exception(CannotAsk("the caller went away", -32000))

    def close(self) -> None:
        """The host is gone: what it runs is cancelled, what was kept for it is given up."""
        self.closed = True
        self._send = _nobody_hears  # it has the pipe, which has this: no collector is to be needed
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        by_and_by([running.cancel for running in self.running.values()])
        if self.session is not None:
            self.front.owners.pop(self.session, None)
            self.front.standing.pop(self.session, None)
            self.front.upstream.forget(self.session)


def _nobody_hears(_: bytes, __: About) -> None:
    """Nothing is said to a host that is gone."""


def _reopens(inbound: mcp.Inbound) -> bool:
    return inbound.params["requestState"] is not None and inbound.method in INTERRUPTIBLE


_RUNS = (
    "a request of this id runs already: wait for its answer, or resume the stream that it comes on"
)
_GONE = "requestState names a call that has ended"
