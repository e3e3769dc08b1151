"""`Routes`: what an endpoint plugs into the HTTP application: path handlers, WebSockets, OAuth resource ids; parses profiles in paths."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from gatewright.call import Caller, Refusal
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_request import Connection, HttpRequest, Receive
from gatewright.mcp.server.http_responses import Send

__all__ = [
    "Door",
    "Handler",
    "Open",
    "PlainSocket",
    "Profiles",
    "Routes",
    "Socket",
    "Upgrade",
    "profile_of",
    "within",
]

Profiles = frozenset[str]
"""The names of the profiles there are now."""

Door = Callable[[HttpRequest], Coroutine[Any, Any, None]]
"""Serves requests of callers who are known."""

Handler = Callable[[Connection, HttpHeaders], Awaitable[None]]
"""Finds out itself who asks, and says it in its own words where nobody does."""

Open = Callable[[str, Send, Caller | None], Awaitable[None]]
"""Answers whoever asks at a path; the caller is there where one is known."""


class Upgrade(NamedTuple):
    """A WebSocket that is asked for. `flaw` is what is wrong with its Host or Origin, `of_page` the same for a page of another origin."""

    scope: dict[str, Any]
    receive: Receive
    send: Send
    credential: str | None
    flaw: str
    of_page: str


Socket = Callable[[Upgrade], Awaitable[bool]]
"""Serves a WebSocket; False where it is not its own after all."""


class PlainSocket(Protocol):
    """Serves a WebSocket at MCP's paths that names no subprotocol."""

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Receive,
        send: Send,
        *,
        caller: Caller | Refusal,
        credential: str | None,
        profile: str,
    ) -> None: ...


def _nowhere(path: str, profiles: Profiles) -> None:
    """Nothing is at any path."""


async def _nothing() -> None:
    """Nothing is open."""


class Routes(msgspec.Struct, frozen=True, kw_only=True):
    """See the module's text. What is asked with a path is asked once a connection, with the profiles there are by then."""

    doors: Mapping[str, Door] = {}
    """Path → its endpoint."""
    open: Mapping[str, Open] = {}
    """Path → what answers whoever asks."""
    find: Callable[[str, Profiles], Handler | None] = _nowhere
    """What is at a path of another kind."""
    socket: Callable[[str, Profiles], Socket | None] = _nowhere
    """What takes a WebSocket at a path."""
    resource: Callable[[str, Profiles], str | None] = _nowhere
    """The resource that a token has to be for at a path, where that is not the path itself; also whether anything is published
    about a path: the one that is its own resource."""
    plain_socket: PlainSocket | None = None
    """Where it stands for an MCP WebSocket without a subprotocol."""
    body: Callable[[HttpRequest, bytes], Coroutine[Any, Any, None]] | None = None
    """Serves a POST at MCP's paths whose body is no message of MCP but of this endpoint."""
    unknown: Callable[[Connection, HttpHeaders, str], Awaitable[bool]] | None = None
    """Serves a POST at MCP's paths whose headers say nothing of its caller, in a profile; False where its body does not either."""
    close: Callable[[], Awaitable[None]] = _nothing
    """Ends what is open here, whatever runs."""


def profile_of(path: str, root: str, profiles: Profiles) -> str | None:
    """The profile that a path below `root` names; None where it leads nowhere."""
    if path == root:
        return ""
    name = path.removeprefix(root + "/")
    return name if name != path and name in profiles else None


def within(path: str, profiles: Profiles) -> tuple[str | None, str]:
    """The profile whose paths begin with `/profiles/NAME`, and the path there."""
    if not path.startswith("/profiles/"):
        return "", path
    name, _, rest = path[10:].partition("/")
    return (name if name in profiles else None), "/" + rest
