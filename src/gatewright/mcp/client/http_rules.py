"""Interprets HTTP responses of MCP servers: lost sessions, errors, what may be sent again, and when to reconnect. No I/O.

Source: MCP 2025-11-25 and 2026-07-28, basic/transports; and what servers in the wild do instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gatewright.call import Call, Failure
from gatewright.mcp.client.large_messages import is_batch, large_response, message_in
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.large_text import LARGE
from gatewright.web.sse import SseParser

__all__ = [
    "IN_TROUBLE",
    "RESUME_MS",
    "SESSION",
    "VERSION",
    "Pauses",
    "answer_in",
    "error_in",
    "gone",
    "is_no_method",
    "may_repeat",
    "messages",
    "names_a_request",
    "refusal",
    "resume_ms",
    "session_is_lost",
    "speaks_of_session",
    "unsent",
]

SESSION = "Mcp-Session-Id"
VERSION = "MCP-Protocol-Version"

_NO_SESSION = -32000
"""What the TypeScript SDK answers, with status 400 where the specification says 404."""

_OF_SESSIONS = ("session", "not initialized")
"""What its message says then ("Bad Request: No valid session ID provided", "Bad Request: Server not initialized")."""

_MOST_WAIT_S = 3600
_WAIT_DIGITS = 9

RESUME_MS = 1000
"""How soon a stream that broke off is asked for again, where the server does not say."""

_SOONEST_MS, _LATEST_MS = 10, 300_000
"""What a server says counts within these: sooner is a flood, and later is a stream that nobody hears of any more."""
_LEAST_S, _FAILED_MOST_S = 0.1, 30.0


def resume_ms(said: int | None) -> int:
    """How many milliseconds to wait before a stream that ended is asked for again. `said` is what the server wants."""
    return RESUME_MS if said is None else min(max(said, _SOONEST_MS), _LATEST_MS)


IN_TROUBLE = frozenset({408, 425, 429, 502, 503, 504})
"""How a proxy answers for a server that is not reached just now: whether there is a stream is not known by that."""


class Pauses:
    """The seconds between two GETs for the stream that is no request's, which is asked for as long as the connection lasts."""

    def __init__(self) -> None:
        self._heard = False
        self._last_s = 0.0

    def hearing(self, take: Callable[[bytes], None]) -> Callable[[bytes], None]:
        """The same, and it is noted that something came."""

        def heard(data: bytes) -> None:
            self._heard = True
            take(data)

        return heard

    def ended(self, said_ms: int | None) -> float:
        """After a stream that the server ended: as it wants; but longer each time that nothing came on it, up to a second."""
        wanted_s = max(_LEAST_S, resume_ms(said_ms) / 1000)
        grown_s = 0.0 if self._heard else min(2 * self._last_s, RESUME_MS / 1000)
        self._heard = False
        self._last_s = max(wanted_s, grown_s)
        return self._last_s

    def failed(self) -> float:
        """After none came about: longer each time."""
        self._last_s = min(_FAILED_MOST_S, 2 * max(_LEAST_S, self._last_s))
        return self._last_s


def messages(data: bytes) -> list[jsonrpc.Message]:
    """The messages in one body or event: none in an empty one, several in a batch (2025-03-26)."""
    if not data.strip():
        return []
    if is_batch(data):
        batch = jsonrpc.parse_many(data)
        return batch if isinstance(batch, list) else [batch]
    found = large_response(data) if len(data) > LARGE else None
    if found is not None:
        return [jsonrpc.Response(b"%d" % found.id, found.result)]
    return [message_in(data)]


def error_in(body: bytes) -> jsonrpc.Response | None:
    """The JSON-RPC error that an HTTP refusal carries, whatever its id. Some servers leave the id out."""
    message = jsonrpc.parse(body)
    if isinstance(message, jsonrpc.Response) and message.error:
        return message
    return None


def answer_in(body: bytes, ident: int) -> jsonrpc.Response | None:
    """What an HTTP refusal says of the request `ident`: its answer, or an error whatever its id."""
    found = _answers_in(body)
    own = (one for one in found if _is_own(one, ident))
    return next(own, next((one for one in found if one.error), None))


def names_a_request(body: bytes) -> bool:
    """Whether an HTTP refusal has the answer to a request in it, which only somebody gives who has read that."""
    return any(one.id != b"null" for one in _answers_in(body))


def _answers_in(body: bytes) -> list[jsonrpc.Response]:
    """The answers in the body of a refusal, which may be that of an event stream."""
    text = body.strip()
    said = [body]
    if text and text[:1] not in b"{[":
        try:
            # Two line ends complete an event that the end of the body cut short.
            said = [one.data for one in SseParser(len(body) + 1).feed(body + b"\n\n")]
        except ValueError:
            said = []
    found = [one for each in said for one in messages(each)]
    return [one for one in found if isinstance(one, jsonrpc.Response)]


def session_is_lost(
    status: int, said: jsonrpc.Response | None, had_session: bool, ident: int
) -> bool:
    """Whether the request `ident` was refused because the server does not know its session any more. A server that answers this
    very request with a result or an error of its own has read it, whatever its status, and may have acted."""
    if not had_session or (said is not None and _is_own(said, ident)):
        return False
    # 404 is the word of the specification; 400 with an error about the session is that of the TypeScript SDK.
    return status == 404 or (status == 400 and _is_of_session(said))


def speaks_of_session(status: int, said: jsonrpc.Response | None, ident: int) -> bool:
    """Whether a server answers the request `ident` itself that a session is gone: ours, and it looked at no more than that, or one
    that the tool knows, which ran. The answer alone does not tell."""
    if said is None or not said.error or not _is_own(said, ident):
        return False
    return _speaks_of_session(said) if status == 404 else status == 400 and _is_of_session(said)


def is_no_method(said: jsonrpc.Response) -> bool:
    """Whether a server says that it has no such method."""
    return bool(said.error) and _decoded(said).get("code") == jsonrpc.METHOD_NOT_FOUND


def may_repeat(call: Call | None) -> bool:
    """Whether a request that may have been executed can be sent again without harm: what only reads by its method,
    what the operator says so of, and what the gateway asks for itself."""
    return call is None or call.repeatable


def unsent(server: str) -> Failure:
    """What a call comes to that was refused because the server had forgotten our session."""
    return Failure(
        "restarting",
        f"server {server} had forgotten our session; nothing was run. Call it again",
        {"server_id": server, "sent": False},
    )


def gone(server: str, why: str, *, sent: bool) -> Failure:
    """What a call comes to whose connection has ended, before or after it was sent."""
    what = "the call was on its way: its outcome is unknown" if sent else "it was not sent"
    return Failure(
        "upstream_unavailable",
        f"server {server} is gone ({why}); {what}",
        {"sent": sent},
        retry_after_ms=1000,
    )


def refusal(
    server: str, status: int, headers: Mapping[str, str], said: jsonrpc.Response | None
) -> jsonrpc.Response | Failure:
    """What a refused request comes to: what the server itself said of it (`answer_in`), else the status."""
    if said is not None:
        return said
    if status in (429, 503):
        text = f"server {server} is overloaded (HTTP {status})"
        return Failure("upstream_unavailable", text, retry_after_ms=_retry_after_ms(headers))
    if status in (401, 403):
        text = f"server {server} refused access (HTTP {status}); check its headers or token"
        return Failure("upstream_error", text)
    return Failure("upstream_error", f"server {server} answered HTTP {status}")


def _retry_after_ms(headers: Mapping[str, str]) -> int:
    # A date in it (RFC 9110 §10.2.3) is not read.
    found = headers.get("Retry-After", "")
    read = found.isascii() and found.isdigit() and len(found) <= _WAIT_DIGITS
    return int(found) * 1000 if read and int(found) <= _MOST_WAIT_S else 1000


def _is_own(answer: jsonrpc.Response, ident: int) -> bool:
    """Whether an answer is one to the request `ident`, also where the server made a string of the number."""
    return answer.id in (b"%d" % ident, b'"%d"' % ident)


def _is_of_session(error: jsonrpc.Response | None) -> bool:
    """Whether an error speaks of the session. Its code alone says nothing: -32000 is also how a tool that ran fails."""
    if error is None:
        return False
    found = _decoded(error)
    return found.get("code") == _NO_SESSION and _speaks_of_session(error)


def _speaks_of_session(error: jsonrpc.Response) -> bool:
    message = str(_decoded(error).get("message", "")).lower()
    return any(word in message for word in _OF_SESSIONS)


def _decoded(error: jsonrpc.Response) -> dict[str, Any]:
    try:
        found = jsonrpc.decode(error.error)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
