"""`StraightWay`: fast path of prepared `tools/call` over HTTP, without a task, from body to server pipe; others take the pipeline.

A call belongs to a session, or stands alone under a modern head whose client says of itself what it said before: then all that `ModernHttp.again`
compares is compared here.

A call that is not prepared, or in any way unusual, is left to the walk before anything was done; of one that is on its way takes care
`straight_call`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

from gatewright.call import Call, Client
from gatewright.mcp.protocol.client_params import params_of
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_reply import Whole
from gatewright.mcp.server.http_sessions import HttpSession, Sessions
from gatewright.mcp.server.pending_input import PendingInputs
from gatewright.mcp.server.served_request import ServedRequest
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.server.straight_call import METHOD, Endpoint, Prepared, StraightCall
from gatewright.mcp.wire import jsonrpc

__all__ = ["LONGEST", "StraightWay"]

log = logging.getLogger("gatewright.mcp.server")

LONGEST = 4096
"""Bytes of a message; a longer one takes the walk."""
_PLAIN = frozenset(("name", "arguments"))


class _Kept(Protocol):
    """All that is prepared (`gatewright.prepared.PreparedCalls`)."""

    def of(self, client: Client) -> Any: ...


class StraightWay:
    """Of one endpoint."""

    def __init__(
        self, front: ServerContext, sessions: Sessions, parked: PendingInputs[ServedRequest]
    ) -> None:
        self._front = front
        self._longest = min(LONGEST, front.frame_bytes)
        self._sessions = sessions
        self._endpoint = Endpoint(front, sessions, parked, asyncio.get_running_loop())
        self._kept: _Kept | None = getattr(front.kernel, "prepared", None)

    def serve(self, whole: Whole, said: HttpHeaders, profile: str) -> bool:
        """Send a call whose headers were looked at; False where it has to take the walk, and nothing was done.

        Who asks is asked of the gate `authenticate` alone: whether this credential is still that of the caller whose calls are prepared."""
        try:
            going = self._begun(whole, said, profile)
        except Exception:  # whatever it is, the walk finds it again
            log.exception("a prepared call broke before it was sent; it takes the walk")
            return False
        if going is None:
            return False
        try:
            whole.took(going)
            session = going.session
            if session is not None:
                session.peer.running[going.call.request] = going
                self._sessions.used(said.session or "", session, said.credential, going.since)
                if session.primed and said.reads_streams:
                    self._sessions.overdue(going)
        except Exception:  # it was sent, and nobody is to send it again
            log.exception("call %s goes on as an ordinary one", going.call.id)
            going.promote()
        return True

    def _begun(self, whole: Whole, said: HttpHeaders, profile: str) -> StraightCall | None:
        """The call that is on its way now, or None."""
        introduction, session = said.introduction, None
        client: Client | None
        if introduction is None:
            session = self._sessions.straight(said.session or "", profile)
            client = None if session is None else session.peer.conversation.client
        else:  # before the first call that its head names nothing is known of it
            client = introduction.client
        body, owner = whole.body, session or said
        if client is None or type(body) is not bytes or whole.unusual:
            return None
        known = owner.prepared
        if known is None or known.client is not client:
            owner.prepared = None if self._kept is None else self._kept.of(client)
            return None
        if not known.by_name or len(body) > self._longest or not self._front.settled:
            return None
        read = _read(body, said, self._front)
        prepared = None if read is None else known.by_name.get(read[1]["name"])
        if read is None or prepared is None:
            return None
        return self._sent(read, prepared, whole, said, session, profile)

    def _sent(
        self,
        read: _Read,
        prepared: Prepared,
        whole: Whole,
        said: HttpHeaders,
        session: HttpSession | None,
        profile: str,
    ) -> StraightCall | None:
        message, params = read
        if session is not None and (
            prepared.caller is not session.peer.caller
            or (session.primed and said.small_events)
            or message.id in session.peer.running
        ):
            return None
        ident, trace = (self._front.made or self._front.more_ids()).pop()
        call = Call(
            ident,
            "http",
            "tool",
            METHOD,
            params["name"],
            params,
            prepared.caller,
            prepared.client,
            trace,
            None if session is None else said.session,
            profile,
            None,
            prepared.target,
            prepared.tool,
            said.credential,
            prepared.facts.copy(),
            request=message.id,
            size=len(message.params),
        )
        going = StraightCall(self._endpoint, prepared, call, whole, session, said)
        return going if prepared.begin(going) else None


_Read = tuple[jsonrpc.Request, dict[str, Any]]


def _read(body: bytes, said: HttpHeaders, front: ServerContext) -> _Read | None:
    """The call that a message is, where nothing about it is unusual."""
    message = jsonrpc.parse(body, front.limits)
    if type(message) is not jsonrpc.Request or message.method != METHOD:
        return None
    try:
        params = params_of(message)
    except ValueError:
        return None
    introduction = said.introduction
    if introduction is not None:  # of a session nothing is modern that has no `_meta`
        # As `read_modern` and `ModernHttp.again` have it.
        known = introduction.again(params.pop("_meta", None), front.face)
        if known is None or params.get("name") != said.called:
            return None
    usual = params.keys() <= _PLAIN and type(params.get("name")) is str
    if not usual or message.trace_id is not None or message.id.find(b"\\") >= 0:
        return None
    return message, params
