"""What is asked of servers: once for all who want the same, again after a new connection, and no longer than anybody wants it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any, cast

import pytest
from msgspec.structs import replace

from gatewright.call import Mgp
from gatewright.events import server_events
from gatewright.events.event_rate import BURST, RATE
from gatewright.events.server_events import EVENT_MOST, ServerEvents
from gatewright.events.subscription import Subscription
from gatewright.mcp.client.link import ServerFailed
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.supervisor import Supervisor
from tests.events.test_subscriptions import ANN, BOB, CALL, _House, _Listener

NOW = "2026-01-01T00:00:00Z"


class _Link:
    open = True

    def __init__(self, *names: str) -> None:
        self.hello: Any = Hello("2025-11-25", {}, {}, "", Mgp("0.2.0", ("bidirectional",)))
        self.told_on = 1
        self.sole: str | None = ""
        self.whose: list[str] = []
        self.ident = ""
        self.given: Counter[int] = Counter()
        self.names = names
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.before: list[dict[str, Any]] = []
        self.hears: Any = None
        self.hangs: asyncio.Future[None] | None = None

    def serves(self, party: str) -> None:
        self.sole = party if self.sole in ("", party) else None

    async def fetch(
        self, method: str, params: Any, timeout_s: float, whose: str, *, most: int = 0
    ) -> bytes:
        self.asked.append((method, params))
        self.whose.append(whose)
        if self.hangs is not None:
            await self.hangs
        if not self.names:
            raise ServerFailed("no")
        for one in self.before:
            self.hears(("s", one))
        found = [one for one in params.get("channels", ()) if one in self.names]
        further = self.given[self.told_on] if "channels" in params else 0
        self.given[self.told_on] += "channels" in params
        return json.dumps(
            {
                "subscribed": found,
                "unsupported": [],
                "subscription_id": self.ident or f"u{self.told_on}{f'.{further}' * (further > 0)}",
            }
        ).encode()


class _Server:
    def __init__(self, link: _Link) -> None:
        self.link = link


class _Servers:
    """A supervisor, as far as it is asked here: ann sees the server, but not in the profile `narrow`, and bob does not."""

    def __init__(self, link: _Link) -> None:
        self.fleet = self
        self.servers_: dict[str, _Server] = {"s": _Server(link)}
        self.catalogue = _Catalogue()

    @property
    def servers(self) -> dict[str, _Server]:
        return self.servers_


class _Catalogue:
    def knows(self, profile: str) -> bool:
        return True

    def servers(self, profile: str, caller: Any) -> list[str]:
        return ["s"] if caller == ANN and profile != "narrow" else []


class _Wanting:
    def __init__(self, *names: str) -> None:
        self.house = _House()
        self.link = _Link(*names)
        self.now = 0.0
        self.events = ServerEvents(
            cast("Supervisor", _Servers(self.link)),
            self.house.all,
            lambda: NOW,
            lambda: self.now,
        )
        self.link.hears = self.events.take
        self.house.all.ended = self.events.ended

    async def want(self, *channels: str, caller: Any = ANN) -> Subscription:
        made = self.house.begin(replace(CALL, caller=caller), *channels)
        found = await self.events.want(made)
        self.house.all.accept(made, tuple(one for one in made.asked if one in found))
        return made

    @property
    def heard(self) -> list[dict[str, Any]]:
        return self.house.listeners["s1"].heard

    def say(self, **more: Any) -> None:
        self.events.take(
            ("s", {"subscription_id": "u1", "channel": "model.x", "data": {"n": 1}, **more})
        )


async def _turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_server_is_asked_for_those_alone_who_may_see_it_in_their_profile() -> None:
    """Nobody's wish leads to a server that does not exist for them."""
    wanting = _Wanting("model.x")
    for call in (replace(CALL, caller=BOB), replace(CALL, profile="narrow")):
        made = wanting.house.begin(call, "model.x")
        assert await wanting.events.want(made) == set()
    assert wanting.link.asked == []
    assert await wanting.events.want(wanting.house.begin(CALL, "model.x")) == {"model.x"}


async def test_what_is_wanted_twice_is_asked_once_and_ended_once() -> None:
    """MGP-13.2-1 and MGP-13.2-2."""
    wanting = _Wanting("model.x")
    one, other = await wanting.want("model.x", "model.y"), await wanting.want("model.y", "model.x")
    assert one.channels == other.channels == ("model.x",)
    assert wanting.link.asked == [("mgp/events/subscribe", {"channels": ["model.x", "model.y"]})]
    wanting.say()
    assert {each["subscription_id"] for each in wanting.heard} == {one.id, other.id}
    wanting.house.all.end(one)
    await _turns()
    assert len(wanting.link.asked) == 1
    wanting.house.all.end(other)
    await _turns()
    assert wanting.link.asked[1:] == [("mgp/events/unsubscribe", {"subscription_id": "u1"})]
    await wanting.events.close()


async def test_an_event_says_where_it_is_from_and_how_severe() -> None:
    """MGP-13.3-1."""
    wanting = _Wanting("model.x")
    made = await wanting.want("model.x")
    wanting.say(severity="error", timestamp="then", extra="no")
    wanting.say(timestamp=7)
    assert wanting.heard == [
        {"subscription_id": made.id, "channel": "model.x", "timestamp": "then", "data": {"n": 1}, "server_id": "s", "severity": "error", "sequence": 1},
        {"subscription_id": made.id, "channel": "model.x", "timestamp": NOW, "data": {"n": 1}, "server_id": "s", "sequence": 2},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [{"subscription_id": "u9"}, {"subscription_id": None}, {"channel": "model.other"}, {"channel": 1}, {"channel": "model.*"}, {"channel": "x.y"}],
)  # fmt: skip
async def test_what_was_not_asked_for_is_dropped(wrong: dict[str, Any]) -> None:
    wanting = _Wanting("model.x")
    await wanting.want("model.x")
    wanting.say(**wrong)
    assert wanting.heard == []


async def test_an_event_for_everybody_is_no_larger_than_it_may_be() -> None:
    wanting = _Wanting("model.x")
    await wanting.want("model.x")
    wanting.say(data="x" * EVENT_MOST)
    assert wanting.heard == []
    wanting.say(data="x" * (EVENT_MOST - 200))
    assert len(wanting.heard) == 1


async def test_a_server_that_a_caller_may_not_see_is_not_asked() -> None:
    wanting = _Wanting("model.x")
    made = await wanting.want("model.x", caller=BOB)
    assert made.channels == ()
    assert wanting.link.asked == []


async def test_who_sees_it_no_more_hears_it_no_more() -> None:
    wanting = _Wanting("model.x")
    await wanting.want("model.x")
    wanting.house.listeners["s1"] = _Listener(BOB)
    wanting.say()
    assert wanting.heard == []


async def test_what_comes_before_the_answer_is_not_lost() -> None:
    wanting = _Wanting("model.x")
    wanting.link.before = [{"subscription_id": "u1", "channel": "model.x", "data": {"n": 0}}]
    await wanting.want("model.x")
    await _turns()
    assert [one["data"]["n"] for one in wanting.heard] == [0]


async def test_a_server_that_refuses_or_does_not_answer_has_nothing() -> None:
    wanting = _Wanting()
    made = await wanting.want("model.x")
    assert made.channels == ()
    await _turns()
    assert not wanting.events._held


async def test_a_new_connection_is_asked_anew() -> None:
    wanting = _Wanting("model.x")
    await wanting.want("model.x")
    wanting.events.look()
    await _turns()
    assert len(wanting.link.asked) == 1
    wanting.link.told_on = 2
    wanting.events.look()
    await _turns()
    assert len(wanting.link.asked) == 2
    wanting.say(subscription_id="u2")
    assert len(wanting.heard) == 1


@pytest.mark.parametrize("turns", range(5))
@pytest.mark.parametrize("anew", [False, True])
async def test_what_ends_while_its_server_is_looked_at_is_heard_no_more(
    turns: int, anew: bool
) -> None:
    """MGP-13.2-2: nothing wants it again, however far the look has come when it ends."""
    wanting = _Wanting("model.x")
    one = await wanting.want("model.x")
    wanting.link.told_on += anew
    wanting.events.look()
    for _ in range(turns):
        await asyncio.sleep(0)
    wanting.house.all.end(one)
    await _turns()
    assert not wanting.events._held
    stands = f"u{wanting.link.told_on}"
    asked = [method.rpartition("/")[2] for method, _ in wanting.link.asked]
    assert asked in (["subscribe"], ["subscribe", "unsubscribe"], ["subscribe"] * 2 + ["unsubscribe"])  # fmt: skip
    assert asked[1:] == [] or wanting.link.asked[-1][1] == {"subscription_id": stands}
    wanting.say(subscription_id=stands)
    assert wanting.heard == []
    await wanting.events.close()


async def test_what_another_server_of_that_name_says_is_nobodys() -> None:
    wanting = _Wanting("model.x")
    await wanting.want("model.x")
    wanting.link.open = False  # gone, and another one is there before anybody has looked
    wanting.say()
    assert wanting.heard == []


async def test_of_a_server_that_is_no_more_nothing_is_kept() -> None:
    wanting = _Wanting("model.x")
    one = await wanting.want("model.x")
    servers = cast("_Servers", wanting.events._servers)
    del servers.servers_["s"]
    wanting.events.look()
    assert wanting.events._held == {}
    servers.servers_["s"] = _Server(wanting.link)
    wanting.events.look()
    await _turns()
    held = [each for there in wanting.events._held.values() for each in there.values()]
    assert [list(each.users) for each in held] == [[one]]
    await wanting.events.close()


async def test_the_least_severity_is_told_to_the_server() -> None:
    """MGP-13.2-3."""
    wanting = _Wanting("model.x")
    made = wanting.house.begin(CALL, "model.x")
    made.severity, made.least = "warning", 3
    await wanting.events.want(made)
    assert wanting.link.asked[0][1]["filter"] == {"min_severity": "warning"}
    wanting.say(severity="info")
    wanting.say(data={"severity": "info"})
    wanting.say(severity="error")
    assert [one.get("severity") for one in wanting.heard] == ["error"]


async def test_servers_without_the_extension_are_not_asked() -> None:
    wanting = _Wanting("model.x")
    wanting.link.hello = Hello("2025-11-25", {}, {}, "", Mgp("0.2.0", ("security",)))
    made = await wanting.want("model.x")
    assert made.channels == ()
    assert wanting.link.asked == []


async def test_what_a_server_says_too_fast_is_left_out_and_counted() -> None:
    """One of many servers must not wash out of what is kept what the others say."""
    wanting = _Wanting("model.x")
    await wanting.want("model.x")
    wanting.now += 1
    for _ in range(BURST + 30):
        wanting.say()
    assert len(wanting.heard) == BURST
    assert wanting.events.dropped == {"s": 30}
    wanting.now += 2 / RATE
    wanting.say()
    wanting.say()
    assert [one.get("dropped") for one in wanting.heard[-2:]] == [30, None]
    assert [one["sequence"] for one in wanting.heard] == list(range(1, BURST + 3))


async def test_who_missed_nothing_is_told_of_nothing_left_out() -> None:
    wanting = _Wanting("model.x", "model.y")
    await wanting.want("model.x")
    wanting.link.ident = "u2"
    await wanting.want("model.y")
    for _ in range(BURST + 3):
        wanting.say()
    left_out = wanting.events.dropped["s"]
    wanting.say(subscription_id="u2", channel="model.y")
    wanting.now += 4 / RATE
    wanting.say()
    assert left_out > 0
    assert [one.get("dropped") for one in wanting.heard[-2:]] == [None, left_out]


async def test_who_hears_a_loud_channel_of_a_server_makes_nobody_deaf_to_a_rare_one() -> None:
    wanting = _Wanting("model.x", "model.y")
    await wanting.want("model.x")
    wanting.link.ident = "u2"
    rare = await wanting.want("model.y")
    for second in range(20):
        for number in range(RATE * 3):
            wanting.now = second + number / RATE / 3
            wanting.say()
        wanting.say(subscription_id="u2", channel="model.y")
    heard = [one for one in wanting.heard if one["subscription_id"] == rare.id]
    assert len(heard) == 20
    await wanting.events.close()


async def test_a_share_of_what_a_server_may_say_ends_with_its_subscription() -> None:
    wanting = _Wanting("model.x", "model.y")
    one = await wanting.want("model.x")
    wanting.link.ident = "u2"
    await wanting.want("model.y")
    assert set(wanting.events._rate("s")._own) == {"u1", "u2"}
    wanting.house.all.end(one)
    assert set(wanting.events._rate("s")._own) == {"u2"}
    wanting.link.told_on, wanting.link.ident = 2, "u3"
    wanting.events.look()
    await _turns()
    assert set(wanting.events._rate("s")._own) == {"u3"}
    await wanting.events.close()


async def test_what_only_a_hung_server_may_have_is_asked_again_on_its_next_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_events, "WAITS_S", 0.0)
    wanting = _Wanting()
    wanting.link.hangs = asyncio.get_running_loop().create_future()
    made = await wanting.want("model.x")
    assert list(made.channels) == []
    assert made.pending == {"model.x"}
    wanting.link.hangs.set_result(None)
    await _turns()
    wanting.link.names, wanting.link.told_on = ("model.x",), 2
    wanting.events.look()
    await _turns()
    assert made.channels == ("model.x",)
    await wanting.events.close()


async def test_a_hung_server_is_not_waited_for_and_heard_once_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_events, "WAITS_S", 0.0)
    wanting = _Wanting("model.x")
    wanting.link.hangs = asyncio.get_running_loop().create_future()
    made = await wanting.want("model.x", "model.y")
    assert list(made.channels) == []
    assert made.pending == {"model.x", "model.y"}
    wanting.link.hangs.set_result(None)
    await _turns()
    assert list(made.channels) == ["model.x"]
    wanting.say()
    assert len(wanting.heard) == 1
    await wanting.events.close()
