"""Participants that are no sockets: the same rooms, by objects of this process."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Generator
from typing import Any

import pytest

from gatewright.call import Caller, UserContext
from gatewright.mcpx.batches import Batch
from gatewright.rooms.hub import Hub, NoPlace, Place
from gatewright.rooms.policy import Identity, Topic
from tests.rooms.hall import FULL, Notes, policy


class Chair:
    """A seat that keeps what it is told, and may break."""

    def __init__(self, broken: bool = False) -> None:
        self.heard: list[dict[str, Any]] = []
        self.closed: list[tuple[int, str]] = []
        self.broken = broken

    def deliver(self, batch: Batch) -> None:
        if self.broken:
            raise RuntimeError("a bug of this seat")
        self.heard += [json.loads(one.text) for one in batch.messages]

    def close(self, code: int, reason: str) -> None:
        self.closed.append((code, reason))

    @property
    def kinds(self) -> list[str]:
        found = [one["kind"] for one in self.heard]
        self.heard.clear()
        return found


class Table:
    """A hub whose turns end when the test says so."""

    def __init__(self, **configured: Any) -> None:
        self.notes = Notes()
        self.soon: list[Callable[[], object]] = []
        self.later: list[Callable[[], object]] = []
        self.slice = 256
        """Steps of what is done in slices in one turn."""
        numbers = itertools.count(1)
        self.hub = Hub(
            policy(**configured),
            journal=self.notes,
            stamp=lambda: (f"id-{next(numbers)}", "2025-08-26T14:00:00Z"),
            monotonic=lambda: 0.0,
            soon=self.soon.append,
            later=lambda seconds, call: self.later.append(call),
            sliced=self._sliced,
        )

    def _sliced(self, steps: Generator[None, None, None]) -> None:
        for count, _ in enumerate(steps, 1):
            if count >= self.slice:
                self.soon.append(lambda: self._sliced(steps))
                return

    def join(self, name: str, topic: str = "t", **more: Any) -> tuple[Place, Chair]:
        chair = Chair(more.pop("broken", False))
        return self.hub.join(Identity(name, FULL, way="gateway", **more), topic, chair), chair

    def wait(self) -> None:
        """Let some time pass."""
        waiting, self.later = self.later, []
        for one in waiting:
            one()

    def settle(self) -> None:
        """Let everything leave."""
        while self.soon or self.later:
            self.turn()
            self.wait()

    def turn(self) -> None:
        """End this turn of the loop."""
        waiting = list(self.soon)
        self.soon.clear()
        for one in waiting:
            one()


def chat(place: Place, text: str = "x", **more: Any) -> bytes:
    body = {"protocol": "mcpx/v0.1", "id": "1", "from": place.member.id, "kind": "chat"}
    return json.dumps({**body, "payload": {"text": text}, **more}).encode()


def test_what_is_said_in_one_turn_leaves_at_its_end() -> None:
    table = Table()
    a, ann = table.join("a")
    _, bob = table.join("b")
    assert len(table.soon) == 1
    assert (ann.heard, bob.heard) == ([], [])
    table.turn()
    assert (ann.kinds, bob.kinds) == (["system/welcome", "system/presence"], ["system/welcome"])
    a.say(chat(a, "1"))
    a.say(chat(a, "2"))
    table.turn()
    assert [one["payload"]["text"] for one in bob.heard] == ["1", "2"]


def test_a_large_room_hears_of_newcomers_a_little_later_and_they_their_welcome_at_once() -> None:
    """MCPX-6.2-5, MCPX-3.4-1: and whatever is said meanwhile takes along what waits, in order."""
    table = Table()
    places = [table.join(f"p{number}") for number in range(101)]
    table.turn()
    first, chair = places[0]
    assert chair.kinds.count("system/presence") == 100
    _, late = table.join("late")
    table.turn()
    assert late.kinds == ["system/welcome"]
    assert chair.kinds == []
    table.wait()
    assert chair.kinds == ["system/presence"]
    assert late.kinds == []
    gone, _ = table.join("gone")
    gone.leave()
    first.say(chat(first))
    table.turn()
    assert chair.kinds == ["system/presence", "system/presence", "chat"]
    assert late.kinds == ["system/presence", "system/presence", "chat"]
    table.wait()
    assert chair.kinds == []


def test_a_long_queue_leaves_without_waiting() -> None:
    table = Table()
    a, ann = table.join("a")
    table.turn()
    for _ in range(10):
        a.say(chat(a, "x" * 200_000))
    assert len(ann.heard) > 5
    table.turn()


def test_who_leaves_is_gone_at_once_and_may_still_talk_in_vain() -> None:
    """MCPX-3.4-1."""
    table = Table()
    a, ann = table.join("a")
    b, bob = table.join("b")
    table.turn()
    a.leave()
    a.leave()
    a.say(chat(a))
    table.turn()
    assert bob.kinds == ["system/welcome", "system/presence"]
    assert ann.kinds == ["system/welcome", "system/presence"]
    assert ann.closed == []
    b.leave()
    assert table.hub.rooms == {}
    table.turn()


def test_a_place_may_be_taken_away() -> None:
    """A kill switch: every place of a participant."""
    table = Table()
    _, one = table.join("a", "t")
    _, two = table.join("a", "u")
    assert table.hub.remove("a", "misbehaved") == 2
    assert one.closed == two.closed == [(1000, "misbehaved")]
    assert table.hub.remove("a", "again") == 0
    assert ("left", "t", "a", "misbehaved") in table.notes.lines


def test_a_seat_that_breaks_loses_its_place_and_nobody_else_notices(
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = Table()
    a, ann = table.join("a")
    _, bob = table.join("b", broken=True)
    table.turn()
    a.say(chat(a))
    table.turn()
    assert ann.kinds == ["system/welcome", "system/presence", "system/presence", "chat"]
    assert list(table.hub.rooms["t"].members) == ["a"]
    assert bob.closed == [(1011, "its seat broke")]
    assert "the seat of b in t broke" in caplog.text


def test_only_those_who_may_get_in() -> None:
    """MCPX-5.1-3: parts of this process may go where they are put, if that is a topic."""
    table = Table(topics={"own": Topic("private", ("x",))})
    table.join("a", "own")
    for name, topic in (("system:gateway", "t"), ("a", ""), ("a", "x\n")):
        with pytest.raises(NoPlace):
            table.join(name, topic)
    with pytest.raises(NoPlace) as found:
        table.join("a", "own", topics=("t",))
    assert found.value.refusal.reason == "access_denied"
    table.notes.broken = True
    with pytest.raises(NoPlace) as found:
        table.join("b")
    assert found.value.refusal.reason == "audit_unavailable"


def test_closing_ends_every_place() -> None:
    table = Table()
    _, ann = table.join("a")
    table.hub.close()
    assert ann.closed == [(1001, "the gateway stops")]
    assert table.hub.connections() == []


_LIMITED = Caller("ann", key_id="key-1", user=(UserContext(trust="untrusted"),))
_FREE = Caller("ann", key_id="key-2")
_ROOT = Caller("ann", "operator", "key-3")


@pytest.mark.parametrize(
    ("former", "later", "takes_over"),
    [
        (Identity("ann", FULL, caller=_FREE), Identity("ann", FULL, caller=_FREE), True),
        (Identity("ann", FULL, caller=_FREE), Identity("ann", FULL, way="jwt"), True),
        (Identity("ann", FULL, way="configuration"), Identity("ann", FULL, way="jwt"), True),
        (Identity("ann", FULL), Identity("ann", FULL, mode="directed", expires_at=9.0), True),
        (Identity("ann", FULL, caller=_LIMITED), Identity("ann", FULL, caller=_FREE), False),
        (Identity("ann", FULL, way="jwt"), Identity("ann", FULL, caller=_LIMITED), False),
        (Identity("ann", FULL, caller=_FREE), Identity("ann", FULL, caller=_ROOT), False),
        (Identity("ann", FULL, way="jwt"), Identity("ann", ("chat",), way="jwt"), False),
        (Identity("ann", FULL), Identity("ann", FULL, topics=("t",)), False),
    ],
)
def test_who_comes_under_a_name_with_other_rights_is_another_and_the_former_one_leaves(
    former: Identity, later: Identity, takes_over: bool
) -> None:
    """Decision 0113: equal rights go on with what was begun, and two tokens of one agent that differ in them are two."""
    table = Table()
    _, bob = table.join("bob")
    first, second = Chair(), Chair()
    place = table.hub.join(former, "t", first)
    table.turn()
    bob.heard.clear()
    another = table.hub.join(later, "t", second, token="theirs")
    table.turn()
    assert (another.member.who == place.member.who) is takes_over
    assert first.closed == [(1000, "replaced by a newer connection")]
    told = [one["payload"]["event"] for one in bob.heard]
    assert told == ([] if takes_over else ["leave", "join"])
    assert second.kinds == ["system/welcome"]
    assert ("left", "t", "ann", "replaced") in table.notes.lines
    assert table.hub.place("t", "ann") is another
    assert another.token == "theirs"
    assert table.hub.identity("t", "ann") == later


def test_who_is_alone_in_a_topic_and_is_replaced_by_another_does_not_end_it() -> None:
    table = Table()
    table.hub.join(Identity("ann", FULL), "t", Chair())
    room = table.hub.rooms["t"]
    place = table.hub.join(Identity("ann", ("chat",)), "t", Chair())
    assert table.hub.rooms["t"] is room
    place.leave()
    assert table.hub.rooms == {}


def test_who_has_left_and_comes_again_is_another() -> None:
    table = Table()
    table.join("bob")
    place = table.hub.join(Identity("ann", FULL), "t", Chair())
    place.leave()
    assert table.hub.join(Identity("ann", FULL), "t", Chair()).member.who != place.member.who
