"""The one `subscriptions/listen` that is open to a modern server: what it asks for, and whom a server's no concerns."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.call import Failure
from gatewright.mcp.client.link import ServerFailed, ServerRefused
from gatewright.mcp.wire.versions import LATEST_MODERN
from gatewright.servers import listen_request
from gatewright.servers.listen_request import Listening
from tests.servers.rig import within
from tests.servers.wishing import FakeLink, FakeWay, rest

CHANGES = {"tools": {"listChanged": True}}
NO = ServerRefused("", b'{"code":-32602,"message":"no such resource: x:-32601"}')


class Rig:
    """A listening of which the test says what is wanted."""

    def __init__(self, **capabilities: object) -> None:
        self.way = FakeWay(LATEST_MODERN, **(capabilities or CHANGES))
        self.link: FakeLink = self.way.link
        self.wanted: list[str] = []
        self.told: set[str] = set()
        self.listening = Listening(self.way, lambda: self.wanted, self.told, changes=True)

    def tell(self, uri: str) -> asyncio.Task[Failure | None]:
        """Somebody asks for one resource more."""
        self.wanted.append(uri)
        return asyncio.ensure_future(self.listening.tell(uri))

    async def granted(self, uri: str, number: int) -> None:
        """Somebody asks for one resource more, and the server acknowledges that."""
        asked = self.tell(uri)
        await rest()
        await self.yes(number)
        assert await within(asked) is None

    @property
    def asked(self) -> list[list[str]]:
        """For which resources it was listened, request by request."""
        return [uris for uris, _, _ in self.link.listens]

    async def yes(self, number: int, honoured: object = None) -> None:
        """The server acknowledges."""
        self.link.listens[number][1].set_result(honoured)
        await rest()

    async def ends(self, number: int, why: ServerFailed) -> None:
        """The server refuses, or ends it."""
        self.link.listens[number][2].set_exception(why)
        await rest()

    async def begun(self) -> None:
        """It listens for changed lists."""
        renewed = asyncio.ensure_future(self.listening.renew())
        await rest()
        await self.yes(0)
        await renewed

    async def stop(self) -> None:
        """End all of it."""
        await self.listening.close()
        await self.way.stop()


async def test_a_server_that_refuses_one_resource_goes_on_to_tell_of_all_others() -> None:
    """Who asked for that one hears no; nobody else hears less than before."""
    rig = Rig()
    await rig.begun()
    good = rig.tell("x:1")
    await rest()
    await rig.yes(1)
    assert await within(good) is None
    bad = rig.tell("x:bad")
    await rest()
    await rig.ends(2, NO)
    refused = await within(bad)
    assert isinstance(refused, Failure)
    assert "no such resource" in refused.message
    assert rig.asked == [[], ["x:1"], ["x:1", "x:bad"]]
    assert rig.link.ended == [0, 2], "that for the good one is open still"
    assert rig.told == {"x:1"}
    rig.wanted.remove("x:bad")
    other = rig.tell("x:2")
    await rest()
    assert rig.asked[3] == ["x:1", "x:2"]
    await rig.yes(3)
    assert await within(other) is None
    await rig.stop()


async def test_of_those_who_ask_together_only_the_one_that_is_refused_hears_no() -> None:
    rig = Rig()
    await rig.begun()
    both = [rig.tell("x:bad"), rig.tell("x:2")]
    await rest()
    assert rig.asked[1:] == [["x:bad", "x:2"]]
    await rig.ends(1, NO)
    await rig.ends(2, NO)
    await rig.yes(3)
    assert rig.asked[2:] == [["x:bad"], ["x:2"]]
    assert isinstance(await within(both[0]), Failure)
    assert await within(both[1]) is None
    await rig.stop()


async def test_what_a_new_connection_refuses_keeps_no_changes_of_lists_from_anybody() -> None:
    rig = Rig()
    rig.wanted = ["x:bad", "x:2"]
    renewed = asyncio.ensure_future(rig.listening.renew())
    await rest()
    await rig.ends(0, NO)
    assert rig.asked == [["x:bad", "x:2"], []]
    await rig.yes(1)
    await within(renewed)
    await rig.ends(2, NO)
    await rig.ends(3, NO)
    await rig.yes(4)
    assert rig.asked[2:] == [["x:bad", "x:2"], ["x:bad"], ["x:2"]]
    assert rig.told == {"x:2"}
    await rig.stop()


@pytest.mark.parametrize(
    ("why", "again"),
    [
        (ServerRefused("", b'{"code":-32601,"message":"what?"}'), False),
        (ServerRefused("", b'{"message":"%b","code":-32601}' % (b"what? " * 500)), False),
        (ServerRefused("", b'{"code":-32603,"message":"-32601"}'), True),
        (ServerFailed("the server ended it"), True),
    ],
)
async def test_a_server_that_does_not_know_how_to_be_listened_to_is_not_asked_again(
    why: ServerFailed, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen_request, "LISTEN_PAUSE_S", 0.0)
    rig = Rig()
    renewed = asyncio.ensure_future(rig.listening.renew())
    await rest()
    await rig.ends(0, why)
    await rest()
    assert len(rig.asked) == 1 + again
    if again:
        await rig.yes(1)
        assert rig.way.looks == 1
    await within(renewed)
    await rig.stop()


async def test_an_http_server_that_is_away_for_a_moment_is_asked_for_the_same_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listen_request, "LISTEN_PAUSE_S", 0.0)
    rig = Rig()
    await rig.begun()
    await rig.granted("x:1", 1)
    for number in (1, 2):
        await rig.ends(number, ServerFailed("the server ended it"))
    assert rig.asked[1:] == [["x:1"]] * 3
    await rig.stop()


async def test_what_is_not_wanted_any_more_is_not_listened_for() -> None:
    rig = Rig()
    await rig.begun()
    await rig.granted("x:1", 1)
    rig.wanted.clear()
    ended = asyncio.ensure_future(rig.listening.tell(None))
    await rest()
    assert rig.told == set(), "whoever asks for it now asks the server"
    await rig.yes(2)
    assert await within(ended) is None
    assert rig.asked == [[], ["x:1"], []]
    await rig.stop()


async def test_a_server_that_says_nothing_has_told_nobody_yes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listen_request, "_ACKNOWLEDGED_S", 0.01)
    rig = Rig()
    await rig.begun()
    asked = await within(rig.tell("x:1"))
    assert isinstance(asked, Failure)
    assert rig.link.ended == [1]
    await rig.stop()


async def test_who_waits_for_a_server_that_is_closed_hears_of_it() -> None:
    rig = Rig()
    await rig.begun()
    first = rig.tell("x:1")
    await rest()
    second = rig.tell("x:2")
    await rest()
    await rig.stop()
    for one in (first, second):
        assert isinstance(await within(one), Failure)


async def test_what_is_refused_together_is_asked_for_in_halves() -> None:
    rig = Rig()
    await rig.begun()
    uris = ["x:bad", *(f"x:{n}" for n in range(1, 8))]
    all_ = [rig.tell(uri) for uri in uris]
    await rest()
    number = 1
    while number < len(rig.asked):
        if "x:bad" in rig.asked[number]:
            await rig.ends(number, NO)
        else:
            await rig.yes(number)
        number += 1
    assert number <= 1 + 1 + 2 * 3
    found = [await within(one) for one in all_]
    assert isinstance(found[0], Failure)
    assert found[1:] == [None] * 7
    assert rig.told == set(uris[1:])
    await rig.stop()


async def test_what_nobody_wants_any_more_takes_no_request() -> None:
    rig = Rig()
    await rig.begun()
    both = [rig.tell("x:bad"), rig.tell("x:worse")]
    await rest()
    rig.wanted.clear()
    await rig.ends(1, NO)
    for one in both:
        await within(one)
    assert len(rig.asked) == 2
    await rig.stop()


async def test_who_asks_meanwhile_waits_for_no_more_than_one_half_of_what_was_refused() -> None:
    rig = Rig()
    await rig.begun()
    for n in range(8):
        rig.tell(f"x:bad{n}")
    await rest()
    other = rig.tell("x:good")
    await rig.ends(1, NO)
    number = 2
    while "x:good" not in rig.asked[number]:
        await rig.ends(number, NO)
        number += 1
    assert number <= 3
    await rig.yes(number)
    assert await within(other) is None
    await rig.stop()


async def test_a_new_connection_waits_for_nothing_that_the_former_one_was_asked() -> None:
    """Its tools are called after one request, whatever was asked for at the time; that is asked for again."""
    rig = Rig()
    await rig.begun()
    asked = rig.tell("x:1")
    await rest()
    renewed = asyncio.ensure_future(rig.listening.renew())
    await rest()
    assert rig.asked[1:] == [["x:1"], ["x:1"]]
    await rig.yes(2)
    assert renewed.done()
    for number in range(3, len(rig.asked)):
        await rig.yes(number)
    assert await within(asked) is None
    assert rig.told == {"x:1"}
    await rig.stop()


@pytest.mark.parametrize(
    ("honoured", "named"),
    [
        ({"resourceSubscriptions": ["x:1", 7, "x:other"]}, ["x:1"]),
        ({"resourceSubscriptions": ["x:1", "x:2"]}, ["x:1", "x:2"]),
        ({"toolsListChanged": True}, []),
        (None, ["x:1", "x:2"]),
    ],
)
async def test_what_an_acknowledgement_does_not_name_is_not_told(
    honoured: object, named: list[str]
) -> None:
    rig = Rig()
    await rig.begun()
    both = {uri: rig.tell(uri) for uri in ("x:1", "x:2")}
    await rest()
    await rig.yes(1, honoured)
    assert [uri for uri, one in both.items() if await within(one) is None] == named
    assert rig.told == set(named)
    await rig.stop()


async def test_a_server_without_a_connection_tells_nobody_yes() -> None:
    rig = Rig()
    await rig.begun()
    rig.way.link = None
    refused = await within(rig.tell("x:1"))
    assert isinstance(refused, Failure)
    assert refused.reason == "upstream_unavailable"
    assert rig.told == set()
    looks: list[int] = []

    def wanted() -> list[str]:
        looks.append(1)
        return rig.wanted

    rig.listening._wanted = wanted
    several = await within(asyncio.gather(*(rig.tell(f"x:{one}") for one in range(2, 200))))
    assert {one.reason for one in several if one is not None} == {"upstream_unavailable"}
    assert len(looks) < 5  # asking for halves of them would find no connection either
    rig.way.link = rig.link
    await rig.stop()


async def test_one_that_is_begun_anew_tells_of_what_is_acknowledged_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listen_request, "LISTEN_PAUSE_S", 0.0)
    rig = Rig()
    await rig.begun()
    await rig.granted("x:1", 1)
    await rig.ends(1, ServerFailed("the server ended it"))
    await rig.yes(2, {})
    assert rig.told == set()
    await rig.stop()


async def test_slow_acknowledgements_leave_no_listening_open_but_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listen_request, "_ACKNOWLEDGED_S", 0.0)
    rig = Rig()
    await rig.listening.renew()
    for _ in range(2):
        await within(rig.listening.tell(None))
    assert (len(rig.asked), rig.link.ended) == (3, []), "nothing was acknowledged"
    rig.wanted.append("x:1")
    await rig.yes(1)
    assert (rig.link.ended, rig.told) == ([], set()), "that of a former one says nothing"
    await rig.yes(2)
    assert sorted(rig.link.ended) == [0, 1]
    await rig.stop()
    assert sorted(rig.link.ended) == [0, 1, 2]


async def test_one_that_is_asked_for_while_it_is_closed_is_not_left_open() -> None:
    rig = Rig()
    await rig.begun()
    rig.tell("x:1")
    await rest()
    await rig.listening.close()
    await rest()
    assert sorted(rig.link.ended) == [0, 1]
    await rig.way.stop()
