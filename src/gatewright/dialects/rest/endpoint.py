"""REST endpoint: lists tools, calls one by POST to `/tools/NAME`, serves the OpenAPI document, a JSON catalogue and a documentation page.

    GET  /tools           POST /tools/NAME       GET /openapi.json
    GET  /tools/NAME      GET  /docs             GET /catalogue.json

and the same below /profiles/PROFILE.

Each request is one call of the kernel, as at every other endpoint; what is listed and what the document
describes is what the caller may call. Errors are HTTP's statuses with ggen's error object inside.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Coroutine, Generator, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec

from gatewright.call import ANONYMOUS, Answer, Call, Failure, Refusal
from gatewright.dialects.one_shot import BROKEN, OneShotCalls, Shown, Who, unless_gone, unreadable
from gatewright.dialects.openapi import document
from gatewright.dialects.rest.page import api_page
from gatewright.mcp.protocol import ggen
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_request import Connection, HttpRequest
from gatewright.mcp.server.http_responses import challenge, send_json, send_pieces, send_plain
from gatewright.mcp.server.routes import Handler, Profiles, Routes, within
from gatewright.mcp.server.server_context import ServerContext, trace_of
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import Limits, flaw_of
from gatewright.mcp.wire.versions import METHODS
from gatewright.transport.slices import in_slices
from gatewright.transport.thread_turns import ThreadTurns

__all__ = ["Rest"]

log = logging.getLogger("gatewright.doors")

_DOOR = "rest"
_PRIVATE = ((b"cache-control", b"no-store"),)
"""What is answered depends on who asks."""

_MANY_BYTES = 32 * 1024
"""From this many bytes of definitions on, a document is made in a thread."""
_LONGEST = 8 * 1024 * 1024
"""No document is made of more bytes of definitions: what has to be done with it in one step takes some milliseconds a MiB."""
_TOOLS_MOST, _A_STEP = 1_000_000, 50
_T = TypeVar("_T")
_Decoded = tuple[list[dict[str, Any]], int]
_PATHS = ("/tools", "/openapi.json", "/catalogue.json", "/docs")
_BY_STATUS = {
    405: "method_not_found",
    406: "not_acceptable",
    408: "client_too_slow",
    413: "too_large",
    415: "unsupported_media",
}

Headers = tuple[tuple[bytes, bytes], ...]


class _Request(HttpRequest):
    """A request whose refusals are answered as ggen's error object with an HTTP status."""

    async def refuse(
        self,
        status: int,
        message: str,
        code: int = jsonrpc.INVALID_REQUEST,
        *,
        ident: bytes = b"null",
        data: Any = None,
    ) -> None:
        """Answer with an error."""
        self._refused(self.caller, _DOOR, code, message)
        await self.fail(Refusal(_BY_STATUS[status], message), "", status=status)

    async def fail(
        self,
        outcome: Refusal | Failure,
        trace_id: str,
        *,
        call: Call | None = None,
        flaws: list[dict[str, Any]] | None = None,
        status: int | None = None,
        headers: Headers = (),
    ) -> None:
        """Answer with what became of a call."""
        name = "" if call is None else call.name
        error, row = ggen.error_of(outcome, trace_id, method="", tool=name, flaws=flaws)
        status = row.http if status is None else status
        if status == 401 or "scope" in outcome.details:
            scope = str(outcome.details.get("scope", ""))
            headers = (*headers, *challenge(row.name, scope))
        if status == 429 and outcome.retry_after_ms is not None and not outcome.once:
            seconds = b"%d" % -(-outcome.retry_after_ms // 1000)
            headers = (*headers, (b"retry-after", seconds))
        await send_json(self.send, b'{"error":' + error + b"}", status, (*headers, *_PRIVATE))


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


_Serve = Callable[[_Request, Who, str], Coroutine[Any, Any, None]]


class Rest:
    """The endpoint; the paths are in the module's text."""

    def __init__(
        self, front: ServerContext, shown: Shown, now: Callable[[], dt.datetime] = _now
    ) -> None:
        """`now` is the time that a catalogue says it was made at."""
        self._front = front
        self._shown = shown
        self._now = now
        self._calls = OneShotCalls(front, shown, _DOOR)
        self._making = ThreadTurns()
        self.routes = Routes(find=self._find, resource=self._resource)
        """`/tools`, `/docs` and the other paths of this door, and those below `/profiles/NAME`."""

    def _resource(self, path: str, profiles: Profiles) -> str | None:
        profile, inner = within(path, profiles)
        return None if profile is None or not self.serves(inner) else self.resource(profile)

    def _find(self, path: str, profiles: Profiles) -> Handler | None:
        profile, inner = within(path, profiles)
        if profile is None or not self.serves(inner):
            return None

        async def serve(connection: Connection, headers: HttpHeaders) -> None:
            await self(connection, headers, headers.credential, inner, profile)

        return serve

    def serves(self, path: str) -> bool:
        """Whether a path is one of this door's; a profile's prefix is taken off before."""
        return path in _PATHS or path.startswith("/tools/")

    @staticmethod
    def resource(profile: str) -> str:
        """What a token for this door is for: the tools of a profile, whichever is called."""
        return f"/profiles/{profile}/tools" if profile else "/tools"

    async def __call__(
        self,
        connection: Connection,
        headers: HttpHeaders,
        credential: str | None,
        path: str,
        profile: str,
    ) -> None:
        """Serve one request to `path`."""
        method = connection.scope["method"]
        caller = await self._front.admit(_DOOR, credential, self.resource(profile))
        known = not isinstance(caller, Refusal)
        http = _Request(
            *connection,
            headers,
            ANONYMOUS if isinstance(caller, Refusal) else caller,
            profile,
            self._front.refused if known else lambda *_: None,
        )
        if path == "/docs" and method in ("GET", "HEAD"):
            who = None if isinstance(caller, Refusal) else Who(caller, credential, profile)
            await unless_gone(http, self._page(http, who))
            return
        served = self._route(path)
        if method not in served:
            said = f"{method} is not for this path"
            allow = ((b"allow", ", ".join(served).encode()),)
            await http.fail(
                Refusal("method_not_found", said), self._fresh(), status=405, headers=allow
            )
        elif isinstance(caller, Refusal):
            await http.fail(caller, self._fresh())
        else:
            who = Who(caller, credential, profile)
            await unless_gone(http, self._served(served[method], http, who, path))

    async def _served(self, serve: _Serve, http: _Request, who: Who, path: str) -> None:
        """Serve; a defect of ours is answered, too, unless its answer had begun."""
        inner, begun = http.send, False

        async def send(message: dict[str, Any]) -> None:
            nonlocal begun
            begun = True
            await inner(message)

        http.send = send
        try:
            await serve(http, who, path.removeprefix("/tools/"))
        except Exception:
            if begun:
                raise
            log.exception("a request could not be served")
            posted = (
                http.scope["method"] == "POST"
            )  # its call may have been carried out (decision 0039)
            await http.fail(Failure("internal", BROKEN, once=posted), self._fresh())

    def _route(self, path: str) -> Mapping[str, _Serve]:
        if path == "/openapi.json":
            return {"GET": self._document, "HEAD": self._document}
        if path == "/catalogue.json":
            return {"GET": self._catalogue, "HEAD": self._catalogue}
        if path in _PATHS:  # `/docs` only to be named in `Allow`
            return {"GET": self._list, "HEAD": self._list}
        return {"GET": self._one, "HEAD": self._one, "POST": self._invoke}

    def _fresh(self) -> str:
        return self._front.random(16).hex()

    # -- calls

    async def _invoke(self, http: _Request, who: Who, name: str) -> None:
        body = await http.body(self._front.frame_bytes)
        if body is None:
            return
        arguments = _arguments(body, self._front.limits)
        if isinstance(arguments, Refusal):
            await http.fail(arguments, self._fresh())
            return
        call, outcome = await self._calls.handle(
            _inbound("tools/call", http, name=name, arguments=arguments), who
        )
        if isinstance(outcome, Answer) and outcome.tool_error:
            outcome = ggen.tool_error_of(outcome)
        traced = ((b"x-trace-id", call.trace_id.encode("ascii", "replace")),)
        if isinstance(outcome, Answer):
            result = await self._calls.result(outcome, "tools/call")
            await send_pieces(http.send, result, 200, (*traced, *_PRIVATE))
            return
        flaws = self._calls.flaws(call) if outcome.reason == "invalid_args" else None
        await http.fail(outcome, call.trace_id, call=call, flaws=flaws, headers=traced)

    async def _listed(self, http: _Request, who: Who) -> bytes | None:
        """The list of the tools that the caller may call; None where that was refused."""
        call, outcome = await self._calls.handle(_inbound("tools/list", http), who)
        if isinstance(outcome, Answer):
            return await self._calls.result(outcome, "tools/list")
        await http.fail(outcome, call.trace_id, call=call)
        return None

    async def _tools(self, http: _Request, who: Who) -> _Decoded | None:
        """The same, decoded, and in how many bytes; refused where one document about them would be too long."""
        listed = await self._listed(http, who)
        if listed is None:
            return None
        if len(listed) > _LONGEST:
            said = f"the definitions of all tools have more than {_LONGEST} bytes; ask for one at /tools/NAME, or within a profile"
            await http.fail(Refusal("too_large", said), self._fresh())
            return None
        return await in_slices(_decoded(listed)), len(listed)

    async def _list(self, http: _Request, who: Who, _: str) -> None:
        listed = await self._listed(http, who)
        if listed is None:
            return
        tools = bytes(jsonrpc.decode_members(listed)["tools"])
        if tools == b"[]" and self._calls.hides(who.profile):
            await http.fail(unreadable(who.caller), self._fresh())
        else:
            await send_pieces(http.send, b'{"tools":' + tools + b"}", 200, _PRIVATE)

    async def _one(self, http: _Request, who: Who, name: str) -> None:
        listed = await self._listed(http, who)
        if listed is None:
            return
        tool = self._shown.tool(who.profile, name, who.caller)
        exposed = name if tool is None else tool.exposed
        found = await in_slices(_named(listed, exposed))
        if found is None:
            missing = f"there is no tool {name[:100]!r}"
            await http.fail(Refusal("tool_not_found", missing), self._fresh())
        else:
            await send_pieces(http.send, found, 200, _PRIVATE)

    # -- what there is, for programs and for people

    async def _document(self, http: _Request, who: Who, _: str) -> None:
        found = await self._tools(http, who)
        if found is None:
            return
        base = f"/profiles/{who.profile}" if who.profile else "/"
        anonymous = not isinstance(self._front.identify(_DOOR, None), Refusal)

        def made() -> bytes:
            return jsonrpc.encode(document.document(found[0], base=base, anonymous=anonymous))

        await send_pieces(http.send, await self._beside(found[1], made), 200, _PRIVATE)

    async def _catalogue(self, http: _Request, who: Who, _: str) -> None:
        # Only who asks for it pays for loading what authors use.
        from gatewright.sdk.export import catalogue  # noqa: PLC0415

        found = await self._tools(http, who)
        if found is None:
            return

        def made() -> bytes:
            return jsonrpc.encode(catalogue(found[0], now=self._now()))

        await send_pieces(http.send, await self._beside(found[1], made), 200, _PRIVATE)

    async def _page(self, http: _Request, who: Who | None) -> None:
        found = ([], 0) if who is None else await self._tools(http, who)
        if found is not None:
            made = partial(api_page, found[0], known=who is not None)
            body, headers = await self._beside(found[1], made)
            kind = b"text/html; charset=utf-8"
            await send_plain(http.send, 200, body, (*headers, *_PRIVATE), content_type=kind)

    async def _beside(self, size: int, make: Callable[[], _T]) -> _T:
        """What is made of definitions of so many bytes; of many in a thread, since that takes long enough to hold up others, and one such
        after the other, as each takes turns with the loop."""
        return await self._making.run(make) if size > _MANY_BYTES else make()


def _each(listed: bytes) -> Generator[None, None, list[msgspec.Raw]]:
    """The texts of the tools of a list, in steps."""
    return (
        yield from jsonrpc.entries(jsonrpc.members_named(listed, "tools")["tools"], _TOOLS_MOST)
    )


def _decoded(listed: bytes) -> Generator[None, None, list[dict[str, Any]]]:
    """The tools of a list, each read by itself: a list as a whole is read in one step."""
    tools: list[dict[str, Any]] = []
    for one in (yield from _each(listed)):
        tools.append(jsonrpc.decode_whole(one))
        yield
    return tools


def _named(listed: bytes, name: str) -> Generator[None, None, bytes | None]:
    """The text of the tool of a list that is called so."""
    for number, one in enumerate((yield from _each(listed))):
        if jsonrpc.decode(jsonrpc.members_named(one, "name")["name"]) == name:
            return bytes(one)
        if number % _A_STEP == 0:
            yield
    return None


def _inbound(method: str, http: HttpRequest, **params: Any) -> Inbound:
    parent = {"_meta": {"traceparent": http.headers.text(b"traceparent")}}
    trace = http.headers.text(b"x-trace-id") or trace_of(parent)
    return Inbound(b"0", method, params, ggen.CLIENT, METHODS[method], trace)


def _arguments(body: bytes, limits: Limits) -> dict[str, Any] | Refusal:
    """The arguments that a body holds."""
    text = body.strip(b" \t\r\n")
    if text[:1] != b"{":
        return Refusal("invalid_args", "the body must be one JSON object: the tool's arguments")
    flaw = flaw_of(text, limits)
    if flaw:
        return Refusal("limit_exceeded", flaw)
    try:
        found: dict[str, Any] = jsonrpc.decode(text)
    except ValueError as problem:
        return Refusal("parse_error", f"the body is no JSON: {problem}")
    return found
