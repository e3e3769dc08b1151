"""What is said on a session's own connection is passed on with the session's name."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gatewright.call import CannotAsk, Question
from gatewright.mcp.client.link import Link
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.relist_delay import AT_ONCE
from gatewright.servers.session_sink import SessionSink
from tests.servers.rig import FakeBack, within

LINK = cast("Link", "link")


class Server:
    """Remembers what it hears."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.tasks: list[asyncio.Task[Any]] = []

    def said_to(self, session: str, link: Link, method: str, params: dict[str, Any]) -> None:
        self.heard.append((session, link, method, params))

    def renewed_own(self) -> None:
        self.heard.append("renewed")

    async def tell_own(self, session: str, link: Link) -> None:
        self.heard.append(("tell", session, link))

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        self.tasks.append(asyncio.ensure_future(work))

    async def admit(self, link: Link, keeper: Reconnector | None = None) -> None:
        self.heard.append((link, keeper))

    async def asked(self, link: Link, params: Any) -> dict[str, Any]:
        return {"asked": params}


async def test_the_server_learns_whose_connection_it_was() -> None:
    server = Server()
    sink = SessionSink(server, "mine")
    sink.said(LINK, "notifications/message", {"data": 1})
    sink.renewed(LINK)
    await sink.connected(LINK)
    await sink.admit(LINK)
    sink.keeper = keeper = cast("Reconnector", SimpleNamespace(link=LINK))
    await sink.admit(LINK)
    assert await sink.asked(LINK, 7) == {"asked": 7}
    await within(asyncio.gather(*server.tasks))
    assert server.heard == [
        ("mine", LINK, "notifications/message", {"data": 1}),
        "renewed",
        (LINK, None),
        (LINK, keeper),
        ("tell", "mine", LINK),
        ("tell", "mine", LINK),
    ]


async def test_a_connection_that_is_renewed_while_it_is_told_is_told_once_more_and_not_at_once() -> (
    None
):
    """What a session wants to hear is asked of the server, which may forget our session for that: without end."""
    server = Server()
    sink = SessionSink(server, "mine")
    sink.keeper = cast("Reconnector", SimpleNamespace(link=LINK))

    async def tell_own(session: str, link: Link) -> None:
        server.heard.append("told")
        for _ in range(3):
            sink.renewed(link)

    server.tell_own = tell_own  # type: ignore[method-assign]
    sink.renewed(LINK)
    async with asyncio.timeout(20):
        while server.heard.count("told") < AT_ONCE:
            await asyncio.sleep(0.01)
    assert len(server.tasks) == 1
    assert server.heard.count("told") == AT_ONCE
    server.tasks[0].cancel()


async def test_roots_are_those_of_whoever_waits_and_then_as_they_were_last_shown() -> None:
    sink, question = SessionSink(Server(), "mine"), Question("roots/list")
    assert await sink.outside(question) == {"roots": []}
    with sink.waits(FakeBack(roots={"roots": [{"uri": "file:///a"}]})):
        assert await sink.outside(question) == {"roots": [{"uri": "file:///a"}]}
    assert await sink.outside(question) == {"roots": [{"uri": "file:///a"}]}
    with sink.waits(FakeBack()), pytest.raises(CannotAsk):
        await sink.outside(question)
    with pytest.raises(CannotAsk, match="no call is in flight"):
        await sink.outside(Question("sampling/createMessage"))


async def test_nothing_that_a_server_writes_beside_its_question_for_roots_reaches_a_caller() -> (
    None
):
    sink, back = SessionSink(Server(), "mine"), FakeBack(roots={"roots": []})
    with sink.waits(back):
        await sink.outside(Question("roots/list", {"_meta": {"dev.gatewright/x": 1}, "y": 1}))
    assert back.questions == [Question("roots/list")]


async def test_the_first_call_waits_for_a_server_that_asks_for_roots_and_for_no_other() -> None:
    sink = SessionSink(Server(), "mine")
    await sink.roots_told(LINK, None)
    await sink.roots_told(LINK, cast("Link", SimpleNamespace(wants_roots=False)))
    waiting = asyncio.ensure_future(
        sink.roots_told(LINK, cast("Link", SimpleNamespace(wants_roots=True)))
    )
    await asyncio.sleep(0)
    assert not waiting.done()
    await sink.outside(Question("roots/list"))
    assert await within(waiting) is LINK


async def test_on_each_connection_the_first_call_waits_anew() -> None:
    """Roots that were shown on the one before are not known on this one."""
    sink, main = SessionSink(Server(), "mine"), cast("Link", SimpleNamespace(wants_roots=True))
    for anew in (sink.begins, lambda: sink.renewed(LINK)):
        await sink.outside(Question("roots/list"))
        assert await within(sink.roots_told(LINK, main)) is LINK
        anew()
        waiting = asyncio.ensure_future(sink.roots_told(LINK, main))
        await asyncio.sleep(0)
        assert not waiting.done()
        await sink.outside(Question("roots/list"))
        await within(waiting)


async def test_a_server_hears_of_other_roots_while_somebody_can_be_asked_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sink, told = SessionSink(Server(), "mine"), []
    answers: list[Any] = []

    async def asks() -> None:
        answers.append(await sink.outside(Question("roots/list")))

    def notify(method: str, params: dict[str, Any]) -> None:
        told.append(method)
        asking.append(asyncio.ensure_future(asks()))

    asking: list[asyncio.Future[None]] = []
    link = cast("Link", SimpleNamespace(notify=notify))
    with sink.waits(FakeBack(roots={"roots": [{"uri": "file:///b"}]})):
        await within(sink.tell_roots(link))
    assert told == ["notifications/roots/list_changed"]
    assert answers == [{"roots": [{"uri": "file:///b"}]}]
    # One that does not ask holds the call up for a while, and no longer.
    monkeypatch.setattr("gatewright.servers.session_sink._ROOTS_S", 0.01)
    await within(sink.tell_roots(cast("Link", SimpleNamespace(notify=lambda *_: None))))
