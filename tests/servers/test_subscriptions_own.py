"""What a session wants to hear on a connection of its own, and where that goes when connections come and go."""

from __future__ import annotations

import asyncio
import gc
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.call import Answer, Refusal
from gatewright.servers.subscriptions import ServerSubscriptions, _Connection
from tests.servers.rig import DEADLINE, FakeBack, ask, make_call, python, running, said
from tests.servers.test_subscriptions import ALPHA, wish


async def test_a_sessions_own_connection_to_a_successor_is_told_what_the_session_wants() -> None:
    """And nobody else's is, from then on."""
    spec = python("asker", share="session")
    async with running(spec) as supervisor, running(spec) as other:
        wishes, successor = (one._servers["asker"].wishes for one in (supervisor, other))
        await wish(supervisor, "resources/subscribe", ALPHA["asker"], "a")
        await wish(supervisor, "logging/setLevel", "", "a")
        successor.follow(wishes)
        facts = said(await ask(other, "asker/facts", session="a"))
        async with asyncio.timeout(DEADLINE):
            while facts["level"] != "info" or "resources/subscribe" not in facts["methods"]:
                facts = said(await ask(other, "asker/facts", session="a"))
        assert successor.resources.wanted() == []
        await wish(other, "resources/unsubscribe", ALPHA["asker"], "a")
        facts = said(await ask(other, "asker/facts", session="a"))
        assert "resources/unsubscribe" in facts["methods"]


async def test_the_first_wish_of_a_session_waits_for_the_connection_of_its_own() -> None:
    async with running(python("modern_asker", share="session")) as supervisor:
        uri = ALPHA["modern_asker"]
        assert isinstance(await wish(supervisor, "resources/subscribe", uri, "a"), Answer)


async def test_who_has_no_connection_of_its_own_yet_takes_nothing_off_the_common_one() -> None:
    async with running(python("asker")) as supervisor:
        server = supervisor._servers["asker"]
        before = ServerSubscriptions(server)
        for session in "ab":
            own = before._own[session] = _Connection(server, session)
            own.resources.hold(ALPHA["asker"], session, {ALPHA["asker"]})
        server.wishes.follow(before)
        for session in "ab":
            await wish(supervisor, "resources/subscribe", ALPHA["asker"], session)
        await wish(supervisor, "resources/unsubscribe", ALPHA["asker"], "a")
        for _ in range(3):
            facts = said(await ask(supervisor, "asker/facts", session="b"))
        assert "resources/subscribe" in facts["methods"]
        assert "resources/unsubscribe" not in facts["methods"]
        assert server.wishes.resources.wanted() == [ALPHA["asker"]]


async def test_all_that_a_session_wanted_goes_with_it_to_a_connection_of_its_own() -> None:
    async with running(python("asker")) as supervisor:
        server = supervisor._servers["asker"]
        wishes = server.wishes
        for uri, where in (("x://common", wishes._common), ("x://own", _Connection(server, "a"))):
            where.resources.hold(uri, "a", {uri})
            if where is not wishes._common:
                wishes._own["a"] = where
        link = server.link
        assert link is not None
        await wishes.renew_own("a", link)
        assert wishes.resources.wanted() == []
        assert sorted(wishes._own["a"].resources.wanted()) == ["x://common", "x://own"]


async def test_a_session_that_has_ended_wants_nothing() -> None:
    """Its call waited while it ended: what it would want now nobody would ever end."""
    ended = {"a"}
    opened = lambda session: session not in ended  # noqa: E731
    async with running(python("asker"), opened=opened) as supervisor:
        for method in ("resources/subscribe", "logging/setLevel"):
            outcome = await wish(supervisor, method, ALPHA["asker"], "a")
            assert isinstance(outcome, Refusal)
            assert outcome.reason == "session_unknown"
        assert supervisor._servers["asker"].wishes.resources.wanted() == []
        assert isinstance(
            await wish(supervisor, "resources/subscribe", ALPHA["asker"], "b"), Answer
        )


async def test_who_goes_is_looked_for_only_where_its_wishes_may_stand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a thousand sessions that have a connection of their own, each that ended was looked for on all of them."""

    async def call(*_: object) -> Answer:
        return Answer(b"{}")

    server: Any = SimpleNamespace(
        id="s",
        spawn=lambda work: work.close(),
        look=None,
        link=None,
        hello=SimpleNamespace(modern=False),
        own_link=lambda session: None,
        has_own=lambda call: True,
        call=call,
    )
    wishes = ServerSubscriptions(server)
    for session in "abcdefgh":
        for listen in (None, f"listen {session}"):
            about = make_call("method", "resources/subscribe", session=session, listen=listen)
            assert isinstance(await wishes.subscribe("x://1", {}, about, FakeBack()), Answer)
    looked: list[str | None] = []
    monkeypatch.setattr(_Connection, "forget", lambda one, _: looked.append(one._session))
    for gone, where in (("never there", [None]), ("a", [None]), ("listen b", [None, "b"])):
        looked.clear()
        wishes.forget(gone)
        assert looked == where
    monkeypatch.undo()
    wishes.forget("listen c")
    assert wishes._own["c"].holders() == {"c"}
    assert sorted(wishes._own) == list("bcdefgh")


async def test_who_is_never_let_go_keeps_none_of_those_that_came_after_it() -> None:
    """The first of all is in what Python never looks through again (`app.run.collecting_rarely`); a call may be on its way to it."""
    server: Any = SimpleNamespace(id="s", spawn=None, look=None, has_own=lambda call: False)
    first = ServerSubscriptions(server)
    came, last = weakref.WeakSet[ServerSubscriptions](), first
    for _ in range(5):
        before, last = last, ServerSubscriptions(server)
        came.add(last)
        last.follow(before)
    del before
    gc.collect()
    assert [*came] == [last]
    assert first._chain == [first, last]
