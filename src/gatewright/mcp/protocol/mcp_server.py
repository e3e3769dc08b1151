"""MCP server state machine, all revisions: parses a host's messages, answers handshakes, frames requests to it; log level. No I/O.

A `Conversation` is one legacy session, or one duplex connection of either era. It is given parsed
messages and says what each asks for; whoever owns the connection does it. In the modern revision every
request stands alone, so reading one (`read_modern`) needs no conversation at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Client, Question
from gatewright.mcp.protocol import negotiate
from gatewright.mcp.protocol.client_params import (
    Dropped,
    Notice,
    Rejected,
    flaw_of_call,
    misread,
    params_of,
    read_notice,
)
from gatewright.mcp.protocol.initialize_bounds import kept_of, too_much_kept
from gatewright.mcp.protocol.introduction import Introduction, client_of
from gatewright.mcp.protocol.question_ids import question_id
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_SERVER_INFO,
    META_VERSION,
)
from gatewright.mcp.wire.methods import defined, is_known
from gatewright.mcp.wire.versions import (
    LATEST_LEGACY,
    LEGACY,
    METHODS,
    MODERN,
    Method,
    answer_version,
    is_modern,
)

__all__ = [
    "LOG_LEVELS",
    "Answered",
    "Cancelled",
    "Conversation",
    "Effect",
    "Hello",
    "Inbound",
    "Listen",
    "Reply",
    "can_answer",
    "discovered",
    "is_modern_params",
    "needed_capability",
    "read_modern",
    "request_key",
]

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""RFC 5424 severities in MCP's spelling, least severe first."""

_MODERN_MARK = META_VERSION.encode()
_SHAPES = {META_VERSION: "a string", META_CLIENT_CAPABILITIES: "an object"}
_OTHER = Method("method")
_OWN = frozenset({"initialize", "ping", "server/discover", "subscriptions/listen"})
"""What a connection is asked about itself; never anybody's tool, whatever the era."""
_NEEDS = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


class Inbound(msgspec.Struct, frozen=True, gc=False):
    """A request that becomes a call. `id` is JSON text; `kind` comes from the table of methods."""

    id: bytes
    method: str
    params: dict[str, Any]
    client: Client
    spec: Method
    trace_id: str | None = None
    size: int = 0
    """See `Call`."""


class Hello(msgspec.Struct, frozen=True):
    """`initialize` or `server/discover`: the owner looks up what to say and calls `welcome` or
    `discovered`."""

    id: bytes
    client: Client
    modern: bool


class Listen(msgspec.Struct, frozen=True):
    """`subscriptions/listen`: a stream of change notifications that lasts until it is cancelled."""

    id: bytes
    client: Client
    wanted: Any


class Reply(msgspec.Struct, frozen=True):
    """Answer the request `id` with this result; nothing else is to be done."""

    id: bytes
    result: bytes


class Cancelled(msgspec.Struct, frozen=True):
    """The caller gave up on the request with this id (JSON text)."""

    id: bytes


class Answered(msgspec.Struct, frozen=True):
    """The host answered one of our questions; exactly one of `result` and `error` is not empty."""

    id: bytes
    result: bytes = b""
    error: bytes = b""


Effect = Inbound | Hello | Listen | Reply | Rejected | Cancelled | Answered | Notice | Dropped


def can_answer(client: Client, method: str) -> bool:
    """Whether the caller said that it can answer such a question. What an operator declared may be tried; MGP's names are for
    those who negotiated the extension."""
    if is_known(method) and method not in _NEEDS:
        return defined(
            method, "server", client.revision, client.mgp.extensions if client.mgp else ()
        )
    need = _NEEDS.get(method)
    return need is None or need in client.capabilities


def needed_capability(method: str) -> str | None:
    """The client capability that a question needs; None for unknown kinds."""
    return _NEEDS.get(method)


def is_modern_params(params: bytes) -> bool:
    """Whether a request on a shared pipe carries the modern per-request metadata."""
    # Quicker than `in`, which tries its left side as a number first.
    if params.find(_MODERN_MARK) < 0:
        return False
    try:  # all other members are read over: they are decoded once it is known by whom
        meta = jsonrpc.members_named(params, "_meta").get("_meta")
        return meta is not None and META_VERSION in jsonrpc.members_named(meta, META_VERSION)
    except ValueError:
        return False


def request_key(ident: bytes) -> bytes:
    """One spelling for the id of a request, whose JSON text may be written with escapes in one message and without in the next."""
    return ident if ident.find(b"\\") < 0 else jsonrpc.encode(jsonrpc.decode(ident))


# -- modern ---------------------------------------------------------------------------------------


def read_modern(
    request: jsonrpc.Request,
    face: negotiate.Face,
    version_header: str | None = None,
    known: Introduction | None = None,
) -> Inbound | Hello | Listen | Rejected:
    """What a modern request asks for. `version_header` is HTTP's, None where there is none; `known` is for requests that have the same one.
    The checks come as the specification has them: metadata present, header equals body, version known, method known."""
    try:
        params = params_of(request)
    except ValueError as problem:
        return misread(request, problem, 404)
    meta = params.get("_meta")
    client = None if known is None else known.again(meta, face)
    if client is not None:
        del params["_meta"]  # it is about the connection, and says nothing that the client does not
        return _asked(request, params, client)
    if meta is None:
        flaw = f"params._meta must carry {META_VERSION} and {META_CLIENT_CAPABILITIES}"
        return Rejected(request.id, jsonrpc.INVALID_PARAMS, flaw)
    version, capabilities = meta.get(META_VERSION), meta.get(META_CLIENT_CAPABILITIES)
    if type(version) is not str or type(capabilities) is not dict:
        lacks = META_CLIENT_CAPABILITIES if type(version) is str else META_VERSION
        flaw = f"params._meta must carry {lacks}, {_SHAPES[lacks]}"
        return Rejected(request.id, jsonrpc.INVALID_PARAMS, flaw)
    if version_header is not None and version_header != version:
        flaw = "MCP-Protocol-Version does not match the version in _meta"
        return Rejected(request.id, -32020, flaw)
    if version not in MODERN:
        data = {"supported": [*MODERN, *LEGACY], "requested": version}
        return Rejected(request.id, -32022, "Unsupported protocol version", data)
    level = meta.get(META_LOG_LEVEL)
    info, level = meta.get(META_CLIENT_INFO), level if level in LOG_LEVELS else None
    client = client_of(version, capabilities, info, face, level)
    if known is not None:
        known.keep(meta, face, client, len(request.params))
    return _asked(request, params, client)


def _asked(
    request: jsonrpc.Request, params: dict[str, Any], client: Client
) -> Inbound | Hello | Listen | Rejected:
    spec = METHODS.get(request.method, _OTHER)
    if request.method in _OWN or not spec.modern:
        return _of_itself(request, params, client)
    return _inbound(request, params, client, spec)


def _of_itself(
    request: jsonrpc.Request, params: dict[str, Any], client: Client
) -> Hello | Listen | Rejected:
    if request.method == "server/discover":
        return Hello(request.id, client, modern=True)
    if request.method == "subscriptions/listen":
        return Listen(request.id, client, params.get("notifications"))
    flaw = f"{request.method} does not exist in MCP {client.revision}"
    return Rejected(request.id, jsonrpc.METHOD_NOT_FOUND, flaw, http=404, client=client)


def _called(request: jsonrpc.Request, client: Client, spec: Method) -> Inbound | Rejected:
    """The call that a legacy request asks for."""
    try:
        params = params_of(request)
    except ValueError as problem:
        return misread(request, problem, 200)
    return _inbound(request, params, client, spec)


def _inbound(
    request: jsonrpc.Request, params: dict[str, Any], client: Client, spec: Method
) -> Inbound | Rejected:
    names = spec.names
    if spec is _OTHER or (names is not None and type(params.get(names)) is not str):
        flaw = flaw_of_call(request, params, client, names, known=spec is not _OTHER)
        if flaw is not None:
            return flaw
    ident, method, text = request.id, request.method, request.params
    return Inbound(ident, method, params, client, spec, request.trace_id, len(text))


def discovered(
    hello: Hello,
    capabilities: dict[str, Any],
    instructions: str,
    info: Mapping[str, Any],
    face: negotiate.Face,
) -> bytes:
    """The result of `server/discover`. What is listed depends on who asks, so it is never shared."""
    result: dict[str, Any] = {
        "resultType": "complete",
        "supportedVersions": [*MODERN, *LEGACY],
        "capabilities": negotiate.announce(capabilities, hello.client.mgp, face),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {META_SERVER_INFO: info},
    }
    if instructions:
        result["instructions"] = instructions
    return jsonrpc.encode(result)


# -- legacy, and pipes of either era --------------------------------------------------------------


class Conversation:
    """What one host has told us so far, and the questions we have put to it."""

    client: Client | None = None
    """Set by the handshake; None before it, and for ever with a modern host."""
    initialized = False
    log_level: str | None = None

    def __init__(self, face: negotiate.Face) -> None:
        self._face = face

    def assume(self, name: str) -> None:
        """Take the host to speak a legacy revision without a handshake (sessionless requests)."""
        self.client = Client(name)
        self.initialized = True

    def receive(self, message: jsonrpc.Message) -> Effect | None:
        """What a message asks for; None where nothing is to be done."""
        if isinstance(message, jsonrpc.Request):
            spec = METHODS.get(message.method)
            if spec is None or message.params.find(_MODERN_MARK) >= 0:
                return self._request(message)
            return _called(message, self.client or Client(LATEST_LEGACY), spec)
        if isinstance(message, jsonrpc.Notification):
            return self._notification(message)
        if isinstance(message, jsonrpc.Response):
            return Answered(message.id, message.result, message.error)
        return Rejected(message.id, message.code, message.message)

    def _request(self, request: jsonrpc.Request) -> Effect:
        """What no row of the table of methods is for, or has the mark of the modern revision somewhere."""
        if request.method in _OWN:
            return self._of_itself(request)
        if is_modern_params(request.params):
            return read_modern(request, self._face)
        client = self.client or Client(LATEST_LEGACY)
        return _called(request, client, METHODS.get(request.method, _OTHER))

    def _of_itself(self, request: jsonrpc.Request) -> Effect:
        """What the connection is asked about itself."""
        if request.method == "server/discover" or is_modern_params(request.params):
            return read_modern(request, self._face)
        if request.method == "initialize":
            return self._initialize(request)
        if request.method == "ping":
            return Reply(request.id, b"{}")
        flaw = f"{request.method} does not exist in the revisions that open with initialize"
        return Rejected(request.id, jsonrpc.METHOD_NOT_FOUND, flaw, http=200)

    def _initialize(self, request: jsonrpc.Request) -> Effect:
        try:
            params = params_of(request)
        except ValueError as problem:
            return misread(request, problem, 200)
        if self.client is not None:
            flaw = "this session is initialized already"
            return Rejected(request.id, jsonrpc.INVALID_REQUEST, flaw)
        asked, capabilities = params.get("protocolVersion"), params.get("capabilities")
        flaw = "" if isinstance(asked, str) else "protocolVersion must be a string"
        flaw = flaw or too_much_kept(request.params)
        if flaw:
            return Rejected(request.id, jsonrpc.INVALID_PARAMS, flaw, http=200)
        can = capabilities if isinstance(capabilities, dict) else {}
        info = kept_of(params.get("clientInfo"), len(request.params))
        self.client = client_of(answer_version(asked), can, info, self._face)
        return Hello(request.id, self.client, modern=False)

    def set_level(self, level: str) -> None:
        """Remember from which severity on the host wants log lines. Later calls carry it, because a
        modern server sends none to a request that does not ask."""
        self.log_level = level
        if self.client is not None:
            self.client = replace(self.client, log_level=level)

    def welcome(
        self,
        hello: Hello,
        capabilities: dict[str, Any],
        instructions: str,
        info: Mapping[str, Any],
        meta: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The result of `initialize`."""
        offered = negotiate.announce(capabilities, hello.client.mgp, self._face)
        result: dict[str, Any] = {"protocolVersion": hello.client.revision, "capabilities": offered}
        result |= {"serverInfo": info} if meta is None else {"serverInfo": info, "_meta": meta}
        if instructions:
            result["instructions"] = instructions
        return jsonrpc.encode(result)

    def _notification(self, notification: jsonrpc.Notification) -> Effect | None:
        notice = read_notice(notification, self.client or Client(LATEST_LEGACY))
        if not isinstance(notice, Notice):
            return notice
        if notice.method == "notifications/initialized":
            self.initialized = True
            return None
        if notice.method == "notifications/cancelled":
            ident = notice.params.get("requestId")
            known = isinstance(ident, (str, int)) and not isinstance(ident, bool)
            return Cancelled(jsonrpc.encode(ident)) if known else None
        return notice

    def ask(self, question: Question, random: Callable[[int], bytes]) -> tuple[bytes, bytes]:
        """A question for the host: its id (JSON text) and its frame. Where its server wants to hear of progress the id is the token,
        too, under which the host tells how far it is: those of two servers may be one."""
        ident, params = question_id(random), question.params
        meta = params.get("_meta") if question.progress is not None and params is not None else None
        if isinstance(meta, dict):
            params = {**(params or {}), "_meta": {**meta, "progressToken": jsonrpc.decode(ident)}}
        return ident, jsonrpc.request(ident, question.method, params)

    def wants_log(self, client: Client, level: Any) -> bool:
        """Whether a log line of this level, or of none, is for the host: modern hosts ask with each request, legacy ones once."""
        wanted = client.log_level if is_modern(client.revision) else self.log_level
        if wanted is None:
            return not is_modern(client.revision)
        said = level if level in LOG_LEVELS else "info"
        return LOG_LEVELS.index(said) >= LOG_LEVELS.index(wanted)
