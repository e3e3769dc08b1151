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

from msgspec.structs import replace

from gatewright.call import Client
from gatewright.mcp.protocol.introduction import Introduction
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_reply import Whole
from gatewright.mcp.server.http_sessions import IDLE_S, Sessions
from gatewright.mcp.server.pending_input import PendingInputs
from gatewright.mcp.server.served_request import ServedRequest
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.server.straight_call import Endpoint, StraightCall
from gatewright.mcp.wire.plain_call import plain_call

__all__ = ["LONGEST", "StraightWay"]

log = logging.getLogger("gatewright.mcp.server")

LONGEST = 4096
"""Bytes of a message; a longer one takes the walk."""
_PLAIN = frozenset(("name", "arguments"))


class _Kept(Protocol):
    """All that is prepared (`gatewright.prepared.PreparedCalls`)."""

    def of(self, client: Client) -> Any: ...


class _Place(Protocol):
    ours: Any


class _Way(Protocol):
    """Where requests with one head lead (`http_app`)."""

    ours: Any
    headers: HttpHeaders
    profile: str


class StraightWay:
    """Of one endpoint."""

    def __init__(
        self,
        place: _Place,
        front: ServerContext,
        sessions: Sessions,
        parked: PendingInputs[ServedRequest],
    ) -> None:
        """`place` has what is `ours` now: a way that was found under something else is none any more."""
        self._place = place
        self._front = front
        self._longest = min(LONGEST, front.frame_bytes)
        self._sessions, self._by_id = sessions, sessions.by_id
        self._endpoint = Endpoint(front, sessions, parked, asyncio.get_running_loop())
        self._kept: _Kept | None = getattr(front.kernel, "prepared", None)

    def serve(self, way: _Way, whole: Whole) -> bool:
        """Send a call whose headers were looked at; False where it has to take the walk, and nothing was done.

        Who asks is asked of the gate `authenticate` alone: whether this credential is still that of the caller whose calls are prepared."""
        if way.ours is not self._place.ours or self._front.protected is not None:
            return False
        said = way.headers
        try:
            going = self._begun(whole, said, way.profile)
        except Exception:  # whatever it is, the walk finds it again
            log.exception("a prepared call broke before it was sent; it takes the walk")
            return False
        if going is None:
            return False
        try:
            whole.straight, session = going, going.session
            if session is not None:
                session.peer.running[going.call.request] = going
                session.standing.used, session.peer.credential = going.since, said.credential
                self._by_id.move_to_end(said.session or "")
                if session.primed and said.reads_streams:
                    self._sessions.overdue(going)
        except Exception:  # it was sent, and nobody is to send it again
            log.exception("call %s goes on as an ordinary one", going.call.id)
            going.promote()
        return True

    def _begun(self, whole: Whole, said: HttpHeaders, profile: str) -> StraightCall | None:
        """The call that is on its way now, or None."""
        front, introduction, body, session = self._front, said.introduction, whole.body, None
        now = front.clock()
        client: Client | None
        if introduction is None:
            session = self._by_id.get(said.session or "")
            if (
                session is None
                or session.primed is None
                or session.peer.profile != profile
                or now - session.standing.used > IDLE_S
            ):  # nothing is to be looked at then (`Sessions.find`) but who asks
                return None
            client = session.peer.conversation.client
        else:  # before the first call that its head names nothing is known of it
            client = introduction.client
        owner = session or said
        known = owner.prepared
        if client is None or type(body) is not bytes or whole.unusual or not front.settled:
            return None
        if known is None or known.client is not client:
            owner.prepared = None if self._kept is None else self._kept.of(client)
            return None
        short = known.by_name and len(body) <= self._longest
        read = plain_call(body, front.limits) if short else None
        if read is None:
            return None
        request, params, size = read
        if introduction is not None and not _is_again(introduction, params, said, front):
            return None
        name = params.get("name")
        prepared = (
            known.by_name.get(name) if type(name) is str and params.keys() <= _PLAIN else None
        )
        if prepared is None or (
            session is not None
            and (
                prepared.caller is not session.peer.caller
                or (session.primed and said.small_events)
                or request in session.peer.running
            )
        ):
            return None
        ident, trace = (front.made or front.more_ids()).pop()
        call = replace(
            prepared.like,
            id=ident,
            params=params,
            trace_id=trace,
            credential=said.credential,
            facts=prepared.facts.copy(),
            request=request,
            size=size,
        )
        going = StraightCall(self._endpoint, prepared, call, whole, session, said)
        going.since = now
        return going if prepared.begin(going) else None


def _is_again(
    introduction: Introduction, params: dict[str, Any], said: HttpHeaders, front: ServerContext
) -> bool:
    """Whether a call without a session says of its client what it said before, and names the tool that its head names, as `read_modern` and
    `ModernHttp.again` have it. (Of a session nothing is modern that has no `_meta`.)"""
    known = introduction.again(params.pop("_meta", None), front.face)
    return known is not None and params.get("name") == said.called
