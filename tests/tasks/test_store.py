"""The gateway's own tasks: whose they are, how many, how long."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import pytest
from msgspec.structs import replace

import gatewright.tasks.store
from gatewright.call import ANONYMOUS, Answer, Caller, Failure, UserContext
from gatewright.tasks.store import AFTER_S, EACH, Entry, TaskBook
from tests.gate_parts import AGENT, a_call

RAN = Answer(b'{"content":[]}')


class World:
    """A book whose time the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        numbers = itertools.count(1)
        self.book = TaskBook(lambda: self.now, lambda n: next(numbers).to_bytes(n, "big"))

    def made(self, caller: Caller = AGENT, session: str = "", ends: float | None = None) -> Entry:
        found = self.book.make(a_call(caller=caller, session=session), "ap_1", "it waits", ends)
        assert found is not None
        return found


def test_a_task_exists_for_its_caller_alone() -> None:
    world = World()
    one = world.made()
    assert one.task.id.startswith("gwtask_")
    assert (one.task.status, one.task.created, one.task.updated) == ("working", 1000.0, 1000.0)
    assert world.book.of(a_call(session="another"), one.task.id) is one
    assert world.book.all_of(a_call()) == [one]
    for other in (Caller("other"), Caller(AGENT.id, "operator"), ANONYMOUS):
        assert world.book.of(a_call(caller=other), one.task.id) is None
        assert world.book.all_of(a_call(caller=other)) == []
    assert world.book.of(a_call(), "gwtask_") is None
    assert world.book.of(a_call(), ["x"]) is None


def test_a_task_exists_for_no_other_key_of_its_caller_with_other_limits() -> None:
    world = World()
    made = world.book.make(replace(a_call(), credential="a"), "ap_1", "it waits")
    assert made is not None
    small = replace(AGENT, key_id="key2", user=(UserContext(trust="untrusted"),))
    less = replace(a_call(caller=small), credential="b")
    successor = replace(a_call(caller=replace(AGENT, key_id="key3")), credential="c")
    for over in (False, True):
        if over:
            world.book.end(made, "ended", RAN, "it has run")
        assert world.book.of(less, made.task.id) is None
        assert world.book.all_of(less) == []
        assert world.book.of(successor, made.task.id) is made
        assert world.book.all_of(successor) == [made]


def test_who_has_no_name_has_the_tasks_of_its_session() -> None:
    world = World()
    one, loose = world.made(ANONYMOUS, "s1"), world.made(ANONYMOUS)
    assert world.book.of(a_call(caller=ANONYMOUS, session="s1"), one.task.id) is one
    assert world.book.of(a_call(caller=ANONYMOUS, session="s2"), one.task.id) is None
    assert world.book.all_of(a_call(caller=ANONYMOUS, session="s1")) == [one]
    assert world.book.of(a_call(caller=ANONYMOUS), loose.task.id) is loose
    assert world.book.all_of(a_call(caller=ANONYMOUS)) == []


def test_a_task_ends_once_and_is_kept_for_its_time_and_then_a_while() -> None:
    world = World()
    one = world.made(ends=1060.0)
    world.now = 1050.0
    world.book.end(one, "ended", RAN, "it has run")
    world.book.end(one, "cancelled", Failure("cancelled"), "too late")
    assert (one.task.status, one.outcome, one.over.is_set()) == ("ended", RAN, True)
    assert one.task.ends == 1050.0 + AFTER_S
    world.now += AFTER_S - 1
    assert world.book.of(a_call(), one.task.id) is one
    world.now += 1
    assert world.book.of(a_call(), one.task.id) is None


def test_what_works_is_not_forgotten_and_says_how_it_stands() -> None:
    world = World()
    one = world.made(ends=1001.0)
    world.now = 1100.0
    assert world.book.of(a_call(), one.task.id) is one
    world.book.note(one, "it runs", ends=2000.0)
    assert (one.task.message, one.task.updated, one.task.ends) == ("it runs", 1100.0, 2000.0)
    assert list(world.book.working()) == [one]
    assert world.book.waiting("ap_1") == 1
    world.book.end(one, "ended", RAN, "")
    assert world.book.waiting("ap_1") == 0
    assert list(world.book.working()) == []


def test_one_caller_has_so_many_and_what_has_ended_makes_room() -> None:
    world = World()
    made = [world.made() for _ in range(EACH)]
    assert world.book.make(a_call(), "ap_1", "") is None
    world.made(Caller("other"))
    world.book.end(made[3], "ended", RAN, "")
    fresh = world.made()
    assert world.book.of(a_call(), made[3].task.id) is None
    assert world.book.of(a_call(), fresh.task.id) is fresh
    nobodies = [world.made(ANONYMOUS, f"s{number}") for number in range(EACH)]
    assert len(nobodies) == EACH
    assert world.book.make(a_call(caller=ANONYMOUS, session="one more"), "ap_1", "") is None


def test_all_callers_together_have_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gatewright.tasks.store, "KEPT", 3)
    world = World()
    made = [world.made(Caller(f"c{number}")) for number in range(3)]
    assert world.book.make(a_call(), "ap_1", "") is None
    world.book.end(made[0], "ended", RAN, "")
    assert world.book.make(a_call(), "ap_1", "") is not None


@pytest.mark.parametrize("kept", [EACH, EACH + 1])
def test_one_result_that_is_the_oldest_of_its_caller_and_of_all_is_given_up_once(
    monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(gatewright.tasks.store, "KEPT", kept)
    world = World()
    first, second, *_ = (world.made() for _ in range(EACH))
    for one in (first, second):
        world.book.end(one, "ended", RAN, "")
    if kept > EACH:
        world.made(Caller("other"))
    world.made()
    assert world.book.of(a_call(), first.task.id) is None
    assert world.book.of(a_call(), second.task.id) is second


def test_all_bytes_are_bounded_together_and_what_ended_first_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Results, and arguments while they are needed."""
    world = World()
    made = [world.made() for _ in range(3)]
    asked = made[0].bytes
    monkeypatch.setattr(gatewright.tasks.store, "BYTES", 3 * asked)
    assert world.book.make(a_call(), "ap_1", "") is None
    long = Answer(b'{"content":"%s"}' % (b"x" * (asked - 14)))
    for one in reversed(made):
        world.now += 1
        world.book.end(one, "ended", long, "")
    assert [one.bytes for one in world.book.all_of(a_call())] == [asked] * 3
    fresh = world.made()
    assert world.book.all_of(a_call()) == [made[1], made[0], fresh]
    world.book.end(fresh, "ended", Answer(b"{}" * asked), "")
    assert world.book.all_of(a_call()) == [made[0], fresh]


def test_room_for_a_long_result_costs_a_step_for_each_that_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The work is counted: neither what goes nor what works is gone through for each."""

    def steps(count: int) -> int:
        world, found = World(), 0
        for number in range(count):
            world.made(Caller(f"working-{number}"))
        ended = [world.made(Caller(f"ended-{number}")) for number in range(count)]
        last = world.made()
        for one in ended:
            world.book.end(one, "ended", Answer(b"{}"), "")
        monkeypatch.setattr(gatewright.tasks.store, "BYTES", world.book._bytes)

        def line(frame: Any, event: str, _: object) -> Any:
            nonlocal found
            found += event == "line" and frame.f_code.co_filename == gatewright.tasks.store.__file__
            return line

        before = sys.gettrace()
        sys.settrace(line)
        try:
            world.book.end(last, "ended", Answer(b" " * (2 * count + last.bytes)), "")
        finally:
            sys.settrace(before)
        left = [*world.book._entries.values()]
        assert [one.outcome is None for one in left] == [True] * count + [False]
        assert world.book._bytes == sum(one.bytes for one in left)
        monkeypatch.undo()
        return found

    assert steps(400) <= 5 * steps(100)
