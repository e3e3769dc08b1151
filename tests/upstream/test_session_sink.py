"""What is said on a session's own connection is passed on with the session's name."""

from __future__ import annotations

from typing import Any, cast

from gatewright.links.link import Link
from gatewright.upstream.keeper import Keeper
from gatewright.upstream.session_sink import SessionSink

LINK = cast("Link", "link")


class Server:
    """Remembers what it hears."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def said_to(self, session: str, link: Link, method: str, params: dict[str, Any]) -> None:
        self.heard.append((session, link, method, params))

    def renewed(self, link: Link) -> None:
        self.heard.append(link)

    async def admit(self, link: Link, keeper: Keeper | None = None) -> None:
        self.heard.append((link, keeper))

    async def asked(self, link: Link, params: Any) -> dict[str, Any]:
        return {"asked": params}


async def test_the_server_learns_whose_connection_it_was() -> None:
    server = Server()
    sink = SessionSink(server, "mine")
    sink.said(LINK, "notifications/message", {"data": 1})
    sink.renewed(LINK)
    await sink.admit(LINK)
    sink.keeper = cast("Keeper", "keeper")
    await sink.admit(LINK)
    assert await sink.asked(LINK, 7) == {"asked": 7}
    assert server.heard == [
        ("mine", LINK, "notifications/message", {"data": 1}),
        LINK,
        (LINK, None),
        (LINK, "keeper"),
    ]
