"""What a server says between calls is for the party that alone was served on that connection: a session, and keys with equal limits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gatewright.call import ANONYMOUS
from gatewright.mcp.client.link import Link
from gatewright.mcp.protocol.task_ids import RELATED
from gatewright.servers.server_callbacks import Told
from gatewright.servers.server_screen import LOG, Screen
from tests.servers.rig import within
from tests.servers.scripted import linked, start


def test_what_is_said_on_a_sessions_own_connection_is_of_the_limits_that_alone_were_served_there() -> (
    None
):
    heard: list[Any] = []
    screen = Screen(
        "files", Told(lambda *_: None, lambda *one: heard.append(one[3]), lambda *_: None)
    )
    task = {"_meta": {RELATED: {"taskId": "t"}}}
    for sole in ("", ANONYMOUS.party("a")):
        link: Any = SimpleNamespace(sole=sole)
        screen.said_by(link, LOG, {"level": "info", "data": 1}, "a")
        screen.said_by(link, LOG, task, "a")
        screen.said_by(link, "notifications/resources/updated", {"uri": "x:1"}, "a")
    assert heard == ["a", "a", "a", ANONYMOUS.party("a"), "a", "a"]


async def test_a_log_line_between_calls_is_for_who_alone_was_served_and_for_nobody_of_several() -> (
    None
):
    heard: list[str | None] = []

    class Sink:
        screen = Screen(
            "files", Told(lambda *_: None, lambda *one: heard.append(one[3]), lambda *_: None)
        )

        def said(self, link: Link, method: str, params: dict[str, Any]) -> None:
            self.screen.said_by(link, method, params)

        def renewed(self, link: Link) -> None:
            raise AssertionError

    async def serve(session: str) -> None:
        asked = start(link, session=session)
        server.say(id=(await server.next())["id"], result={})
        await within(asked)

    async def log() -> int:
        server.say(method=LOG, params={"level": "info", "data": 1})
        server.say(id="p", method="ping")
        assert (await server.next())["id"] == "p"
        return len(heard)

    async with linked(ear=Sink()) as (link, server):  # type: ignore[arg-type]
        assert (await log(), heard) == (1, [None])  # nobody was served: it can be about nobody
        await serve("a")
        assert (await log(), heard) == (2, [None, ANONYMOUS.party("a")])
        await serve("b")
        assert await log() == 2
        await serve("a")
        assert await log() == 2
