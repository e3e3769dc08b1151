"""The state machine of a topic, without a socket or a clock."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcpx import batches as batches_module
from gatewright.mcpx import topic as room_module
from gatewright.mcpx.batches import Batch, Message, shared
from gatewright.mcpx.envelope import Envelope, Flaw, read
from gatewright.mcpx.topic import Bounds, Member, No, Room
from gatewright.transport.slices import whole

FULL = ("mcp/*", "chat")


def room(**bounds: Any) -> Room:
    numbers = itertools.count(1)
    return Room("t", Bounds(**bounds), lambda: (f"id-{next(numbers)}", "2025-08-26T14:00:00Z"))


def member(name: str, capabilities: tuple[str, ...] = FULL, **more: Any) -> Member:
    return Member(name, capabilities, seat=None, connection=f"c-{name}", since="now", **more)


def says(one: Member, kind: str = "chat", **more: Any) -> bytes:
    body = {"protocol": "mcpx/v0.1", "id": "1", "from": one.id, "kind": kind, "payload": {}, **more}
    return json.dumps(body).encode()


def heard(here: Room) -> dict[str, list[str]]:
    """What each member gets of the next flush, as kinds or as texts of chat."""
    found: dict[str, list[str]] = {}
    for batch, members in whole(here.flush()):
        for one in members:
            assert one.id not in found
            found[one.id] = [_told(message) for message in batch.messages]
    return found


def emptied(here: Room) -> None:
    """All of what waits has left, in however many pieces."""
    while here.waiting:
        whole(here.flush())


def _told(message: Message) -> str:
    body = json.loads(message.text)
    return str(body["payload"].get("text") or body["payload"].get("event") or body["kind"])


def say(here: Room, one: Member, text: str, **more: Any) -> None:
    verdict = here.judge(one, says(one, payload={"text": text}, **more), 0.0)
    assert isinstance(verdict, Envelope)
    here.route(one, verdict)


def test_most_members_share_one_batch_and_one_encoding() -> None:
    """A thousand readers: one batch, and each message is encoded once."""
    here = room()
    people = [member(f"p{number}") for number in range(1000)]
    for one in people:
        here.join(one)
    emptied(here)
    say(here, people[0], "1")
    say(here, people[1], "2")
    encoded: list[bytes] = []

    def encode(text: bytes) -> bytes:
        encoded.append(text)
        return b"<" + text + b">"

    ((batch, members),) = whole(here.flush())
    frames = {id(batch.frames(encode)) for _ in members}
    assert (len(members), len(frames), len(encoded)) == (1000, 1, 2)
    assert batch.frames(encode) == b"".join(b"<" + one.text + b">" for one in batch.messages)


def test_messages_keep_their_order_for_everybody_whoever_they_are_for() -> None:
    here = room()
    a, b, c = member("a"), member("b", mode="directed"), member("c", echo=False)
    for one in (a, b, c):
        here.join(one)
    assert heard(here) == {
        "a": ["system/welcome", "join", "join"],
        "b": ["system/welcome", "join"],
        "c": ["system/welcome"],
    }
    say(here, a, "1", to=["c"])
    here.refuse(a, No("e", "m"))
    say(here, c, "2")
    say(here, a, "3", to=["b"])
    assert heard(here) == {
        "a": ["1", "system/error", "2", "3"],
        "b": ["2", "3"],
        "c": ["1", "3"],
    }
    assert heard(here) == {}


def test_who_joins_between_two_flushes_hears_what_came_after_its_welcome() -> None:
    """MCPX-2.2-2."""
    here = room()
    a, b = member("a"), member("b")
    here.join(a)
    say(here, a, "before")
    here.join(b)
    say(here, a, "after")
    assert heard(here) == {
        "a": ["system/welcome", "before", "join", "after"],
        "b": ["system/welcome", "after"],
    }


def test_who_left_gets_nothing_and_leaves_once() -> None:
    """MCPX-3.4-1."""
    here = room()
    a, b = member("a"), member("b")
    here.join(a)
    here.join(b)
    assert here.leave(b)
    assert not here.leave(b)
    assert heard(here) == {"a": ["system/welcome", "join", "leave"]}


def test_a_replaced_member_is_told_to_nobody_unless_its_capabilities_changed() -> None:
    """MCPX-8.1-2."""
    here = room()
    a, b = member("a"), member("b")
    here.join(a)
    here.join(b)
    heard(here)
    again = member("b")
    assert here.join(again) is b
    assert not here.leave(b)
    assert heard(here) == {"b": ["system/welcome"]}
    assert here.join(member("b", ("chat",))) is again
    assert heard(here) == {"a": ["join"], "b": ["system/welcome"]}


def test_one_that_sends_too_much_is_told_once_and_may_go_on_later() -> None:
    """Decision C-31, `rate_limited`."""
    here = room(messages_per_s=2.0, burst=3.0)
    a = member("a")
    here.join(a)
    verdicts = [here.judge(a, says(a), 10.0) for _ in range(6)]
    assert [isinstance(one, Envelope) for one in verdicts] == [True] * 3 + [False] * 3
    errors = [one.error for one in verdicts if isinstance(one, No)]
    assert errors == ["rate_limited", "", ""]
    assert [one.id for one in verdicts if isinstance(one, No)] == ["1", None, None]
    assert isinstance(here.judge(a, says(a), 10.4), No)
    assert isinstance(here.judge(a, says(a), 10.5), Envelope)
    again = here.judge(a, says(a), 10.5)
    assert isinstance(again, No)
    assert again.error == "rate_limited"
    assert isinstance(here.judge(a, says(a), 1000.0), Envelope)


def test_a_message_over_the_limit_is_refused_under_its_own_id() -> None:
    """Decision C-31, `payload_too_large`; MCPX-3-10."""
    here = room(message_bytes=100)
    a = member("a")
    verdict = here.judge(a, says(a, payload={"x": "y" * 100}), 0.0)
    assert isinstance(verdict, No)
    assert (verdict.error, verdict.id) == ("payload_too_large", "1")


def test_waiting_bytes_are_counted() -> None:
    here = room()
    a = member("a")
    here.join(a)
    before = here.waiting
    assert before > 0
    say(here, a, "1")
    assert here.waiting > before
    heard(here)
    assert here.waiting == 0
    assert not here.is_full


def test_new_capabilities_are_told_by_a_welcome() -> None:
    """MCPX-5.1-4: they are authoritative, so the participant must learn them."""
    here = room()
    a, b = member("a", ("chat",)), member("b")
    here.join(a)
    here.join(b)
    heard(here)
    assert isinstance(here.judge(a, says(a, "mcp/request:x"), 0.0), No)
    here.allow(a, FULL)
    assert isinstance(here.judge(a, says(a, "mcp/request:x"), 0.0), Envelope)
    told = {
        member.id: [json.loads(one.text)["payload"] for one in batch.messages]
        for batch, members in whole(here.flush())
        for member in members
    }
    you = {"id": "a", "capabilities": list(FULL)}
    others = [{"id": "b", "capabilities": list(FULL)}]
    assert told == {
        "a": [{"you": you, "participants": others}],
        "b": [{"event": "join", "participant": you}],
    }
    here.allow(a, FULL)  # nothing changes, and nobody else is told
    ((_, members),) = whole(here.flush())
    assert members == [a]


def test_a_batch_of_nothing_is_nothing() -> None:
    assert Batch(()).frames(lambda text: text) == b""


@pytest.mark.parametrize("over", [1, 10, 200])
def test_what_is_too_long_is_not_read_and_all_of_it_is_charged(
    over: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def counted(text: bytes) -> Envelope | Flaw:
        seen.append(len(text))
        return read(text)

    monkeypatch.setattr(room_module, "read", counted)
    here = room(message_bytes=5000, burst_bytes=5000.0 * over, bytes_per_s=1.0)
    one = member("x")
    text = b'{"id":"a","x":"' + b"y" * 5000 * over + b'"}'
    first = here.judge(one, text, 0.0)
    assert isinstance(first, No)
    assert (first.error, first.id) == ("payload_too_large", None)
    second = here.judge(one, text, 0.0)
    assert isinstance(second, No)
    assert (second.error, second.id) == ("rate_limited", None)
    assert not seen


@given(st.data())
def test_what_leaves_a_room_reaches_each_member_once_and_no_other(data: st.DataObject) -> None:
    """Against each message asked about each member: whoever is named, has just come, or hears what is for it alone."""
    here = room()
    names = [f"p{number}" for number in range(5)]
    members = {
        name: member(name, mode=data.draw(st.sampled_from(["all", "directed"]))) for name in names
    }
    here.members.update(members)
    some = st.none() | st.sampled_from(list(members.values()))
    said = st.lists(st.sampled_from(names), max_size=2).map(tuple)
    here._out = out = [
        Message(number, b"x", data.draw(said), data.draw(some), data.draw(some))
        for number in range(2, 2 + data.draw(st.integers(1, 6)))
    ]
    if any(one.only or one.skip for one in out):  # else nobody has come since
        for one in members.values():
            one.heard = data.draw(st.integers(0, 4))
    got: dict[str, list[int]] = {}
    for batch, those in whole(here.flush()):
        for one in those:
            assert one.id not in got
            got[one.id] = [message.number for message in batch.messages]
    meant = {
        name: [each.number for each in out if each.is_for(one)] for name, one in members.items()
    }
    assert got == {name: numbers for name, numbers in meant.items() if numbers}


def test_a_crowd_to_which_a_message_is_not_addressed_is_not_looked_at_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []

    def counting(out: Any, members: Any) -> Any:
        looked.append(len(members))
        return shared(out, members)

    monkeypatch.setattr(batches_module, "shared", counting)
    here = room()
    for number in range(1000):
        here.join(member(f"p{number}", mode="directed"))
    emptied(here)
    looked.clear()
    a = here.members["p1"]
    for to in (("p7",), ()):
        passed = here.judge(a, says(a, "chat", to=to), 0.0)
        assert isinstance(passed, Envelope)
        here.route(a, passed)
    batches = [
        ([one.to for one in batch.messages], len(those)) for batch, those in whole(here.flush())
    ]
    assert looked == [1]
    assert batches == [([frozenset()], 999), ([frozenset({"p7"}), frozenset()], 1)]


def test_what_the_gateways_own_tell_somebody_by_name_nobody_else_hears() -> None:
    here = room()
    house, ann, bob = member("house", limited=False), member("ann"), member("bob")
    for one in (house, ann, bob):
        here.join(one)
    heard(here)
    for sender in (house, ann):
        passed = here.judge(sender, says(sender, "chat", to=("bob",)), 0.0)
        assert isinstance(passed, Envelope)
        here.route(sender, passed)
    got = {
        one.id: [json.loads(message.text)["from"] for message in batch.messages]
        for batch, those in whole(here.flush())
        for one in those
    }
    assert got == {"house": ["ann"], "ann": ["ann"], "bob": ["house", "ann"]}


def test_a_newcomer_answers_nothing_that_was_put_to_its_name_before_but_a_new_connection_does() -> (
    None
):
    for leaves in (True, False):
        here = room()
        ann, bank, again = member("ann"), member("bank"), member("bank")
        for one in (ann, bank):
            here.join(one)
        ask = here.judge(ann, says(ann, "mcp/request:tools/call:x", id="r", to=["bank"]), 0.0)
        assert isinstance(ask, Envelope)
        here.route(ann, ask)
        if leaves:
            here.leave(bank)
        here.join(again)
        kind = "mcp/response:tools/call:x"
        answer = says(again, kind, id="a", to=["ann"], correlation_id="r")
        assert isinstance(here.judge(again, answer, 0.0), No) == leaves
        # Who leaves by a former connection of its own makes it no newcomer.
        assert here.leave(bank) is False


def test_nobody_gets_a_message_twice_where_some_had_it_before_the_others() -> None:
    here = room()
    ann, new = member("ann"), member("new")
    here.join(ann)
    whole(here.flush())
    here.join(new)
    whole(here.flush())
    say(here, ann, "1")
    say(here, ann, "2")
    assert [_told(one) for one in here.flush_to(new).messages] == ["1", "2"]
    assert heard(here) == {"ann": ["1", "2"]}


def test_the_names_of_messages_are_looked_at_a_message_a_step_and_only_where_it_matters() -> None:
    """A message may name a thousand, whether or not there is anybody who hears no more than what names it."""
    steps: dict[str, int] = {}
    for mode in ("all", "directed"):
        here = room()
        ann = member("ann")
        for one in (ann, member("bob", mode=mode)):
            here.join(one)
        emptied(here)
        for number in range(20):
            say(here, ann, str(number), to=[f"p{other}" for other in range(1000)])
        steps[mode] = sum(1 for _ in here.flush())
    assert steps["directed"] >= 20
    assert steps["all"] <= 3


def test_names_weigh_something_so_that_few_messages_of_a_thousand_names_leave_together() -> None:
    here = room()
    ann = member("ann")
    here.join(ann)
    emptied(here)
    for number in range(100):
        say(here, ann, str(number), to=[f"{other}" for other in range(1000)])
    pieces: list[list[str]] = []
    while here.waiting:
        ((batch, _),) = whole(here.flush())
        pieces.append([_told(one) for one in batch.messages])
    assert [one for some in pieces for one in some] == [str(number) for number in range(100)]
    assert max(map(len, pieces)) < 33


def test_a_large_room_is_sorted_in_many_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    here = room()
    ann = member("ann", echo=False)
    for number in range(1000):
        here.join(member(f"p{number}", mode="directed"))
    here.join(ann)
    emptied(here)
    say(here, ann, "1", to=[f"p{number}" for number in range(1000)])
    looked = 0
    held = [0]

    def counted(self: Any, one: Member, first: int) -> Any:
        nonlocal looked
        looked += 1
        return of(self, one, first)

    of = batches_module._Exceptions.of
    monkeypatch.setattr(batches_module._Exceptions, "of", counted)
    held += [looked for _ in here.flush()]
    assert looked == 1001
    assert max(later - before for before, later in itertools.pairwise(held)) == 1
    assert len(held) > 1001 + 1001 // 64
