"""`StreamableHttp` endpoint, all revisions: POST, resumable GET streams, DELETE, batches, session start; hands over ggen requests.

Which era a POST belongs to is decided by its `MCP-Protocol-Version` header and, where that is missing
or unknown, by the metadata in its body. Modern requests stand alone. Legacy ones belong to a session
where they name one, and stand alone otherwise: no session header is ever demanded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from gatewright.call import Caller
from gatewright.mcp.protocol import mcp_server as mcp
from gatewright.mcp.protocol.client_params import Dropped, Rejected
from gatewright.mcp.protocol.ggen import says_auth
from gatewright.mcp.protocol.outcomes import Spelled
from gatewright.mcp.protocol.replay import Stream, Streams
from gatewright.mcp.server.client_session import ClientSession
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_reply import HttpReply, Meant, StreamWriter, elsewhere, one_line
from gatewright.mcp.server.http_request import HttpRequest, says_modern
from gatewright.mcp.server.http_responses import Whole, send_json, send_plain
from gatewright.mcp.server.http_sessions import HttpSession, Sessions
from gatewright.mcp.server.kept_answers import of_request
from gatewright.mcp.server.long_lived import lasting
from gatewright.mcp.server.modern_http import Answering, ModernHttp, taken
from gatewright.mcp.server.pending_input import PendingInputs
from gatewright.mcp.server.served_request import ServedRequest
from gatewright.mcp.server.server_context import Presented, ServerContext
from gatewright.mcp.server.shown_rights import at_least
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_VERSION
from gatewright.mcp.wire.versions import LEGACY, MODERN, is_modern, revision
from gatewright.transport.slices import begun
from gatewright.web import sse

__all__ = ["StreamableHttp"]

Other = Callable[[HttpRequest, bytes], Answering]
"""Serves a request whose body has been read."""

_NO_SESSION = "there is no such session, or it has ended; start a new one with initialize"
_MODERN_MARK = META_VERSION.encode()


class StreamableHttp:
    """The endpoint `/mcp`, and `/mcp/PROFILE`."""

    def __init__(self, front: ServerContext, ggen: Other | None = None) -> None:
        """`ggen` takes what turns out to be that dialect: a request with `auth` beside its params."""
        self._front = front
        self._ggen = ggen
        self.parked: PendingInputs[ServedRequest] = PendingInputs(front)
        self.modern = ModernHttp(front, self.parked)
        self.sessions = Sessions(front, self.parked)

    def __call__(self, http: HttpRequest) -> Answering:
        """Serve one request."""
        if http.scope["method"] == "POST":
            body = http.ready(self._front.frame_bytes)
            return self._received(http) if body is None else self._post(http, body)
        return self._other(http)

    def again(self, whole: Whole, said: HttpHeaders, caller: Caller, profile: str) -> Answering:
        """Serve a request with headers that were looked at before (`HttpHeaders.in_session`, `in_no_session`): the same as all
        that is done otherwise, where it is a call as most are, and left to that where it is none."""
        if said.in_no_session:
            work = self.modern.again(whole, said, caller, profile)
            return work or self(HttpRequest.of(whole, said, caller, profile, self._front.refused))
        front = self._front
        body = whole.take_whole(front.frame_bytes)
        if body is not None and body.find(_MODERN_MARK) < 0:
            session = self.sessions.find(said.session, caller, said.credential, profile)
            message = None if session is None else jsonrpc.parse(body, front.limits)
            if session is not None and type(message) is jsonrpc.Request:
                peer = session.peer
                effect = peer.conversation.receive(message)
                if type(effect) is mcp.Inbound:
                    reply = self.sessions.reply(whole.send, whole, said, session, ())
                    return peer.serve(effect, reply)
                http = HttpRequest.of(whole, said, caller, profile, front.refused)
                return self._one(http, peer, effect, session, ())
        http = HttpRequest.of(whole, said, caller, profile, front.refused)
        return self(http) if body is None else self._post(http, body)

    async def _received(self, http: HttpRequest) -> None:
        body = await http.body(self._front.frame_bytes)
        if body is not None:
            await self._post(http, body)

    async def _other(self, http: HttpRequest) -> None:
        method = http.scope["method"]
        if http.headers.modern:
            await send_plain(http.send, 405, headers=((b"allow", b"POST"),))
        elif method == "GET":
            await self._get(http)
        elif method == "DELETE":
            await self._delete(http)
        else:
            await send_plain(http.send, 405, headers=((b"allow", b"GET, POST, DELETE"),))

    def _post(self, http: HttpRequest, body: bytes) -> Answering:
        said = http.headers
        if said.modern or (not said.legacy and says_modern(body)):
            return self.modern(http, body)
        version = said.version
        if version and not said.legacy:
            data = {"supported": [*MODERN, *LEGACY], "requested": version}
            flaw = "Unsupported protocol version"
            return http.refuse(400, flaw, -32022, ident=_ident(body), data=data)
        if self._ggen is not None and not version and _is_ggen(http, body):
            return self._ggen(http, body)
        return self._legacy(http, body)

    # -- legacy

    def _legacy(self, http: HttpRequest, body: bytes) -> Answering:
        session = None
        if http.headers.session is not None:
            session = self._session(http, http.headers.session)
            if session is None:
                return http.refuse(404, _NO_SESSION, ident=_ident(body))
        if body[:1] != b"{" and body.lstrip()[:1] == b"[":
            return self._batch(http, body, session)
        message = jsonrpc.parse(body, self._front.limits)
        if session is None and _opens(message):
            return self._open(http, message)
        peer = self._peer(http, session)
        return self._one(http, peer, peer.conversation.receive(message), session, ())

    def _session(self, http: HttpRequest, named: str) -> HttpSession | None:
        """The session of this id, where it is the caller's and of the profile of this path."""
        return self.sessions.find(named, http.caller, http.credential, http.profile)

    async def _open(self, http: HttpRequest, message: jsonrpc.Message) -> None:
        session = self.sessions.open(http.caller, http.credential, http.profile)
        ident = session.peer.session or ""
        effect = session.peer.conversation.receive(message)
        header = (b"mcp-session-id", ident.encode())
        extra = (header,) if isinstance(effect, mcp.Hello) else ()
        await self._one(http, session.peer, effect, session, extra)
        # It was refused, and its client has not been told the id of the session.
        if not extra:
            self.sessions.close(ident)

    def _one(
        self,
        http: HttpRequest,
        peer: ClientSession,
        effect: mcp.Effect | None,
        session: HttpSession | None,
        extra: tuple[tuple[bytes, bytes], ...],
    ) -> Answering:
        if effect is None or isinstance(effect, Dropped):
            return taken(http, peer, effect)
        if peer.take(effect):
            return send_plain(http.send, 202)
        if session is None:
            reads, limit = http.headers.reads_streams, self._front.queue_bytes
            reply = HttpReply(http.send, reads, limit, http.whole, None, False, extra)
        else:
            reply = self.sessions.reply(http.send, http.whole, http.headers, session, extra)
            reply.inbound = effect if type(effect) is mcp.Inbound else None
        return peer.serve(_of_this_era(effect), reply)

    def _peer(self, http: HttpRequest, session: HttpSession | None) -> ClientSession:
        if session is not None:
            return session.peer
        peer = http.peer(self._front, self.parked)
        # Without the header a request is of that revision (MCP 2025-06-18, basic/transports).
        peer.conversation.assume(http.headers.version or "2025-03-26")
        return peer

    async def _batch(self, http: HttpRequest, body: bytes, session: HttpSession | None) -> None:
        """A JSON-RPC batch: what MCP 2025-03-26 asks servers to take, and no other revision has."""
        peer = self._peer(http, session)
        client = peer.conversation.client
        if client is None or not revision(client.revision).batches:
            await http.refuse(400, "batches exist in MCP 2025-03-26 only")
            return
        messages = jsonrpc.parse_many(body, self._front.limits)
        if isinstance(messages, jsonrpc.Malformed):
            await http.refuse(400, messages.message, messages.code, ident=messages.id)
            return
        meant = partial(self._front.upstream.kept.meant, peer.shown.caller, peer.profile)
        collected = _Collected(session.streams if session else None, peer.shown, meant)
        jobs = []
        for message in messages:
            effect = peer.conversation.receive(message)
            if effect is not None and not peer.take(effect):
                jobs.append(peer.serve(_of_this_era(effect), collected.of(effect)))
        await asyncio.gather(*jobs)
        if collected.frames:
            await send_json(http.send, b"[" + b",".join(collected.frames) + b"]")
        else:
            await send_plain(http.send, 202)

    # -- GET and DELETE

    async def _get(self, http: HttpRequest) -> None:
        named = http.headers.session
        if named is None:
            await send_plain(http.send, 405, headers=((b"allow", b"POST"),))
            return
        if not http.headers.reads_streams:
            await http.refuse(406, "a GET opens an event stream; accept text/event-stream")
            return
        session = self._session(http, named)
        if session is None:
            await http.refuse(404, _NO_SESSION)
            return
        own = stream = session.streams.own
        after = stream.handed  # what no connection has carried yet
        last = http.headers.values.get(b"last-event-id")
        if last is not None:
            found = session.streams.find(last.decode("latin-1"))
            # What another key's request came to reads like what never was, and so does what its caller may not see any more.
            if found is None or not (found[0] is own or self._may_have(session, found[0])):
                await http.refuse(400, "Last-Event-ID was not given out in this session")
                return
            stream, after = found
        if stream is own:
            session.carried()
        await self._carry(http, stream, after)

    def _may_have(self, session: HttpSession, stream: Stream) -> bool:
        shown, about = session.peer.shown, stream.about
        if not at_least(shown, stream.whose):
            return False
        if about is None or not stream.ended:
            return True  # a call that runs ends with its grant
        return not self._front.upstream.kept.withheld(shown.caller, session.peer.profile, about)

    async def _carry(self, http: HttpRequest, stream: Stream, after: int | None) -> None:
        """Carry a stream on this response until it ends or the client leaves."""
        writer = StreamWriter(http.send, self._front.queue_bytes)

        def sink(ident: str, message: bytes) -> None:
            writer.put(sse.encode(one_line(message), event="message", id=ident))

        writer.start()
        stream.attach(sink, after, writer.end, begun)
        waits = {asyncio.create_task(http.gone()), asyncio.create_task(writer.closed())}
        presented = Presented("http", http.caller, http.credential)
        try:
            with lasting(self._front, lambda: presented, lambda _: writer.end()):
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stream.detach(sink)
            writer.end()
            for one in waits:
                one.cancel()

    async def _delete(self, http: HttpRequest) -> None:
        session = self._session(http, http.headers.session or "")
        if session is None:
            await http.refuse(404, _NO_SESSION)
            return
        self.sessions.close(session.peer.session or "")
        await send_plain(http.send, 200)

    def farewell(self) -> None:
        """End the streams of sessions and every call that is parked."""
        self.parked.close()
        self.sessions.farewell()


class _Collected:
    """The answers of one batch."""

    def __init__(self, streams: Streams | None, shown: Presented, meant: Meant) -> None:
        self.frames: list[bytes] = []
        self._streams = streams
        self._shown = shown
        self._meant = meant

    def of(self, effect: mcp.Effect) -> _One:
        """Where one of its requests is answered."""
        about = self._meant(of_request(effect)) if type(effect) is mcp.Inbound else None
        return _One(self.frames, partial(elsewhere, self._streams, self._shown, about=about))


class _One:
    """The answer of one request of a batch. What goes before it has no place in that, but on the session's own stream."""

    behind = 0
    whole = None

    def __init__(self, frames: list[bytes], event: Callable[[bytes], bool]) -> None:
        self._frames = frames
        self.event = event

    def recall(self, frame: bytes) -> None:
        self.event(frame)

    def reconnect(self, retry_ms: int) -> None:
        """A batch has no stream."""

    def say(self, ident: bytes, result: bytes) -> bool:
        return False

    async def finish(self, ident: bytes, spelled: Spelled) -> None:
        self._frames.append(spelled.frame(ident))

    async def abandon(self, ident: bytes, why: Spelled | None = None) -> None:
        """The request was cancelled; the batch goes on without its answer."""


def _opens(message: jsonrpc.Message) -> bool:
    return isinstance(message, jsonrpc.Request) and message.method == "initialize"


def _is_ggen(http: HttpRequest, body: bytes) -> bool:
    """Whether a request that says no revision is no MCP at all."""
    return http.headers.session is None and says_auth(body)


def _of_this_era(effect: mcp.Effect) -> mcp.Effect:
    """The effect of a message under a legacy header, or none: its body may not say otherwise."""
    if (type(effect) is mcp.Inbound or isinstance(effect, (mcp.Hello, mcp.Listen))) and is_modern(
        effect.client.revision
    ):
        flaw = "MCP-Protocol-Version does not match the version in _meta"
        return Rejected(effect.id, -32020, flaw, client=effect.client)
    return effect


def _ident(body: bytes) -> bytes:
    """The id to answer where a message is refused before it is looked at."""
    message = jsonrpc.parse(body)
    return message.id if isinstance(message, (jsonrpc.Request, jsonrpc.Malformed)) else b"null"
