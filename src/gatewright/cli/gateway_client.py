"""HTTP client of the commands: stateless MCP requests (also page by page) and GETs to the gateway; maps errors to `CliError`.

Spoken is MCP 2026-07-28, the stateless revision: one POST a question, no session. MGP is offered, so
that a refusal arrives as an error with its reason instead of as text for a model.
"""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from gatewright import __version__
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.global_options import OUTPUT_OPTIONS
from gatewright.cli.output import note
from gatewright.cli.running import Endpoint
from gatewright.command_text import to_type
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import REASONS, Reason, reason_of
from gatewright.mcp.wire.headers_and_meta import (
    ERROR_ORIGIN,
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_VERSION,
    request_headers,
)
from gatewright.mcp.wire.versions import LATEST_MODERN
from gatewright.patterns import Pattern
from gatewright.web.sse import SseParser

__all__ = ["ask", "ask_all", "fetch", "from_error", "unwrapped"]

_OFFERED = [
    *("security", "access_control", "audit"),
    *("lifecycle", "discovery", "tool_discovery"),
]
_MGP = {"version": "0.2.0", "extensions": _OFFERED}
_USUAL_S = 60.0
_PAGES = 1000
_EVENT_BYTES = 128 << 20
_PIECE = 1 << 16
_NO_HEADERS: Mapping[tuple[str, ...], str] = {}
_NO_FIELDS: Mapping[str, str] = {}
_NO_CAPABILITIES: Mapping[str, Any] = {}
_SHOWN = Pattern(r"`[^`]*gatewright ([^`]+)`")
_PLACE = Pattern(r"[A-Z]+(?:/[A-Z]+)?")
"""A word of a command that is still to be filled in."""
_READS = frozenset(("list", "explain", "logs", "ping"))
"""How methods end that do nothing; of all others nobody knows."""
_CLEAR_TEXT = "WRONG_VERSION_NUMBER"
"""What TLS makes of an answer in clear text."""


def ask(
    endpoint: Endpoint,
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    headers: Mapping[tuple[str, ...], str] = _NO_HEADERS,
    capabilities: Mapping[str, Any] = _NO_CAPABILITIES,
    timeout_s: float | None = None,
) -> dict[str, Any]:
    """Put one question and return the result object.

    `headers` are the tool's `x-mcp-header` annotations (`mcp.wire.headers_and_meta.param_headers`), `capabilities`
    what the command can do besides MGP. Raises `CliError` with the exit code that fits: 3 no or
    wrong key, 4 unreachable, 6 refused, and so on.
    """
    patience_s = OUTPUT_OPTIONS.patience(_USUAL_S) if timeout_s is None else timeout_s
    meta = {
        META_VERSION: LATEST_MODERN,
        META_CLIENT_INFO: {"name": "gatewright-cli", "version": __version__},
        META_CLIENT_CAPABILITIES: {**capabilities, "mgp": _MGP},
    }
    body = {**(params or {}), "_meta": meta}
    frame = jsonrpc.request(b"1", method, body)
    fields = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **request_headers(method, body, headers, LATEST_MODERN),
    }
    if endpoint.token:
        fields["Authorization"] = f"Bearer {endpoint.token}"
    acts = method.rpartition("/")[2] not in _READS
    with _asked(endpoint, "POST", None, patience_s, frame, fields, acts=acts) as response:
        return _answer(response)


def fetch(endpoint: Endpoint, path: str, *, timeout_s: float | None = None) -> bytes:
    """What the gateway says at another path than MCP's. Raises `CliError` as `ask` does."""
    patience_s = OUTPUT_OPTIONS.patience(_USUAL_S) if timeout_s is None else timeout_s
    fields = {"Authorization": f"Bearer {endpoint.token}"} if endpoint.token else {}
    with _asked(endpoint, "GET", path, patience_s, None, fields) as response:
        if response.status == 200:
            return response.read()
        raise _stranger(response)


@contextlib.contextmanager
def _asked(
    endpoint: Endpoint,
    method: str,
    path: str | None,
    patience_s: float,
    body: bytes | None = None,
    fields: Mapping[str, str] = _NO_FIELDS,
    *,
    acts: bool = False,
) -> Iterator[http.client.HTTPResponse]:
    """`acts`: what is asked may do something, so that no answer to it is no failure to reach anybody."""
    sent = False
    try:
        with contextlib.closing(_connect(endpoint, patience_s)) as connection:
            parts = urlsplit(endpoint.url)
            where = urlunsplit(("", "", path or parts.path or "/", parts.query, ""))
            connection.connect()
            # From here on the request may have arrived, whatever becomes of the answer.
            sent = acts
            connection.request(method, where, body, dict(fields))
            with contextlib.closing(connection.getresponse()) as response:
                yield response
    except TimeoutError:
        silent = f"said nothing for {patience_s:g} s"
        raise (_unanswered if sent else _unreachable)(endpoint, silent) from None
    except (OSError, http.client.HTTPException) as problem:
        if sent:
            raise _unanswered(endpoint, f"hung up: {problem}") from None
        raise _unreachable(
            endpoint,
            f"cannot be reached: {problem}",
            clear=getattr(problem, "reason", "") == _CLEAR_TEXT,
        ) from None


def ask_all(
    endpoint: Endpoint, method: str, member: str, *, timeout_s: float | None = None
) -> list[dict[str, Any]]:
    """Every page of a list."""
    found: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    for _ in range(_PAGES):
        result = ask(endpoint, method, params, timeout_s=timeout_s)
        page = result.get(member)
        found += [item for item in page if isinstance(item, dict)] if isinstance(page, list) else []
        if result.get("nextCursor") is None:
            return found
        params = {"cursor": result["nextCursor"]}
    raise CliError(
        f"{method} has no end: {_PAGES} pages",
        code="upstream_error",
        exit_code=Exit.TOOL_ERROR,
        hint=f"a server behind the gateway pages in a circle; `{to_type('server list')}`",
    )


def unwrapped(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what the protocol puts around it."""
    return {name: one for name, one in result.items() if name not in {"_meta", "resultType"}}


def from_error(error: Any) -> CliError:
    """The `CliError` for a JSON-RPC error object. The gateway names the reason of all that it says itself: an error without
    one is a server's own, whatever its code means elsewhere, and so is one that the gateway marks as a server's words."""
    body = error if isinstance(error, dict) else {}
    data = body.get("data")
    data = data if isinstance(data, dict) else {}
    meta = data.get("_meta")
    theirs = isinstance(meta, dict) and meta.get(ERROR_ORIGIN) == "server"
    named = None if theirs else data.get("reason")
    row = REASONS.get(named) if isinstance(named, str) else None
    row = row or reason_of("upstream_error")
    message = body.get("message")
    trace = data.get("trace_id")
    # The exit code 4 invites scripts to try again, which what may have run must not be.
    once = row.exit == Exit.UNREACHABLE and _may_have_run(data, row)
    return CliError(
        message if isinstance(message, str) and message else row.mgp_name,
        code=row.name,
        exit_code=Exit.NOT_KNOWN if once else row.exit,
        hint=_hint(body.get("message"), row.name, data),
        request_id=trace if isinstance(trace, str) else "",
    )


def _may_have_run(data: Mapping[str, Any], row: Reason) -> bool:
    """Whether the gateway takes back that this may be asked again, as of a call that was handed on."""
    help_ = data.get("_mgp")
    return row.retryable and isinstance(help_, dict) and help_.get("retryable") is False


def _hint(message: Any, reason: str, data: Mapping[str, Any]) -> str:
    """What to do next. A message that names the whole command itself needs no other beside it, with less in it."""
    shown = _SHOWN.search(message) if isinstance(message, str) else None
    if shown is not None and not any(_PLACE.fullmatch(word) for word in shown[1].split()):
        return ""
    return _hints().get(reason) or _patience(data)


def _hints() -> dict[str, str]:
    return {
        "access_denied": f"an operator grants it: {to_type('grant add AGENT SERVER/TOOL')}",
        "auth_required": f"make a key with `{to_type('key create NAME')}` and pass it with --key-file or GATEWRIGHT_KEY",
        "auth_failed": f"the key is unknown, expired or revoked; see `{to_type('key list')}`",
        "auth_expired": f"make a new key with `{to_type('key create NAME')}`",
        "invalid_args": f"`{to_type('tool show NAME')}` shows the arguments it takes",
        "tool_not_found": f"`{to_type('tool list')}` shows what there is",
        "tool_disabled": f"`{to_type('server pin')}` lists what is held back, and why",
        "server_not_ready": f"`{to_type('server list')}` shows how the server is",
        "upstream_unavailable": f"`{to_type('server list')}` shows how the server is",
        "restarting": f"try again in a moment; `{to_type('server list')}` shows how the server is",
        "audit_unavailable": "nothing runs unrecorded: look at the disk of the state folder",
        "missing_capability": "the tool asks its caller; use a host that can answer",
    }


def _patience(data: Mapping[str, Any]) -> str:
    help_ = data.get("_mgp")
    wait = help_.get("retry_after_ms") if isinstance(help_, dict) else None
    if isinstance(wait, int) and wait > 0:
        return f"try again in {wait / 1000:g} s"
    return f"`{to_type('audit query')}` shows what was decided, and why"


def _connect(endpoint: Endpoint, timeout_s: float) -> http.client.HTTPConnection:
    try:
        parts = urlsplit(endpoint.url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host and parts.scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=timeout_s)
    if host and parts.scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=timeout_s)
    raise CliError(
        f"{endpoint.url!r} is not an HTTP URL",
        code="usage",
        exit_code=Exit.USAGE,
        hint="write it like http://127.0.0.1:8420/mcp",
    )


def _answer(response: http.client.HTTPResponse) -> dict[str, Any]:
    kind = (response.getheader("Content-Type") or "").partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        frames: Iterator[bytes] = _events(response)
    elif kind == "application/json":
        frames = iter([response.read()])
    else:
        frames = iter(())
    for frame in frames:
        message = jsonrpc.parse(frame)
        if isinstance(message, jsonrpc.Notification):
            _tell(message)
        elif isinstance(message, jsonrpc.Response):
            if message.error:
                raise from_error(jsonrpc.decode_whole(message.error))
            result = jsonrpc.decode_whole(message.result)
            return result if isinstance(result, dict) else {}
        else:
            raise _stranger(response)
    if kind == "text/event-stream":
        # Caught by `_asked`: what acts may have run.
        raise http.client.HTTPException("its stream ended before the answer")
    raise _stranger(response)


def _stranger(response: http.client.HTTPResponse) -> CliError:
    return CliError(
        f"this is no MCP endpoint: HTTP {response.status} {response.reason}",
        code="gateway_unreachable",
        exit_code=Exit.AUTHENTICATION if response.status == 401 else Exit.UNREACHABLE,
        hint="the URL of a gateway ends in /mcp, or in /mcp/PROFILE",
    )


def _events(response: http.client.HTTPResponse) -> Iterator[bytes]:
    parser = SseParser(_EVENT_BYTES)
    while piece := response.read1(_PIECE):
        for event in parser.feed(piece):
            if event.data:
                yield event.data


def _tell(notification: jsonrpc.Notification) -> None:
    """Progress and log lines of a running call go to standard error, marked as the server's words."""
    try:
        params = jsonrpc.decode_whole(notification.params) if notification.params else {}
    except ValueError:
        return
    text = params.get("message", params.get("data")) if isinstance(params, dict) else None
    if isinstance(text, str):
        for line in text.split("\n"):
            note(f"> {line}")


def _unanswered(endpoint: Endpoint, what: str) -> CliError:
    return CliError(
        f"the gateway at {endpoint.url} was asked and {what}: whether it was carried out is not known",
        code="not_known",
        exit_code=Exit.NOT_KNOWN,
        hint=f"look before asking again: `{to_type('audit query')}` shows what ran",
    )


def _unreachable(endpoint: Endpoint, what: str, *, clear: bool = False) -> CliError:
    """`clear` where whoever listens there speaks no TLS."""
    ours = "" if endpoint.pid is None else f" (gateway.json names process {endpoint.pid})"
    plain = endpoint.url.replace("https://", "http://", 1)
    return CliError(
        f"the gateway at {endpoint.url} {what}{ours}",
        code="gateway_unreachable",
        exit_code=Exit.UNREACHABLE,
        hint=f"no TLS is spoken there: write {plain}"
        if clear
        else f"start it with `{to_type('serve')}`",
    )
