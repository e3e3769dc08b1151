from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gatewright.call import ANONYMOUS, Caller
from gatewright.dialects.groundhog.listener import Site, line_door
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_request import Connection
from tests.dialects.groundhog.rig import Rig


class Main:
    """The application behind, which notes what reaches it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any, whole: Any = None) -> None:
        self.seen.append((scope["type"], scope["path"]))

    def refuses(self, headers: HttpHeaders) -> str:
        return ""


class Door:
    """The endpoint, which notes what is posted to it, and lets everybody in."""

    def __init__(self, main: Main) -> None:
        self.parts = SimpleNamespace(front=self)
        self._main = main

    def identify(self, door: str, credential: str | None) -> Caller:
        return ANONYMOUS

    async def admit(self, door: str, credential: str | None, path: str) -> Caller:
        return ANONYMOUS

    async def post(self, connection: Connection, *who: object) -> None:
        self._main.seen.append(("groundhog", connection.scope["path"]))


async def reached(posts: bool, kind: str, path: str) -> tuple[str, str]:
    main = Main()
    door: Any = Door(main)

    async def nothing(*given: Any) -> Any:
        raise AssertionError("nobody reads or writes here")

    scope = {"type": kind, "path": path, "headers": []}
    await Site(main, door, "/hog", posts=posts)(scope, nothing, nothing)
    (found,) = main.seen
    return found


async def test_its_path_stands_for_the_endpoint_and_the_rest_is_as_elsewhere() -> None:
    """GRH-cfg-3: the Upgrade decides (C-48)."""
    assert await reached(False, "websocket", "/hog") == ("websocket", "/mcp")
    assert await reached(False, "http", "/hog") == ("http", "/mcp")
    assert await reached(False, "http", "/readyz") == ("http", "/readyz")
    assert await reached(False, "websocket", "/elsewhere") == ("websocket", "/elsewhere")


async def test_a_post_at_its_path_is_groundhogs_where_that_is_the_transport() -> None:
    """GRH-cfg-2."""
    assert await reached(True, "http", "/hog") == ("groundhog", "/hog")
    assert await reached(True, "websocket", "/hog") == ("websocket", "/mcp")
    assert await reached(True, "http", "/mcp") == ("http", "/mcp")


class Pipe:
    closed = False
    waiting = 0

    def send(self, message: bytes) -> None:
        raise AssertionError("nothing is said yet")

    def close(self) -> None:
        self.closed = True

    async def wait_closed(self) -> str:
        return "closed"


async def test_lines_of_nobody_known_have_to_say_who_they_are() -> None:
    """GRH-cfg-6."""
    async with Rig(waiting_most=1) as rig:
        one, two = Pipe(), Pipe()
        first = line_door(rig.parts)(one)
        assert rig.parts.waiting == 1
        second = line_door(rig.parts)(two)
        assert (one.closed, two.closed) == (False, True)
        for peer in (first, second):
            peer.closed("gone")
        assert rig.parts.waiting == 0


async def test_lines_need_no_credential_where_nobody_does() -> None:
    """GRH-cfg-5."""
    async with Rig(anonymous=True, require_authentication=False) as rig:
        peer = line_door(rig.parts)(Pipe())
        assert rig.parts.waiting == 0
        peer.closed("gone")
