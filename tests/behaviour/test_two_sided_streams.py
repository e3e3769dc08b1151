"""Streams, events and callbacks of the two-sided model, scene by scene: what it comes across by chance, in the fewest steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_deciding import puts_off
from tests.behaviour.two_sided_facts import Asked
from tests.behaviour.two_sided_mgp import FINDING
from tests.behaviour.two_sided_scene import defended, main_end, played, work_of
from tests.behaviour.two_sided_servers import End, Work
from tests.behaviour.two_sided_streaming import (
    called_back,
    cancels,
    finds,
    responds,
    sends,
    streams,
    subscribes,
    takes_up,
    tells,
    unsubscribes,
)


async def streamed(house: House, who: str, server: str) -> tuple[Asked, End, Work]:
    """A client asks for a stream, and its server has begun to work."""
    asked = streams(house, who, server)
    await house.rest()
    return asked, *work_of(house, asked)


def ended(end: End, one: Work) -> None:
    """A server answers."""
    end.answered(one)
    end.say(one.ident, id=one.ident, result={"content": []})


def chunk(end: End, ident: Any) -> None:
    """A server sends a chunk under an id that names nothing."""
    params = {
        "request_id": ident,
        "index": 0,
        "content": {"type": "text", "text": "a"},
        "x": "by-imp",
    }
    end.say(None, method="notifications/mgp.stream.chunk", params=params)


# -- streams


@pytest.mark.parametrize(
    ("who", "other"), [("gus", "hal"), ("ida", "hal"), ("jon", "kim"), ("kim", "jon")]
)
def test_chunks_reach_whose_call_it_is_in_their_order(tmp_path: Path, who: str, other: str) -> None:
    async def act(house: House) -> None:
        every = [await streamed(house, one, "imp") for one in (who, other, who)]
        for _ in range(3):
            for kind in ("chunk", "progress"):
                for _, end, one in every:
                    tells(end, one, kind)
                await house.rest()
        for name, count in ((who, 2), (other, 1)):
            heard = house.clients[name].mgp.pieces
            assert len(heard) == count
            assert all(len(one) == 3 for one in heard.values())
        assert house.heard["client notifications/mgp.stream.progress"] >= 9

    played(tmp_path, act)


@pytest.mark.parametrize("who", ["gus", "ida", "jon", "kim"])
def test_a_chunk_of_what_is_over_or_never_was_is_nobodys(tmp_path: Path, who: str) -> None:
    """Also where one session alone has ever spoken to the server."""

    async def act(house: House) -> None:
        _, end, one = await streamed(house, who, "imp")
        tells(end, one)
        await house.rest()
        ended(end, one)
        await house.rest()
        for ident in (one.ident, one.ident + 1, "x", None):
            chunk(end, ident)
        await streamed(house, who, "imp")
        chunk(end, one.ident)
        await house.rest()
        assert house.heard["client notifications/mgp.stream.chunk"] == 1

    played(tmp_path, act)


@pytest.mark.parametrize(
    ("who", "other"),
    [("gus", "hal"), ("hal", "ida"), ("ida", "gus"), ("jon", "kim"), ("jon", "gus")],
)
def test_a_stream_is_cancelled_by_whose_it_is_alone(tmp_path: Path, who: str, other: str) -> None:
    async def act(house: House) -> None:
        _, end, one = await streamed(house, who, "imp")
        (ident,) = [
            each for each, asked in house.clients[who].open.items() if asked.mark == one.mark
        ]
        house.clients[other].ident = 40  # so that the other has no call of this id
        for guess in (ident, str(ident), one.ident, one.mark, 41):
            await cancels(house, other, guess)
        assert end.stopped == set()
        tells(end, one)
        await house.rest()
        await cancels(house, who, ident)
        assert one.ident in end.stopped
        tells(end, one)
        await house.rest()
        assert house.heard["client notifications/mgp.stream.chunk"] == 1

    played(tmp_path, act)


def test_of_two_calls_with_one_id_each_is_its_own_callers_to_cancel(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        (_, end, first), (_, _, second) = [
            await streamed(house, one, "odd") for one in ("gus", "hal")
        ]
        (ident,) = [
            each for each, one in house.clients["gus"].open.items() if one.mark == first.mark
        ]
        assert house.clients["hal"].open[ident].mark == second.mark
        await cancels(house, "hal", ident)
        assert end.stopped == {second.ident}

    played(tmp_path, act)


def test_a_call_that_was_parked_is_cancelled_by_the_id_under_which_it_goes_on(
    tmp_path: Path,
) -> None:
    async def act(house: House) -> None:
        asked, end, one = await streamed(house, "jon", "odd")
        end.ask("elicitation/create", one, f"about {asked.mark} by-odd", {})
        await house.rest()
        jon = house.clients["jon"]
        (first,) = asked.idents
        await cancels(house, "jon", first)
        assert jon.answer(0) is not None
        await house.rest()
        await cancels(house, "jon", first)
        assert end.stopped == set()
        await cancels(house, "jon", asked.idents[-1])
        assert end.stopped == {one.ident}

    played(tmp_path, act)


def test_a_call_that_became_a_task_is_no_stream_to_cancel(tmp_path: Path) -> None:
    """Its request was answered, with the task: what runs after a yes is ended by `tasks/cancel`."""

    async def act(house: House) -> None:
        asked = puts_off(house, "gus", "imp", "")
        await house.rest()
        (ident,) = asked.idents
        assert "gwtask_" in asked.heard
        await cancels(house, "gus", ident)
        (waiting,) = house.undecided()
        house.decides(waiting, yes=True)
        await house.rest()
        end, one = work_of(house, asked)
        await cancels(house, "gus", ident)
        assert one.ident not in end.stopped

    played(tmp_path, act)


# -- events


def test_an_event_reaches_who_subscribed_to_its_channel_and_sees_the_server(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        assert await subscribes(house, "gus", ["tool.*"])
        assert await subscribes(house, "hal", ["security.scan"])
        assert await subscribes(house, "ida", ["tool.*"])
        odd, imp = main_end(house, "odd"), main_end(house, "imp")
        for end in (odd, imp):
            for ident, channels in list(end.subscribed_to.items()):
                await sends(house, end, ident, "tool.flood")
                assert channels in (("tool.*",), ("security.scan",))
        names = [name for name, _ in house.heard_events]
        assert sorted(names) == ["gus", "gus", "ida"]  # and `ida` does not see `odd`

    played(tmp_path, act)


def test_a_server_sends_nothing_under_an_id_that_another_gave_out(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        first = await subscribes(house, "gus", ["tool.*"])
        second = await subscribes(house, "hal", ["security.scan"])
        odd, imp = main_end(house, "odd"), main_end(house, "imp")
        await unsubscribes(house, "hal", second)
        assert list(imp.subscribed_to) == list(odd.subscribed_to) == ["s1"]
        for ident in ("s2", "s3", first, second, 1, None):
            for more in ({}, {"server_id": "odd"}):
                await sends(house, imp, ident, "tool.flood", **more)
        assert not house.heard_events
        await sends(house, imp, "s1", "tool.flood", server_id="odd", sequence=9)
        assert list(house.heard_events) == [("gus", len(house.sent) - 1)]

    played(tmp_path, act)


def test_a_subscription_is_ended_and_taken_up_by_whose_it_is_alone(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        ident = await defended(house, "gus", "hal", "ida")
        imp = main_end(house, "imp")
        await sends(house, imp, "s1", "tool.flood")
        assert [name for name, _ in house.heard_events] == ["gus"]
        await unsubscribes(house, "gus", ident)
        assert imp.subscribed_to == {}
        await sends(house, imp, "s1", "tool.flood")
        assert len(house.heard_events) == 1

    played(tmp_path, act)


def test_whoever_comes_back_hears_what_it_missed_and_nobody_else_does(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        ident = await subscribes(house, "gus", ["tool.flood"])
        house.subscribers.append(("gus", ident))
        gus, imp = house.clients["gus"], main_end(house, "imp")
        gus.close()
        await house.rest()
        gus.connect()
        await house.rest()
        await sends(house, imp, "s1", "tool.flood")
        await takes_up(house, "hal", ident, 0)
        assert not house.heard_events
        await takes_up(house, "gus", ident, 0)
        assert list(house.heard_events) == [("gus", 0)]

    played(tmp_path, act)


def test_events_of_the_gateway_are_of_ones_own_calls(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        for name in ("gus", "hal"):
            await subscribes(house, name, ["tool.*"])
        for name in ("gus", "hal", "ann"):
            _, end, one = await streamed(house, name, "imp")
            ended(end, one)
            await house.rest()
        assert house.heard["client notifications/mgp.event"] == 4  # started and completed, twice

    played(tmp_path, act)


# -- callbacks


@pytest.mark.parametrize(
    ("who", "other"), [("gus", "hal"), ("ida", "gus"), ("jon", "kim"), ("kim", "jon")]
)
def test_a_callback_is_answered_by_who_was_asked_alone(
    tmp_path: Path, who: str, other: str
) -> None:
    async def act(house: House) -> None:
        for name in (who, other):
            _, end, one = await streamed(house, name, "imp")
            called_back(end, one)
            await house.rest()
        every = house.clients
        ((ident, (_, put)),) = every[who].mgp.callbacks.items()
        ((theirs, _),) = every[other].mgp.callbacks.items()
        await responds(house, other, ident, put)
        await responds(house, other, put, put)
        assert len(end.called_back) == 2
        await responds(house, who, ident, put)
        assert [mark.partition("-")[0] for mark, _ in end.called_back.values()] == [other]
        await responds(house, who, theirs, put)
        await responds(house, who, ident, put)
        assert len(end.called_back) == 1

    played(tmp_path, act)


def test_a_callback_about_nothing_is_put_to_nobody(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        _, end, one = await streamed(house, "gus", "imp")
        lost = Work(one.ident + 1, one.mark, one.method, one.params)
        called_back(end, lost)
        await house.rest()
        assert house.clients["gus"].mgp.callbacks == {}

    played(tmp_path, act)


# -- finding


@pytest.mark.parametrize("method", FINDING)
def test_whoever_looks_for_tools_finds_what_it_may_see(tmp_path: Path, method: str) -> None:
    async def act(house: House) -> None:
        for name in ("gus", "ida"):
            await finds(house, name, method)
        heard = [one.heard for one in house.asked.values() if one.method == method]
        assert len(heard) == 2
        assert "__" in heard[0] or '"odd"' in heard[0]
        if method != "mgp/tools/request":  # which names the best for each capability alone
            assert all("imp" in one for one in heard)
            assert "odd" in heard[0]
        assert "odd" not in heard[1]

    played(tmp_path, act)
