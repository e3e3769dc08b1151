"""What clients want to hear of a server, joined, and told again to each new connection."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gatewright.call import ANONYMOUS, Answer, Outcome, Refusal
from gatewright.mcp.client.pipe_link import PipeLink
from gatewright.mcp.wire.versions import LATEST_MODERN
from gatewright.servers.notifications import UPDATED
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import (
    DEADLINE,
    LEGACY,
    FakeBack,
    ask,
    dispatch,
    make_call,
    python,
    running,
    said,
    within,
)
from tests.servers.test_server import pid
from tests.servers.web import Asked, http, site

ALPHA = {"asker": "asker:///alpha", "modern_asker": "modern:///alpha"}


class Hearing:
    """Everything one session hears of its servers."""

    def __init__(self, supervisor: Supervisor, holder: str = "s1") -> None:
        self.heard: list[tuple[str, str, dict[str, Any]]] = []
        self._changed = asyncio.Event()
        supervisor.watch(ANONYMOUS, "", self._take, holder=holder)

    def _take(self, server: str, method: str, params: dict[str, Any]) -> None:
        self.heard.append((server, method, params))
        self._changed.set()

    async def until(self, true: Callable[[list[tuple[str, str, dict[str, Any]]]], bool]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not true(self.heard):
                self._changed.clear()
                await self._changed.wait()

    def updates(self) -> list[dict[str, Any]]:
        return [params for _, method, params in self.heard if method == UPDATED]


async def wish(
    supervisor: Supervisor,
    method: str,
    uri: str,
    session: str | None = "s1",
    listen: str | None = None,
) -> Outcome:
    params = {"level": "info"} if method == "logging/setLevel" else {"uri": uri}
    call = make_call("method", method, params, session=session, client=LEGACY, listen=listen)
    outcome: Outcome = await within(
        dispatch(supervisor)(dispatch(supervisor).about(call), FakeBack())
    )
    return outcome


async def touched(supervisor: Supervisor, server: str) -> str:
    found = await ask(supervisor, f"{server}/touch", {"uri": ALPHA[server]})
    assert isinstance(found, Answer)
    return str(found.raw)


@pytest.mark.parametrize("server", ["asker", "modern_asker"])
async def test_a_changed_resource_is_told_while_somebody_holds_it(server: str) -> None:
    uri = ALPHA[server]
    async with running(python(server)) as supervisor:
        first, hearing = Hearing(supervisor, "a"), Hearing(supervisor, "b")
        for session in ("a", "a", "b"):
            assert isinstance(await wish(supervisor, "resources/subscribe", uri, session), Answer)
        await touched(supervisor, server)
        await hearing.until(lambda heard: len(hearing.updates()) == 1)
        assert hearing.updates() == first.updates() == [{"uri": uri}]
        await wish(supervisor, "resources/unsubscribe", uri, "a")
        await touched(supervisor, server)
        await hearing.until(lambda heard: len(hearing.updates()) == 2)
        await wish(supervisor, "resources/unsubscribe", uri, "b")
        await touched(supervisor, server)
        await ask(supervisor, f"{server}/grow")
        await hearing.until(lambda heard: any("tools/list_changed" in one[1] for one in heard))
        assert (len(first.updates()), len(hearing.updates())) == (1, 2)


@pytest.mark.parametrize("server", ["asker", "modern_asker"])
async def test_nobody_ends_what_another_holds(server: str) -> None:
    """Of one session: what it subscribed to by itself, and what each of its listenings did. Who has neither is refused, and
    ends nothing."""
    uri = ALPHA[server]
    async with running(python(server)) as supervisor:
        hearing = Hearing(supervisor, "listen 2")
        for listen in (None, "listen 1", "listen 2", "listen 1"):
            found = await wish(supervisor, "resources/subscribe", uri, "a", listen)
            assert isinstance(found, Answer)
        for told, (session, listen) in enumerate((("b", None), ("a", "listen 1"), ("a", None)), 1):
            await wish(supervisor, "resources/unsubscribe", uri, session, listen)
            await touched(supervisor, server)
            await hearing.until(lambda _, told=told: len(hearing.updates()) == told)  # type: ignore[misc]
        for method in ("resources/subscribe", "resources/unsubscribe", "logging/setLevel"):
            refused = await wish(supervisor, method, uri, None)
            assert isinstance(refused, Refusal)
            assert refused.reason == "invalid_request"
        await touched(supervisor, server)
        await hearing.until(lambda heard: len(hearing.updates()) == 4)
        await wish(supervisor, "resources/unsubscribe", uri, "a", "listen 2")
        assert not supervisor._servers[server].wishes.resources.held


async def test_a_subscription_that_nobody_waits_for_any_more_is_not_held() -> None:
    async with running(python("asker")) as supervisor:
        wishes = supervisor._servers["asker"].wishes
        work = asyncio.ensure_future(wish(supervisor, "resources/subscribe", ALPHA["asker"]))
        while not wishes.resources.wanted():
            await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait([work])
        assert not wishes.resources.wanted()


@pytest.mark.parametrize("server", ["asker", "modern_asker"])
async def test_what_a_session_held_is_given_up_with_it(server: str) -> None:
    async with running(python(server)) as supervisor:
        wishes = supervisor._servers[server].wishes
        await wish(supervisor, "resources/subscribe", ALPHA[server], "a")
        supervisor.forget("a")
        supervisor.forget("never-there")
        assert not wishes.resources.wanted()
        again = await wish(supervisor, "resources/subscribe", ALPHA[server], "b")
        assert isinstance(again, Answer)
        assert list(wishes.resources.held) == [ALPHA[server]]


async def test_a_new_connection_is_told_everything_again() -> None:
    async with running(python("asker")) as supervisor:
        hearing = Hearing(supervisor)
        await wish(supervisor, "resources/subscribe", ALPHA["asker"])
        level = make_call("method", "logging/setLevel", {"level": "error"}, session="s1")
        await within(dispatch(supervisor)(level, FakeBack()))
        os.kill(pid(supervisor, "asker"), signal.SIGKILL)
        link = supervisor._servers["asker"].link
        if link is not None:
            await within(link.wait_closed())
        facts = said(await ask(supervisor, "asker/facts"))
        while facts["level"] != "error" or "resources/subscribe" not in facts["methods"]:
            facts = said(await ask(supervisor, "asker/facts"))
        await touched(supervisor, "asker")
        await hearing.until(lambda heard: bool(hearing.updates()))


async def test_a_subscription_that_the_server_refuses_is_not_held() -> None:
    async with running(python("echo"), python("asker")) as supervisor:
        server = supervisor._servers["echo"]
        call = make_call("method", "resources/subscribe", {"uri": "x://1"}, session="s1")
        outcome = await within(server.wishes.subscribe("x://1", call.params, call, FakeBack()))
        assert not isinstance(outcome, Answer)
        assert not server.wishes.resources.wanted()


async def test_a_modern_server_that_ends_the_listening_is_listened_to_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gatewright.servers.listen_request.LISTEN_PAUSE_S", 0.01)
    async with running(python("modern_asker")) as supervisor:
        hearing = Hearing(supervisor)
        await ask(supervisor, "modern_asker/end_listening")
        async with asyncio.timeout(DEADLINE):
            while not hearing.heard:
                await ask(supervisor, "modern_asker/grow")
        assert hearing.heard[0][:2] == ("modern_asker", "notifications/tools/list_changed")


async def test_the_old_listening_ends_when_the_new_one_is_acknowledged_and_not_before() -> None:
    capabilities = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
    hello = {"supportedVersions": [LATEST_MODERN], "capabilities": capabilities}
    async with site() as server:
        supervisor = Supervisor([http("s", server.url)], info={"name": "g"})
        supervisor.start()
        hearing = Hearing(supervisor)
        (await server.next("server/discover")).result({**hello, "resultType": "complete"})
        first = await server.next("subscriptions/listen")
        acknowledge(first)
        await server.list_tools()
        (await server.next("resources/list")).result({"resources": [{"uri": "x:1", "name": "x"}]})
        (await server.next("resources/templates/list")).result({"resourceTemplates": []})
        await within(supervisor.settled())
        subscribing = asyncio.ensure_future(wish(supervisor, "resources/subscribe", "x:1"))
        second = await server.next("subscriptions/listen")
        assert second.body["params"]["notifications"]["resourceSubscriptions"] == ["x:1"]
        first.event({"method": UPDATED, "params": {"uri": "x:1"}})
        await hearing.until(lambda heard: len(hearing.updates()) == 1)
        assert not subscribing.done()
        acknowledge(second)
        assert isinstance(await within(subscribing), Answer)
        await first.gone()
        await within(supervisor.close(0.1))


def acknowledge(asked: Asked) -> None:
    """Grant a listening what it asks for."""
    wanted = asked.body["params"]["notifications"]
    tag = {"io.modelcontextprotocol/subscriptionId": asked.body["id"]}
    asked.stream()
    asked.event(
        {
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": wanted, "_meta": tag},
        }
    )


async def test_what_changed_while_nobody_listened_is_found_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gatewright.servers.listen_request.LISTEN_PAUSE_S", 0.05)
    async with running(python("modern_asker")) as supervisor:
        hearing = Hearing(supervisor)
        await ask(supervisor, "modern_asker/end_listening")
        await ask(supervisor, "modern_asker/grow")
        await hearing.until(bool)
        assert "modern_asker/grown_1" in supervisor.catalogue.view("").tools


async def test_a_modern_servers_log_lines_come_as_the_call_wants_them() -> None:
    async with running(python("modern_asker")) as supervisor:
        back = FakeBack()
        await ask(supervisor, "modern_asker/log", back=back)
        assert back.events == []
        loud = msgspec.structs.replace(LEGACY, log_level="critical")
        await ask(supervisor, "modern_asker/log", back=back, client=loud)
        levels = [one["level"] for one in back.of("notifications/message")]
        assert levels == ["critical", "alert", "emergency"]


async def test_a_session_with_its_own_child_has_its_own_wishes() -> None:
    async with running(python("asker", share="session")) as supervisor:
        for session, level in (("a", "debug"), ("b", "error")):
            wanted = make_call("method", "logging/setLevel", {"level": level}, session=session)
            assert isinstance(await within(dispatch(supervisor)(wanted, FakeBack())), Answer)
            subscribed = await wish(supervisor, "resources/subscribe", ALPHA["asker"], session)
            assert isinstance(subscribed, Answer)
        for session, level in (("a", "debug"), ("b", "error")):
            facts = said(await ask(supervisor, "asker/facts", session=session))
            assert facts["level"] == level
            assert "resources/subscribe" in facts["methods"]
        await wish(supervisor, "resources/unsubscribe", ALPHA["asker"], "a")
        facts = said(await ask(supervisor, "asker/facts", session="a"))
        assert "resources/unsubscribe" in facts["methods"]


async def test_nobody_listens_to_a_server_that_is_closed() -> None:
    """A listening request, or the pause after its end, would otherwise live on for as long as the process."""
    before = asyncio.all_tasks()
    async with running(python("modern_asker")) as supervisor:
        await ask(supervisor, "modern_asker/end_listening")
        assert any("_listens" in str(one) for one in asyncio.all_tasks() - before)
    assert [str(one) for one in asyncio.all_tasks() - before if "_listens" in str(one)] == []


@pytest.mark.parametrize("end", ["refused", "given up"])
async def test_who_subscribed_beside_one_that_failed_is_not_told_yes_in_its_place(end: str) -> None:
    """The server has not said yes to anybody: each is asked for by itself."""
    async with running(python("asker")) as supervisor:
        wishes = supervisor._servers["asker"].wishes
        asked: list[asyncio.Future[Outcome]] = []

        def asks(*_: Any) -> asyncio.Future[Outcome]:
            asked.append(asyncio.get_running_loop().create_future())
            return asked[-1]

        wishes._server.call_common = asks  # type: ignore[method-assign,assignment]
        first, second = (
            asyncio.ensure_future(wish(supervisor, "resources/subscribe", ALPHA["asker"], one))
            for one in ("a", "b")
        )
        while len(asked) < 2:
            await asyncio.sleep(0)
        if end == "refused":
            asked[0].set_result(Refusal("access_denied", "no"))
        else:
            first.cancel()
        asked[1].set_result(Answer(b"{}"))
        await asyncio.wait([first, second])
        assert isinstance(second.result(), Answer)
        assert list(wishes.resources.held[ALPHA["asker"]]) == ["b"]
        assert isinstance(
            await wish(supervisor, "resources/subscribe", ALPHA["asker"], "c"), Answer
        )
        assert len(asked) == 2


async def test_a_new_connection_of_a_session_is_told_what_that_session_wants() -> None:
    """Nobody else asks for it there."""
    async with running(python("asker", share="session")) as supervisor:
        for session in ("a", "b"):
            await wish(supervisor, "resources/subscribe", ALPHA["asker"], session)
            await wish(supervisor, "logging/setLevel", "", session)
        await wish(supervisor, "resources/unsubscribe", ALPHA["asker"], "b")
        for session, wanted in (("a", True), ("b", False)):
            link = supervisor._servers["asker"].reconnector_of(session).link
            assert isinstance(link, PipeLink)
            os.kill(link._pipe.pid, signal.SIGKILL)  # type: ignore[union-attr]
            await within(link.wait_closed())
            facts = said(await ask(supervisor, "asker/facts", session=session))
            while facts["level"] != "info":
                facts = said(await ask(supervisor, "asker/facts", session=session))
            assert ("resources/subscribe" in facts["methods"]) is wanted
            assert "resources/unsubscribe" not in facts["methods"]


async def test_what_is_wanted_on_another_connection_of_its_server_is_wanted_by_its_successor() -> (
    None
):
    """When the configuration is read anew: of a session's own connection as well, and of who was just asking."""
    spec = python("asker", share="session")
    async with running(spec) as supervisor, running(python("asker")) as other:
        wishes, successor = (one._servers["asker"].wishes for one in (supervisor, other))
        await wish(supervisor, "resources/subscribe", ALPHA["asker"], "a")
        successor.follow(wishes)
        assert successor.resources.wanted() == [ALPHA["asker"]]
        await wish(supervisor, "resources/subscribe", "asker:///beta", "b")
        assert successor.resources.wanted() == [ALPHA["asker"], "asker:///beta"]
        await wish(supervisor, "resources/unsubscribe", "asker:///beta", "b")
        assert successor.resources.wanted() == [ALPHA["asker"]]
        other.forget("a")
        assert successor.resources.wanted() == []


async def test_how_long_a_server_takes_for_what_others_want_holds_no_call_up() -> None:
    """A new connection is asked for resources one after the other, while its tools are called."""
    async with running(python("asker")) as supervisor:
        server = supervisor._servers["asker"]
        for number in range(3):
            server.wishes.resources.hold(f"x://{number}", "s", ["x"])
        link, asked = server.link, list[str]()
        assert link is not None
        fetch = link.fetch

        async def slow(
            method: str, params: dict[str, Any], timeout_s: float, whose: str = ""
        ) -> bytes:
            asked.append(method)
            if method == "resources/subscribe":
                await asyncio.get_running_loop().create_future()
            return await fetch(method, params, timeout_s, whose)

        link.fetch = slow  # type: ignore[method-assign, assignment]
        server.renewed(link)
        assert isinstance(await ask(supervisor, "asker/facts"), Answer)
        assert asked.count("resources/subscribe") == 1


async def test_one_caller_waits_to_hear_of_so_many_resources_of_a_server_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over all its sessions and listenings: what is not held any more makes room."""
    monkeypatch.setattr("gatewright.servers.subscription_counts.WISHES_EACH", 1)
    async with running(python("asker")) as supervisor:
        first = await wish(supervisor, "resources/subscribe", ALPHA["asker"], "a", "listen 1")
        assert isinstance(first, Answer)
        refused = await wish(supervisor, "resources/subscribe", ALPHA["asker"], "a")
        assert isinstance(refused, Refusal)
        assert refused.reason == "resource_exhausted"
        await wish(supervisor, "resources/unsubscribe", ALPHA["asker"], "a", "listen 1")
        for _ in range(2):
            again = await wish(supervisor, "resources/subscribe", ALPHA["asker"], "a")
            assert isinstance(again, Answer)
        supervisor.forget("a")
        assert isinstance(
            await wish(supervisor, "resources/subscribe", ALPHA["asker"], "a"), Answer
        )
