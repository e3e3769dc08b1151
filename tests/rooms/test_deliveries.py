"""What leaves rooms: one member a step, rooms in turn, and each member what was said to it, in order."""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcpx import batches
from gatewright.mcpx import topic as room_module
from gatewright.mcpx.batches import Batch, Message
from gatewright.mcpx.topic import Member, Room
from gatewright.rooms import deliveries
from gatewright.rooms.hub import Hub, Place
from gatewright.rooms.policy import Identity
from gatewright.transport import slices
from tests.rooms.hall import FULL, UNLIMITED, Notes, policy
from tests.rooms.test_hub import Chair, Table, chat


def _full(table: Table, topic: str, count: int) -> list[tuple[Place, Chair]]:
    """A topic with so many members, who have heard all that there was."""
    chairs = [Chair() for _ in range(count)]
    places = [
        (table.hub.join(Identity(f"p{number}", FULL), topic, chair), chair)
        for number, chair in enumerate(chairs)
    ]
    table.settle()
    for _, chair in places:
        chair.heard.clear()
    return places


def test_a_very_large_room_is_written_to_by_slices_and_in_order() -> None:
    """Nobody else of the process waits for all of it; what is said meanwhile comes after, for everybody."""
    table = Table()
    places = _full(table, "t", 400)
    table.slice = 32
    first, _ = places[0]
    first.say(chat(first, "1"))
    table.turn()
    written = [len(chair.heard) for _, chair in places]
    assert written == [1] * sum(written) + [0] * (400 - sum(written))
    assert 0 < sum(written) <= (table.slice + 4) * 8
    first.say(chat(first, "2"))
    places[300][0].leave()
    table.turn()
    late_place, late = table.join("late")
    assert table.hub.prefer("p399", mode="directed") == 1
    table.settle()
    texts = [[one["payload"].get("text") for one in chair.heard] for _, chair in places]
    assert all(
        [text for text in heard if text] == ["1", "2"] for heard in texts[:300] + texts[301:]
    )
    assert places[300][1].heard == []
    assert late.kinds == ["system/welcome"]
    late_place.leave()


def test_all_rooms_share_one_slice_and_none_waits_for_another() -> None:
    table = Table(max_topics=1000)
    table.slice = 150
    rooms = [_full(table, f"t{number}", 50) for number in range(40)]
    small = _full(table, "small", 2)
    for (place, _), *_ in [*rooms, small]:
        place.say(chat(place))
    table.turn()
    written = [sum(len(chair.heard) for _, chair in places) for places in rooms]
    assert 0 < sum(written) <= (table.slice + 4) * 8
    assert max(written) - min(written) <= 8
    assert max(written) < 50
    assert [len(chair.heard) for _, chair in small] == [1, 1]
    table.settle()
    assert {len(chair.heard) for places in rooms for _, chair in places} == {1}


async def test_what_takes_long_is_one_write_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """By time: however much a write takes, no further one is done in a turn that is over, but for a few of what is short, and at first."""
    numbers = itertools.count(1)
    hub = Hub(
        policy(),
        journal=Notes(),
        stamp=lambda: (f"id-{next(numbers)}", "2025-08-26T14:00:00Z"),
        monotonic=lambda: 0.0,
    )
    chairs = [Chair() for _ in range(60)]
    places = [
        hub.join(Identity(f"p{number}", FULL, way="gateway"), "t", chair)
        for number, chair in enumerate(chairs)
    ]
    while not chairs[-1].heard or hub.rooms["t"].waiting:
        await asyncio.sleep(0)
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    for size, most in ((10_000, 1), (10, 8)):
        for chair in chairs:
            chair.heard.clear()
        places[0].say(chat(places[0], "x" * size))
        written = [0]
        while written[-1] < 60:
            await asyncio.sleep(0)
            written.append(sum(len(chair.heard) for chair in chairs))
        assert written[1] <= 4 * most
        assert max(later - before for before, later in itertools.pairwise(written[1:])) == most
    hub.close()


def test_what_waits_behind_what_is_on_its_way_leaves_in_pieces() -> None:
    """For each member a piece is put together in one step, so it has a bound, whatever has come together meanwhile."""
    sizes: list[int] = []

    class Scale(Chair):
        def deliver(self, batch: Any) -> None:
            sizes.append(sum(len(one.text) for one in batch.messages))
            super().deliver(batch)

    table = Table(**UNLIMITED)
    table.slice = 1
    places = _full(table, "t", 3)
    scale = Scale()
    table.hub.join(Identity("scale", FULL), "t", scale)
    table.settle()
    for number in range(40):
        places[0][0].say(chat(places[0][0], f"{number}" + "x" * 200_000))
    table.settle()
    said = [one["payload"]["text"].strip("x") for one in scale.heard if one["kind"] == "chat"]
    assert said == [str(number) for number in range(40)]
    assert 1_000_000 < max(sizes) < 1_300_000


def test_another_mode_writes_to_nobody_and_holds_from_the_next_message_on() -> None:
    table = Table()
    places = _full(table, "t", 300)
    table.slice = 16
    (a, ann), (_, bob), (_, eve) = places[0], places[1], places[299]
    a.say(chat(a, "1", to=["nobody"]))
    table.turn()  # on its way to eve
    a.say(chat(a, "2", to=["nobody"]))
    assert table.hub.prefer("p299", mode="directed", echo=False) == 1
    assert table.hub.prefer("p0", echo=False) == 1
    assert eve.heard == []
    assert [one.mode for one in table.hub.connections("p299")] == ["directed"]
    a.say(chat(a, "3", to=["nobody"]))
    table.settle()
    assert [one["payload"]["text"] for one in eve.heard] == ["1", "2"]
    assert [one["payload"]["text"] for one in bob.heard] == ["1", "2", "3"]
    assert [one["payload"]["text"] for one in ann.heard] == ["1", "2"]
    table.hub.prefer("p299", mode="all")
    a.say(chat(a, "4", to=["nobody"]))
    table.settle()
    assert eve.heard[-1]["payload"]["text"] == "4"


def test_a_newcomer_whose_mode_is_changed_at_once_is_welcomed_all_the_same() -> None:
    table = Table()
    a, _ = _full(table, "t", 150)[0]
    _, new = table.join("new")
    table.hub.prefer("new", mode="directed")
    a.say(chat(a, "1", to=["nobody"]))
    table.settle()
    assert new.kinds == ["system/welcome"]
    table.hub.prefer("p3", mode="directed")
    _, late = table.join("late")
    table.turn()
    assert late.kinds == ["system/welcome"]


def test_welcomes_that_were_given_do_not_send_out_what_may_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a room of thousands each is as long as what leaves without waiting."""
    table = Table()
    places = _full(table, "t", 150)
    monkeypatch.setattr(room_module, "PIECE_BYTES", 20_000)
    monkeypatch.setattr(deliveries, "PIECE_BYTES", 20_000)
    newcomers = []
    for number in range(10):
        newcomers.append(table.join(f"new-{number}")[1])
        table.turn()
    assert [one.kinds for one in newcomers] == [["system/welcome"]] * 10
    assert [chair.heard for _, chair in places] == [[]] * 150
    table.settle()
    assert places[7][1].kinds == ["system/presence"] * 10


def test_welcomes_that_wait_for_what_is_on_its_way_leave_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is long for one newcomer, and costs the others nothing: a thousand who come back make no thousand writes to each of them."""
    table = Table()
    places = _full(table, "t", 150)
    monkeypatch.setattr(room_module, "PIECE_BYTES", 20_000)
    monkeypatch.setattr(deliveries, "PIECE_BYTES", 20_000)
    table.slice = 1
    places[0][0].say(chat(places[0][0], "1"))
    table.turn()
    newcomers = [table.join(f"new-{number}")[1] for number in range(50)]
    sizes: list[int] = []

    class Counting(Chair):
        def deliver(self, batch: Batch) -> None:
            sizes.append(len(batch))
            super().deliver(batch)

    places[149][0].member.seat = seat = Counting()
    table.settle()
    assert seat.kinds == ["chat", *["system/presence"] * 50]
    assert sizes == [1, 50]
    assert [one.kinds[0] for one in newcomers] == ["system/welcome"] * 50


def test_what_was_written_is_kept_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a thousand members may have a batch of its own, of a megabyte."""
    written = [0, 0]  # now, and at most

    class Counted(Batch):
        __slots__ = ()

        def __del__(self) -> None:
            written[0] -= self._frames is not None

    class Writer(Chair):
        def deliver(self, batch: Batch) -> None:
            batch.frames(bytes)
            written[0] += 1
            written[1] = max(written)
            super().deliver(batch)

    table = Table(**UNLIMITED)
    places = _full(table, "t", 1)
    writers = [Writer() for _ in range(20)]
    for number, writer in enumerate(writers):
        table.hub.join(Identity(f"w{number}", FULL), "t", writer)
        table.hub.prefer(f"w{number}", mode="directed")
    table.settle()
    monkeypatch.setattr(batches, "Batch", Counted)
    written[:] = [0, 0]
    for number in range(20):
        places[0][0].say(chat(places[0][0], "x", to=[f"w{number}"]))
    table.settle()
    assert [one.kinds[-1] for one in writers] == ["chat"] * 20
    assert 0 < written[1] <= 2


def test_a_room_whose_step_fails_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table()
    broken, other = _full(table, "broken", 3), _full(table, "other", 3)

    def failing() -> Generator[None, None, None]:
        yield
        raise MemoryError

    monkeypatch.setattr(table.hub.rooms["broken"], "flush", failing)
    for (place, _), *_ in (broken, other):
        place.say(chat(place))
    table.turn()
    table.turn()
    assert [len(chair.heard) for _, chair in other] == [1, 1, 1]


def test_a_room_that_everybody_has_left_costs_the_others_nothing() -> None:
    table = Table()
    table.slice = 3
    places, others = _full(table, "t", 20), _full(table, "u", 2)
    places[0][0].say(chat(places[0][0]))
    table.turn()
    for place, _ in places:
        place.leave()
    others[0][0].say(chat(others[0][0]))
    table.settle()
    assert [chair.kinds for _, chair in others] == [["chat"], ["chat"]]


class _Ear:
    """A seat that keeps texts."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def deliver(self, batch: Any) -> None:
        self.heard += [one.text for one in batch.messages]

    def close(self, code: int, reason: str) -> None:
        """Learn of it."""


class _Play:
    """People in a room, and what each is to hear: asked message by message, as each is said."""

    def __init__(self, pace: int, within: pytest.MonkeyPatch) -> None:
        self.table = Table(**UNLIMITED)
        self.table.slice = pace
        self.meant: dict[Member, list[bytes]] = defaultdict(list)
        self.there: dict[int, Place] = {}
        self.everybody: list[tuple[Member, _Ear]] = []
        put = Room._put

        def noted(room: Room, text: bytes, **more: Any) -> None:
            put(room, text, **more)
            for one in room.members.values():
                if _is_for(room._out[-1], one):
                    self.meant[one].append(text)

        within.setattr(Room, "_put", noted)

    def do(self, what: str, which: int, other: int) -> None:
        if what == "turn":
            self.table.turn()
        elif what == "wait":
            self.table.wait()
        elif what == "join":
            ear = _Ear()
            place = self.table.hub.join(Identity(f"p{which}", FULL), "t", ear)
            self.there[which] = place
            self.everybody.append((place.member, ear))
        elif which in self.there:
            getattr(self, what)(which, other)

    def leave(self, which: int, other: int) -> None:
        self.there.pop(which).leave()

    def prefer(self, which: int, other: int) -> None:
        mode: Any = "directed" if other % 2 else "all"
        self.table.hub.prefer(f"p{which}", mode=mode, echo=other > 2)

    def say(self, which: int, other: int) -> None:
        place = self.there[which]
        place.say(chat(place, to=[f"p{other}"] if other < 4 else [], id=str(len(self.meant))))


def _is_for(message: Message, one: Member) -> bool:
    if message.only is not None:
        return message.only is one
    heard = one.wanted == "all" or not message.to or one.id in message.to
    return heard and message.skip is not one


_WHAT = st.sampled_from(["join", "say", "say", "prefer", "leave", "turn", "wait"])
_STEPS = st.lists(st.tuples(_WHAT, st.integers(0, 5), st.integers(0, 5)), max_size=60)


@given(_STEPS, st.integers(1, 4), st.sampled_from([150, 600, 10**6]))
def test_each_member_gets_what_was_for_it_when_it_was_said_in_order(
    steps: list[tuple[str, int, int]], pace: int, piece: int
) -> None:
    """However slices, pieces, new modes, those who come and those who go fall together."""
    with pytest.MonkeyPatch.context() as within:
        within.setattr(room_module, "PIECE_BYTES", piece)
        within.setattr(deliveries, "PIECE_BYTES", piece)
        within.setattr(deliveries, "SMALL", 3)
        play = _Play(pace, within)
        for step in steps:
            play.do(*step)
        play.table.settle()
        for member, ear in play.everybody:
            meant = play.meant[member]
            assert ear.heard == (meant if member.is_here else meant[: len(ear.heard)])
