"""Interprets HTTP responses of MCP servers: lost sessions, errors, what may be sent again, and when to reconnect. No I/O.

Source: MCP 2025-11-25 and 2026-07-28, basic/transports; and what servers in the wild do instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatewright.call import Call, Failure
from gatewright.mcp.client.large_messages import is_batch, large_response, message_in
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import TASK_STATUS, request_headers
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.methods import CALLBACK
from gatewright.patterns import Pattern
from gatewright.transport.http_client import (
    AnswerTooLarge,
    BadAnswer,
    ConnectionBroken,
    UpstreamError,
)
from gatewright.transport.large_text import LARGE
from gatewright.web.sse import SseParser

__all__ = [
    "NOT_REACHED",
    "RESUME_MS",
    "SESSION",
    "VERSION",
    "answer_in",
    "answers",
    "error_in",
    "gone",
    "headers_of",
    "is_no_method",
    "is_numbered",
    "is_own",
    "lost",
    "may_repeat",
    "messages",
    "names_a_request",
    "once_more",
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

_WORD_BYTES = 4096

_MOST_WAIT_S = 3600
_WAIT_DIGITS = 9

RESUME_MS = 1000
"""How soon a stream that broke off is asked for again, where the server does not say."""

_SOONEST_MS, _LATEST_MS = 10, 300_000
"""What a server says counts within these: sooner is a flood, and later is a stream that nobody hears of any more."""


_LINES_BYTES = 16 * 1024
"""Of a refusal that is no JSON: its lines may be as many as half its bytes, and its events as a ninth."""
_DATA = (b"data:", b"\xef\xbb\xbfdata:")
_LINE_OF_DATA = Pattern(rb"[\r\n]data:")
_ANSWER = Pattern(
    rb'_\{_(?:"jsonrpc"_:_"2\.0"_,_"id"_:_([0-9]+)_,_)?"result"_:'.replace(b"_", rb"[ \t\r\n]*")
)
_TOO_MUCH = jsonrpc.encode(
    {
        "code": jsonrpc.INTERNAL_ERROR,
        "message": "the server refused this at more length than is read",
    }
)


def resume_ms(said: int | None) -> int:
    """How many milliseconds to wait before a stream that ended is asked for again. `said` is what the server wants."""
    return RESUME_MS if said is None else min(max(said, _SOONEST_MS), _LATEST_MS)


_HARMLESS = frozenset(
    "ping server/discover subscriptions/listen tools/list prompts/list prompts/get resources/list resources/templates/list resources/read "
    "resources/subscribe resources/unsubscribe logging/setLevel mgp/health/ping mgp/health/status mgp/events/unsubscribe mgp/stream/cancel".split()
)
"""What the gateway asks for itself and may ask twice."""
_NUMBERED = frozenset({"notifications/cancelled", CALLBACK, *TASK_STATUS})


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
    message = jsonrpc.parse(body) if len(body) <= DECODED_BYTES else None
    if isinstance(message, jsonrpc.Response) and message.error:
        return message
    return None


def answer_in(body: bytes, ident: int) -> jsonrpc.Response | None:
    """What an HTTP refusal says of the request `ident`: its answer, or an error whatever its id. One that is too long to be read counts
    as an answer: it may be one."""
    if _is_too_much(body):
        return jsonrpc.Response(b"%d" % ident, error=_TOO_MUCH)
    found = _answers_in(body)
    own = (one for one in found if _names(one, ident))
    return next(own, next((one for one in found if one.error), None))


def names_a_request(body: bytes) -> bool:
    """Whether an HTTP refusal has the answer to a request in it, which only somebody gives who has read that, or may have."""
    return _is_too_much(body) or any(one.id != b"null" for one in _answers_in(body))


def _is_too_much(body: bytes) -> bool:
    """Whether an answer may stand in a refusal, and is not looked for. A stream of events is read at once here, line by line."""
    if len(body) <= _LINES_BYTES or body.lstrip()[:1] in (b"{", b"["):
        return len(body) > DECODED_BYTES
    return (
        len(body) > DECODED_BYTES
        or body.startswith(_DATA)
        or _LINE_OF_DATA.search(body) is not None
    )


def _answers_in(body: bytes) -> list[jsonrpc.Response]:
    """The answers in the body of a refusal, which may be that of an event stream."""
    text = body.strip()
    said = [body]
    if text and text[:1] not in b"{[":
        said = _events_in(body)
    found = [one for each in said for one in messages(each)]
    return [one for one in found if isinstance(one, jsonrpc.Response)]


def _events_in(body: bytes) -> list[bytes]:
    """What the events of a refusal say. A long one that gets here has no line of data (`_is_too_much`), and may be nothing but lines."""
    if len(body) > _LINES_BYTES:
        return []
    try:
        # Two line ends complete an event that the end of the body cut short.
        return [one.data for one in SseParser(len(body) + 1).feed(body + b"\n\n")]
    except ValueError:
        return []


def session_is_lost(
    status: int, said: jsonrpc.Response | None, had_session: bool, ident: int
) -> bool:
    """Whether the request `ident` was refused because the server does not know its session any more. A server that answers this
    very request with a result or an error of its own has read it, whatever its status, and may have acted."""
    if not had_session or (said is not None and _names(said, ident)):
        return False
    # 404 is the word of the specification; 400 with an error about the session is that of the TypeScript SDK.
    return status == 404 or (status == 400 and _is_of_session(said))


def speaks_of_session(status: int, said: jsonrpc.Response | None, ident: int) -> bool:
    """Whether a server answers the request `ident` itself that a session is gone: ours, and it looked at no more than that, or one
    that the tool knows, which ran. The answer alone does not tell."""
    if said is None or not said.error or not _names(said, ident):
        return False
    return _speaks_of_session(said) if status == 404 else status == 400 and _is_of_session(said)


def is_no_method(said: jsonrpc.Response) -> bool:
    """Whether a server says that it has no such method."""
    return bool(said.error) and _decoded(said).get("code") == jsonrpc.METHOD_NOT_FOUND


def may_repeat(call: Call | None, method: str) -> bool:
    """Whether a request that may have been executed can be sent again without harm: what only reads by its method,
    what the operator says so of, and what the gateway asks for itself where that changes nothing the second time."""
    return method in _HARMLESS if call is None else call.repeatable


def once_more(problem: Exception) -> bool:
    """Whether a request that may be repeated is, after this."""
    return isinstance(problem, ConnectionBroken) and not problem.not_sent


def headers_of(
    hello: Hello | None, method: str, params: Mapping[str, Any], call: Call | None = None
) -> dict[str, str]:
    """The headers that repeat what is in the body, which a modern server wants."""
    if hello is None or not hello.modern:
        return {}
    annotations = call.tool.headers if call is not None and call.tool is not None else {}
    return request_headers(method, params, annotations, hello.revision)


def is_numbered(message: jsonrpc.Message) -> bool:
    """Whether a message of a server has a number or name in it that means something in its session alone: of a question, a callback or a task."""
    if isinstance(message, jsonrpc.Notification):
        return message.method in _NUMBERED
    return isinstance(message, jsonrpc.Request)


def unsent(server: str, *, ran: bool = False) -> Failure:
    """What a call comes to that was refused because the server had forgotten our session; `ran`: it was sent before, and may have."""
    what = "what became of the call before is unknown" if ran else "nothing was run. Call it again"
    return Failure(
        "restarting",
        f"server {server} had forgotten our session; {what}",
        {"server_id": server, "sent": ran},
    )


NOT_REACHED = "was not reached"
"""Of a server that is there, to others."""


def gone(server: str, why: str, *, sent: bool, how: str = "is gone") -> Failure:
    """What a call comes to whose connection has ended, or was not to be had, before or after it was sent."""
    what = "the call was on its way: its outcome is unknown" if sent else "it was not sent"
    return Failure(
        "upstream_unavailable",
        f"server {server} {how} ({why}); {what}",
        {"sent": sent},
        retry_after_ms=1000,
    )


def lost(problem: UpstreamError) -> Failure:
    """What a call comes to that was sent, and whose answer did not arrive as one."""
    if isinstance(problem, AnswerTooLarge | BadAnswer):
        return Failure("upstream_error", str(problem))
    text = f"{problem}; the outcome of the call is unknown"
    return Failure("upstream_unavailable", text, {"sent": True}, retry_after_ms=1000)


def answers(problem: UpstreamError, ident: int) -> bool:
    """Whether an answer to the request `ident` came after all, and was too long; of an event, whether it begins like one: a line of a log
    may be too long as well."""
    if not isinstance(problem, AnswerTooLarge) or problem.begins is None:
        return isinstance(problem, AnswerTooLarge)
    found = _ANSWER.match(problem.begins)
    return found is not None and (found[1] or b"%d" % ident) == b"%d" % ident


def is_own(said: jsonrpc.Response | None, ident: int) -> bool:
    """Whether what an HTTP refusal says (`answer_in`) is known to answer the request `ident`; of what is too long to be read nobody knows that."""
    return said is not None and said.error != _TOO_MUCH and _names(said, ident)


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
    # Where to is for the operator, who reads it when the server is connected anew.
    if 300 <= status < 400:
        text = f"server {server} answered with a redirect, which is not followed (HTTP {status})"
        return Failure("upstream_error", text)
    return Failure("upstream_error", f"server {server} answered HTTP {status}")


def _retry_after_ms(headers: Mapping[str, str]) -> int:
    # A date in it (RFC 9110 §10.2.3) is not read.
    found = headers.get("Retry-After", "")
    read = found.isascii() and found.isdigit() and len(found) <= _WAIT_DIGITS
    return int(found) * 1000 if read and int(found) <= _MOST_WAIT_S else 1000


def _names(answer: jsonrpc.Response, ident: int) -> bool:
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
    """The code and the message of an error, as far as they are short."""
    try:
        found = jsonrpc.members_named(error.error, "code", "message")
        return {name: jsonrpc.decode(one) for name, one in found.items() if len(one) <= _WORD_BYTES}
    except ValueError:
        return {}
