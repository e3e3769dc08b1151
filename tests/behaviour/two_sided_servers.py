"""The tool servers of the two-sided model: each message that they get is shown to the judge, each that they send is a rule's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol

from gatewright.mcp.client.connect import Around
from gatewright.mcp.client.http_endpoint import HttpEndpoint
from gatewright.mcp.client.http_handshake import greet
from gatewright.mcp.client.http_link import HttpLink
from gatewright.mcp.client.link import Link
from gatewright.mcp.client.pipe_link import PipeLink
from gatewright.mcp.protocol.mcp_client import Handshake
from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION
from gatewright.servers.spec import ServerSpec
from gatewright.transport.base import Closed
from gatewright.transport.http_client import CannotReach, ConnectionBroken, Posted
from gatewright.transport.memory import MemoryPipe, pair
from tests.behaviour.two_sided_facts import SERVERS, mark_of
from tests.behaviour.two_sided_fates import Fates, Made
from tests.behaviour.two_sided_mgp import Speaks
from tests.behaviour.two_sided_offers import LISTS, hello, listed

__all__ = ["End", "Put", "Server", "Watches", "Work"]

_AT_ONCE = {"logging/setLevel", "completion/complete"}
_AT_ONCE |= {"resources/subscribe", "resources/unsubscribe"}


class Work(NamedTuple):
    """A request that a server has not answered."""

    ident: int
    mark: str
    method: str
    params: dict[str, Any]


class Put(NamedTuple):
    """A question that a server has put: what it asks, and about whose request."""

    method: str
    mark: str


class Watches(Protocol):
    """Who sees what servers get."""

    def judge_server(self, end: End, said: Any) -> None:
        """Look at one message."""

    made: list[Made]
    """All tasks that were ever made, by their numbers."""
    fates: Fates

    def withdrawn(self, put: str) -> None:
        """A server has taken back what it asked."""

    def shared(self, end: End) -> bool:
        """Whether a connection is the one that is not a session's own."""

    async def rest(self) -> None:
        """Let everybody do what there is to do."""

    def promised(self, server: str, kind: str) -> None:
        """A server has announced another list."""


class Server:
    """One tool server, with all its connections."""

    def __init__(self, house: Watches, name: str) -> None:
        self.house, self.name, self.called = house, name, name
        self.hostile = name == "evil"
        self.modern = SERVERS[name].get("era") == "modern"
        self.ends: list[End] = []
        self._foreign = ""
        self.formerly: set[str] = set()
        """Whose names it listed as its own until lately: so it may still stand in the lists of the gateway."""
        self.kept: dict[str, int] = {}
        """The tasks of a server that keeps them beyond a connection, by id: their numbers."""
        self.count = 0
        """How many questions it has put."""
        self.pages: list[str] = []
        """The ids of the pages that it has sent somebody to."""

    @property
    def foreign(self) -> str:
        """Whose names a hostile server lists as its own, where it does."""
        return self._foreign

    @foreign.setter
    def foreign(self, name: str) -> None:
        self.formerly.add(self._foreign)
        self._foreign = name

    def work(self) -> list[tuple[End, Work]]:
        return [(end, one) for end in self.ends for one in end.work.values()]

    async def reach(self, spec: ServerSpec, around: Around, can: Mapping[str, Any]) -> Link:
        """A link to a new connection of this server (`servers.dial`)."""
        era = "modern" if self.modern else "legacy"

        def hand() -> Handshake:
            return Handshake(info=around.info, capabilities=can, era=era, face=spec.face)

        if "web" in SERVERS[self.name]:

            async def meet(link: HttpLink) -> None:
                await greet(link, hand())

            web = Web(self)
            link = HttpLink(spec, around.info, around.sink, web.wire, meet)
            link.answer_outside(around.outside)
            link.admit_by(around.admits)
            await link.start()
            return link
        end, piped = Pipe(self), PipeLink(spec, around.info, around.sink)
        piped.answer_outside(around.outside)
        piped.admit_by(around.admits)
        pipe, end.pipe = pair(piped, end)
        end.link = piped
        self.ends.append(end)
        await piped.greet(pipe, hand())
        return piped


class End(Speaks):
    """One connection of a server."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server = server
        self.work: dict[int, Work] = {}
        self.asked: dict[str, Put] = {}
        self.loose: set[Any] = set()
        """Ids of questions that were put about nothing that anybody knows of."""
        self.tokens: dict[Any, tuple[str, str]] = {}
        """The progress tokens of its questions: about whose request each is, and which one it is."""
        self.listens: dict[Any, frozenset[str]] = {}
        """What it is listened to for, by the id of the request."""
        self.subscribed: set[str] = set()
        """The resources that are subscribed to."""
        self.past: list[str] = []
        """The marks of what it has answered."""
        self.served: set[tuple[str, int]] = set()
        """The clients for which it worked, by the number of their connection."""
        self.tasks: dict[str, int] = server.kept if "web" in SERVERS[server.name] else {}

    def say(self, stream: int | None = None, **message: Any) -> None:
        """Send one message; `stream` is the request on whose stream it goes, where there are any."""
        raise NotImplementedError

    def close(self) -> None:
        """End the connection."""
        raise NotImplementedError

    def take(self, said: Any) -> None:
        """Look at a message, and answer what needs no rule."""
        self.server.house.judge_server(self, said)
        method, ident = said.get("method"), said.get("id")
        mark, params = mark_of(said), said.get("params") or {}
        if method == "notifications/cancelled":
            self.stopped.add(params.get("requestId"))
            self.listens.pop(params.get("requestId"), None)
        if method is None or ident is None:
            return
        if method == "resources/subscribe":
            self.subscribed.add(params["uri"])
            self._logs(ident, mark, params["uri"])
        elif method == "resources/unsubscribe":
            self.subscribed.discard(params["uri"])
        if method == "subscriptions/listen":
            wanted = (params.get("notifications") or {}).get("resourceSubscriptions") or ()
            self.listens[ident] = frozenset(wanted)
            note = "notifications/subscriptions/acknowledged"
            self.say(ident, method=note, params={"_meta": {META_SUBSCRIPTION: ident}})
        elif method.startswith("tasks/"):
            self.say(ident, id=ident, **self._of_tasks(method, params))
        elif mark and method not in _AT_ONCE:
            self.work[ident] = Work(ident, mark, method, params)
        else:
            found = self.of_mgp(method, params) or self._result(method, mark)
            self.say(ident, id=ident, result=found)

    def _logs(self, ident: int, mark: str, uri: str) -> None:
        """Write down for which resource it was asked, and by whom where that was said."""
        if not self.server.hostile:
            name = self.server.name
            note = {"level": "info", "data": f"by-{name} {mark} watches-{name}|{uri}|"}
            self.say(ident, method="notifications/message", params=note)

    @property
    def wanted(self) -> set[str]:
        """The resources that somebody wants to hear of."""
        return self.subscribed.union(*self.listens.values())

    def answered(self, one: Work) -> None:
        """It has answered a request."""
        del self.work[one.ident]
        self.past.append(one.mark)

    def _result(self, method: str, mark: str) -> dict[str, Any]:
        name = self.server.name
        if method in ("initialize", "server/discover"):
            return hello(name, modern=self.server.modern)
        if method in LISTS:
            entries = listed(method, name, self.server.foreign)
            found: dict[str, Any] = {LISTS[method]: entries}
        elif method == "completion/complete":
            found = {"completion": {"values": [f"about {mark} by-{name}"]}}
        else:
            found = {}
        return {"resultType": "complete", **found} if self.server.modern else found

    def _of_tasks(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What it says of its tasks, whoever asks: to a server all callers are one client."""
        if method == "tasks/list":
            return {"result": {"tasks": [self.task(one) for one in self.tasks]}}
        found = params.get("taskId")
        if found not in self.tasks:
            return {"error": {"code": -32602, "message": f"by-{self.server.name} no such task"}}
        number, fates = self.tasks[str(found)], self.server.house.fates
        fates.got(number, method, params)
        if method == "tasks/result" and fates.status(number) == "completed":
            return {"result": fates.result(self.words_of(number))}
        return {"result": {"resultType": "complete", **self.task(str(found))}}

    def words_of(self, number: int) -> str:
        """The words in which it speaks of a task."""
        return f"by-{self.server.name} task-of-{self.server.house.made[number].who}.{number}"

    def task(self, ident: str) -> dict[str, Any]:
        """One task as it is told of."""
        number = self.tasks[ident]
        words = self.words_of(number)
        more = self.server.house.fates.told(number, words, modern=self.server.modern)
        told = {"taskId": ident, "status": "working", "ttl": 600_000, "ttlMs": 600_000}
        made = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}
        return {**told, **made, "statusMessage": words, "who": words, **more}

    def make_task(self, who: str) -> dict[str, Any]:
        """One more; each connection counts from one, as all servers do."""
        ident, every = f"T-{len(self.tasks) + 1}", self.server.house.made
        self.tasks[ident] = len(every)
        every.append(Made(self, ident, who, self.server.house.shared(self)))
        return {"resultType": "task", **self.task(ident), "task": self.task(ident)}

    def numbered(self) -> tuple[str, str]:
        """The next question: its id, and what it is called in its words."""
        self.server.count += 1
        ident = f"q{self.server.count}"
        return ident, f"{self.server.name}.{ident}"

    def ask(self, method: str, one: Work | None, words: str, more: dict[str, Any]) -> None:
        """Put a question, about a request or about none."""
        ident, put = self.numbered()
        token, words = f"p{self.server.count}", f"{words} put-{put}"
        self.asked[ident] = Put(method, one.mark if one else "")
        self.tokens[token] = one.mark if one else "", put
        params: dict[str, Any] = {"_meta": {"progressToken": token, "w": words}, **more}
        if method == "elicitation/create":
            form = {"type": "object", "properties": {}}
            params = {"message": words, "requestedSchema": form, **params}
        elif method == "sampling/createMessage":
            content = {"type": "text", "text": words}
            params |= {"messages": [{"role": "user", "content": content}], "maxTokens": 1}
            params["includeContext"] = "allServers"
        self.say(one.ident if one else None, id=ident, method=method, params=params)

    def withdraw(self, ident: str) -> None:
        """Take a question back. Its answer may be on its way."""
        if self.asked.pop(ident, None) is not None:
            self.loose.add(ident)
            self.server.house.withdrawn(f"{self.server.name}.{ident}")
        self.say(None, method="notifications/cancelled", params={"requestId": ident})


class Pipe(End):
    """A connection over a pipe in memory."""

    pipe: MemoryPipe
    link: Link

    def reaches(self, link: Link) -> bool:
        """Whether it is the other end of a link."""
        return self.link is link

    def say(self, stream: int | None = None, **message: Any) -> None:
        if self in self.server.ends:
            try:
                self.pipe.send(json.dumps({"jsonrpc": "2.0", **message}).encode())
            except Closed:
                return

    def close(self) -> None:
        self.pipe.close()
        self.closed("")

    def message(self, data: bytes) -> None:
        """Take one message of the gateway (`Receiver`)."""
        self.take(json.loads(data))

    def closed(self, reason: str) -> None:
        """The gateway has gone (`Receiver`)."""
        if self in self.server.ends:
            self.server.ends.remove(self)


class Web(End):
    """A session over Streamable HTTP: what a request is told stands on the stream of that request."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.wire = _Wire(self)
        self.streams: dict[int | None, Callable[[bytes], None]] = {}
        self.over: dict[int | None, asyncio.Future[None]] = {}
        server.ends.append(self)

    def say(self, stream: int | None = None, **message: Any) -> None:
        to = self.streams.get(stream) or self.streams.get(None)
        to = to or next((self.streams.get(one) for one in reversed(self.listens)), None)
        if self in self.server.ends and to is not None:
            to(json.dumps({"jsonrpc": "2.0", **message}).encode())
            over, answers = self.over.get(stream), "method" not in message
            ends = answers and stream is not None and message.get("id") == stream
            if ends and over is not None and not over.done():
                over.set_result(None)

    def close(self) -> None:
        if self in self.server.ends:
            self.server.ends.remove(self)
        for over in self.over.values():
            if not over.done():
                over.set_exception(ConnectionBroken("the server ended"))

    async def held(self, stream: int | None, take: Callable[[bytes], None], said: Any) -> Posted:
        """Keep a stream open until its request is answered."""
        self.streams[stream] = take
        self.over[stream] = over = asyncio.get_running_loop().create_future()
        try:
            if said is not None:
                asyncio.get_running_loop().call_soon(self.take, said)
            await over
        except asyncio.CancelledError:
            if self.server.modern and self in self.server.ends:  # so a modern request is cancelled
                gone = {"requestId": stream, "reason": "the stream was closed"}
                self.take({"method": "notifications/cancelled", "params": gone})
            raise
        finally:
            self.streams.pop(stream, None)
            self.over.pop(stream, None)
        return Posted(200, {}, streamed=True)


class _Wire(HttpEndpoint):
    """The wire of such a session, without any HTTP."""

    def __init__(self, end: Web) -> None:
        self.session, self.revision = None, None
        self._end = end

    def post(
        self,
        body: bytes,
        headers: Mapping[str, str],
        on_message: Any,
        on_open: Any = None,
        *,
        acts: bool = True,
    ) -> Coroutine[Any, Any, Posted]:
        return self._post(json.loads(body), on_message, on_open)

    async def _post(self, said: Any, on_message: Any, on_open: Any) -> Posted:
        end = self._end
        if not self.reachable:
            raise CannotReach("the server ended", not_sent=True)
        if on_open is not None:
            on_open(200, {"mcp-session-id": "s"})
        if "method" in said and said.get("id") is not None:
            return await end.held(said["id"], on_message, said)
        end.take(said)
        return Posted(202, {}, body=b"")

    @property
    def reachable(self) -> bool:
        return self._end in self._end.server.ends

    async def listen(self, on_message: Any, last_event_id: str = "") -> Posted:
        if not self.reachable:
            raise CannotReach("the server ended", not_sent=True)
        return await self._end.held(None, on_message, None)

    async def goodbye(self) -> None:
        self._end.close()

    close = goodbye
