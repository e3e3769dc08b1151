"""HTTP admin API of rooms, for operators (MCPx §11.3): lists participants, changes their capabilities, routing and block state.

    GET  /admin/participants                    GET  /admin/participants/ID
    POST /admin/participants/ID/capabilities    {"add": […], "remove": […], "reason": "…"}
    POST /admin/participants/ID/routing         {"mode": "all" | "directed", "echo": true | false}
    POST /admin/participants/ID/block           {"reason": "…"}      and the same with /unblock

Every answer is one JSON object; what is wrong is `{"error": …, "message": …}`. Who asks is found out first, so that
nobody learns who is in a room by asking, and again when the body is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import unquote

import msgspec

from gatewright.call import Caller, Refusal, Unrecorded
from gatewright.mcp.server.http_request import Connection
from gatewright.mcp.server.http_responses import Send, challenge, send_json
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of
from gatewright.rooms.hub import Hub
from gatewright.rooms.participant_changes import ParticipantAdmin
from gatewright.storage.errors import StoreError
from gatewright.transport.http_server import BodyTimeout, BodyTooLarge, ClientGone, read_body

__all__ = ["ADMIN", "RoomsAdmin"]

ADMIN = "/admin/participants"
_MAX_BODY = 64 * 1024
_REASON_CHARS = 500

_Answer = dict[str, Any] | msgspec.Struct


class _Capabilities(msgspec.Struct, forbid_unknown_fields=True):
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    reason: str = ""


class _Routing(msgspec.Struct, forbid_unknown_fields=True):
    mode: Literal["all", "directed"] | None = None
    echo: bool | None = None


class _Reason(msgspec.Struct, forbid_unknown_fields=True):
    reason: str = ""


class RoomsAdmin:
    """See the module's text. `identify` knows the keys of the gateway."""

    def __init__(
        self,
        hub: Hub,
        promotion: ParticipantAdmin,
        identify: Callable[[str, str | None], Caller | Refusal],
    ) -> None:
        self._hub = hub
        self._promotion = promotion
        self._identify = identify
        self._posts: dict[str, Callable[[str, bytes, Caller], _Answer]] = {
            "capabilities": self._capabilities,
            "routing": self._routing,
            "block": self._block,
            "unblock": self._unblock,
        }

    async def __call__(self, connection: Connection, credential: str | None) -> None:
        """Answer one request whose Host and Origin were found good."""
        scope, send = connection.scope, connection.send
        # Before anything is looked up: who is in a room is no stranger's business.
        caller = self._operator(credential)
        if isinstance(caller, Refusal):
            await _refuse(send, caller)
            return
        raw = scope["raw_path"].split(b"?", 1)[0].decode("latin-1")
        parts = [unquote(one) for one in raw.removeprefix(ADMIN).split("/")[1:]]
        try:
            body = b""
            if scope["method"] == "POST":
                body = await read_body(connection.receive, _MAX_BODY)
                # Once more: a body may come slowly, and the key may have ended meanwhile.
                caller = self._operator(credential)
            answer = (
                caller
                if isinstance(caller, Refusal)
                else self._answer(scope["method"], parts, body, caller)
            )
        except ClientGone:
            return
        except BodyTooLarge:
            answer = Refusal("invalid_request", f"a body has at most {_MAX_BODY} bytes")
        except BodyTimeout:
            answer = Refusal("invalid_request", "the body did not arrive in time")
            await _refuse(send, answer, status=408)
            return
        if isinstance(answer, Refusal):
            await _refuse(send, answer)
        else:
            await send_json(send, msgspec.json.encode(answer))

    def _operator(self, credential: str | None) -> Caller | Refusal:
        """Which operator asks, by what holds now."""
        caller = self._identify("http", credential)
        if isinstance(caller, Caller) and caller.kind != "operator":
            return Refusal("access_denied", "only an operator may do this; send its token")
        return caller

    def _answer(
        self, method: str, parts: list[str], body: bytes, caller: Caller
    ) -> _Answer | Refusal:
        try:
            if method == "GET" and len(parts) <= 1:
                return self._shown(parts[0] if parts else None)
            if method == "POST" and len(parts) == 2 and parts[1] in self._posts:
                return self._posts[parts[1]](parts[0], body, caller)
        except KeyError:
            said = "nobody who is called so sits in a room or stands in the configuration"
            return Refusal("not_found", said)
        except (ValueError, msgspec.MsgspecError) as problem:
            return Refusal("invalid_request", str(problem))
        except (Unrecorded, StoreError) as problem:
            return Refusal("audit_unavailable", str(problem))
        return Refusal("not_found", f"there is no {method} here; see docs/rooms.md")

    def _shown(self, participant: str | None) -> _Answer:
        found = self._hub.connections(participant)
        if participant is not None and not found:
            self._promotion.check(participant)
        return {"participants": found}

    def _capabilities(self, participant: str, body: bytes, caller: Caller) -> _Answer:
        asked = _read(body, _Capabilities)
        return self._promotion.change(
            participant,
            asked.add,
            asked.remove,
            by=caller.id,
            reason=asked.reason[:_REASON_CHARS],
        )

    def _routing(self, participant: str, body: bytes, caller: Caller) -> _Answer:
        asked = _read(body, _Routing)
        if not self._hub.prefer(participant, mode=asked.mode, echo=asked.echo):
            self._promotion.check(participant)
            raise ValueError("it is in no room now, and routing is for as long as one is connected")
        return {"participants": self._hub.connections(participant)}

    def _block(self, participant: str, body: bytes, caller: Caller) -> _Answer:
        reason = _read(body or b"{}", _Reason).reason[:_REASON_CHARS]
        count = self._promotion.block(participant, True, by=caller.id, reason=reason)
        return {"participantId": participant, "blocked": True, "placesLost": count}

    def _unblock(self, participant: str, body: bytes, caller: Caller) -> _Answer:
        reason = _read(body or b"{}", _Reason).reason[:_REASON_CHARS]
        self._promotion.block(participant, False, by=caller.id, reason=reason)
        return {"participantId": participant, "blocked": False, "placesLost": 0}


def _read(body: bytes, shape: Any) -> Any:
    return msgspec.json.decode(body, type=shape)


async def _refuse(send: Send, refusal: Refusal, status: int = 0) -> None:
    row = reason_of(refusal.reason)
    body = jsonrpc.encode({"error": row.name, "message": refusal.message})
    more = challenge(row.name) if row.http == 401 else ()
    await send_json(send, body, status or row.http, more)
