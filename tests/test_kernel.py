"""The one way through: every call that begins is recorded once, whatever becomes of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gatewright.call import (
    ANONYMOUS,
    Answer,
    Back,
    Call,
    Client,
    Event,
    Failure,
    Outcome,
    Question,
    Refusal,
    Target,
    Unrecorded,
)
from gatewright.kernel import Kernel

ANSWER = Answer(b'{"content":[]}')

Act = Literal["pass", "note", "refuse", "raise", "unrecorded", "hang"]
ENDING: list[Act] = ["pass", "note", "refuse", "raise", "unrecorded"]


def _call() -> Call:
    return Call("c1", "http", "tool", "tools/call", "x", {}, ANONYMOUS, Client("2025-11-25"), "t1")


class Book:
    """An audit whose writing can fail at each of its steps; it keeps what happened, in order."""

    def __init__(self, *failing: str, flush: bool = False) -> None:
        self.failing = set(failing)
        self.flush = flush
        self.events: list[str] = []
        self.closed: list[tuple[Call, Outcome]] = []

    def step(self, name: str) -> None:
        """Note a step; fail where told to."""
        self.events.append(name)
        if name in self.failing:
            raise Unrecorded(f"cannot {name}")

    def open(self, call: Call) -> Page:
        self.step("open")
        return Page(self)


class Page:
    """The trail of one call in a `Book`."""

    def __init__(self, book: Book) -> None:
        self.book = book

    def intent(self, call: Call) -> bool:
        self.book.step("intent")
        return self.book.flush

    async def on_disk(self) -> None:
        self.book.step("on_disk")

    def close(self, call: Call, outcome: Outcome) -> Outcome:
        self.book.events.append("close")
        self.book.closed.append((call, outcome))
        if "close" in self.book.failing:
            return Refusal("audit_unavailable", "cannot close")
        return outcome

    async def settled(self) -> None:
        self.book.step("settled")


class Step:
    """A gate that does one thing and notes that it was asked."""

    def __init__(self, name: str, act: Act, events: list[str]) -> None:
        self.name = name
        self.act = act
        self.events = events

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        self.events.append(self.name)
        if self.act == "note":
            return replace(call, facts={**call.facts, self.name: True})
        if self.act == "refuse":
            return Refusal("access_denied", f"{self.name} says no")
        await _do(self.act)
        return call


async def _do(act: Act) -> None:
    if act == "raise":
        raise RuntimeError("broken on purpose")
    if act == "unrecorded":
        raise Unrecorded("cannot write in the middle")
    if act == "hang":
        await asyncio.get_running_loop().create_future()


class Owner:
    """The target: notes that it was reached, emits what it was given, answers or fails."""

    def __init__(self, events: list[str], act: Act = "pass", emits: Sequence[Event] = ()) -> None:
        self.events = events
        self.act = act
        self.emits = emits
        self.calls: list[Call] = []

    async def __call__(self, call: Call, back: Back) -> Outcome:
        self.events.append("dispatch")
        self.calls.append(call)
        for event in self.emits:
            back.emit(event)
        if self.act == "refuse":
            return Failure("upstream_error", "the server says no")
        await _do(self.act)
        return ANSWER


class Line:
    """A way back that keeps what travels on it."""

    def __init__(self) -> None:
        self.sent: list[Event] = []

    def emit(self, event: Event) -> None:
        self.sent.append(event)

    async def ask(self, question: Question) -> dict[str, Any]:
        return {"asked": question.method}


class Mark:
    """A filter that signs what passes and withholds events of one method."""

    def __init__(self, name: str, withhold: str = "") -> None:
        self.name = name
        self.withhold = withhold

    def outcome(self, call: Call, outcome: Outcome) -> Outcome:
        if not isinstance(outcome, Answer):
            return outcome
        return Answer(outcome.raw + self.name.encode())

    def event(self, call: Call, event: Event) -> Event | None:
        if event.method == self.withhold:
            return None
        return Event(event.method, {**event.params, self.name: True})


class World:
    """A kernel with a book, and everything that happened in it in one list."""

    def __init__(
        self,
        acts: Sequence[Act] = (),
        owner: Act = "pass",
        *failing: str,
        filters: Sequence[Mark] = (),
        emits: Sequence[Event] = (),
        flush: bool = False,
    ) -> None:
        self.book = Book(*failing, flush=flush)
        self.events = self.book.events
        gates = [Step(f"gate{n}", act, self.events) for n, act in enumerate(acts)]
        self.owner = Owner(self.events, owner, emits)
        self.kernel = Kernel(gates, self.owner, filters, self.book)
        self.line = Line()

    async def run(self) -> Outcome:
        """Handle one call."""
        async with asyncio.timeout(10):
            return await self.kernel.handle(_call(), self.line)

    async def cancelled(self) -> None:
        """Handle one call until it hangs, then cancel it."""
        task = asyncio.create_task(self.kernel.handle(_call(), self.line))
        async with asyncio.timeout(10):
            while not task.done() and self.events[-1:] in ([], ["open"]):
                await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=10)
        assert task.cancelled()


async def test_a_call_passes_every_gate_in_order_and_is_recorded_around_them() -> None:
    world = World(["pass", "pass", "pass"])
    assert await world.run() == ANSWER
    assert world.events == [
        "open",
        "gate0",
        "gate1",
        "gate2",
        "intent",
        "dispatch",
        "close",
        "settled",
    ]


async def test_what_gates_find_out_reaches_the_owner_and_the_record() -> None:
    world = World(["note", "pass", "note"])
    await world.run()
    facts = {"gate0": True, "gate2": True}
    assert world.owner.calls[0].facts == facts
    assert world.book.closed[0][0].facts == facts


async def test_the_first_refusal_ends_the_way_and_names_its_gate() -> None:
    """MGP-4.5-6: what is refused never reaches the target."""
    world = World(["note", "refuse", "pass"])
    outcome = await world.run()
    assert outcome == Refusal("access_denied", "gate1 says no", gate="gate1")
    assert world.events == ["open", "gate0", "gate1", "close", "settled"]
    call, recorded = world.book.closed[0]
    assert (call.facts, recorded) == ({"gate0": True}, outcome)


async def test_a_refusal_that_names_another_gate_keeps_that_name() -> None:
    class Second:
        name = "confirm"

        async def __call__(self, call: Call, back: Back) -> Call | Refusal:
            return Refusal("access_denied", "no longer", gate="access")

    book = Book()
    found = await Kernel([Second()], Owner(book.events), [], book).handle(_call(), Line())
    assert isinstance(found, Refusal)
    assert found.gate == "access"


@pytest.mark.parametrize(("gate", "owner"), [("raise", "pass"), ("pass", "raise")])
async def test_what_breaks_is_an_internal_failure_without_details_and_recorded(
    gate: Act, owner: Act, caplog: pytest.LogCaptureFixture
) -> None:
    world = World([gate, "pass"], owner)
    with caplog.at_level(logging.ERROR, "gatewright.kernel"):
        outcome = await world.run()
    assert isinstance(outcome, Failure)
    assert (outcome.reason, "purpose" in outcome.message) == ("internal", False)
    assert [recorded for _, recorded in world.book.closed] == [outcome]
    assert "call c1 broke the kernel" in caplog.text
    assert ("dispatch" in world.events) is (owner == "raise")


async def test_a_filter_that_breaks_lets_nothing_through() -> None:
    class Broken(Mark):
        def outcome(self, call: Call, outcome: Outcome) -> Outcome:
            raise RuntimeError("broken on purpose")

    world = World(filters=[Broken("x")])
    outcome = await world.run()
    assert isinstance(outcome, Failure)
    assert outcome.reason == "internal"


@pytest.mark.parametrize("acts", [["hang"], ["pass", "hang"]])
async def test_a_call_that_is_cancelled_in_a_gate_is_recorded_once(acts: list[Act]) -> None:
    world = World(acts)
    await world.cancelled()
    assert [outcome for _, outcome in world.book.closed] == [
        Failure("cancelled", "the call was cancelled")
    ]
    assert "dispatch" not in world.events


async def test_a_call_that_is_cancelled_at_its_owner_is_recorded_once_with_what_was_known() -> None:
    world = World(["note"], "hang")
    task = asyncio.create_task(world.run())
    async with asyncio.timeout(10):
        while "dispatch" not in world.events:
            await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task], timeout=10)
    assert task.cancelled()
    ((call, outcome),) = world.book.closed
    assert call.facts == {"gate0": True}
    assert outcome == Failure("cancelled", "the call was cancelled")


@pytest.mark.parametrize(
    ("failing", "events"),
    [
        ("open", ["open"]),
        ("intent", ["open", "gate0", "intent", "close", "settled"]),
        ("on_disk", ["open", "gate0", "intent", "on_disk", "close", "settled"]),
    ],
)
async def test_what_cannot_be_recorded_is_refused_and_never_reaches_the_target(
    failing: str, events: list[str]
) -> None:
    world = World(["pass"], "pass", failing, flush=True)
    assert await world.run() == Refusal("audit_unavailable", f"cannot {failing}")
    assert world.events == events
    assert world.owner.calls == []


@pytest.mark.parametrize("failing", ["close", "settled"])
async def test_an_answer_that_cannot_be_recorded_is_not_given(failing: str) -> None:
    world = World(["pass"], "pass", failing)
    assert await world.run() == Refusal("audit_unavailable", f"cannot {failing}")
    assert len(world.book.closed) == 1


async def test_the_disk_is_waited_for_only_where_the_record_asks_for_it() -> None:
    world = World(flush=True)
    await world.run()
    assert world.events == ["open", "intent", "on_disk", "dispatch", "close", "settled"]
    world = World()
    await world.run()
    assert "on_disk" not in world.events


async def test_an_answer_and_every_event_pass_all_filters_in_order() -> None:
    progress = Event("notifications/progress", {"progress": 1})
    secret = Event("notifications/secret", {})
    world = World(
        filters=[Mark("a", withhold="notifications/secret"), Mark("b")], emits=[progress, secret]
    )
    assert await world.run() == Answer(ANSWER.raw + b"ab")
    assert world.line.sent == [
        Event("notifications/progress", {"progress": 1, "a": True, "b": True})
    ]
    assert world.book.closed[0][1] == Answer(ANSWER.raw + b"ab")


async def test_a_question_of_the_owner_reaches_the_caller_and_comes_back() -> None:
    answers: list[dict[str, Any]] = []

    async def owner(call: Call, back: Back) -> Outcome:
        answers.append(await back.ask(Question("roots/list")))
        return ANSWER

    book = Book()
    await Kernel([], owner, [Mark("a")], book).handle(_call(), Line())
    assert answers == [{"asked": "roots/list"}]


async def test_the_owner_receives_the_call_as_the_last_gate_left_it() -> None:
    class Aim:
        name = "resolve"

        async def __call__(self, call: Call, back: Back) -> Call | Refusal:
            return replace(call, target=Target("srv", "own"))

    book = Book()
    owner = Owner(book.events)
    await Kernel([Aim()], owner, [], book).handle(_call(), Line())
    assert owner.calls[0].target == Target("srv", "own")
    assert book.closed[0][0].target == Target("srv", "own")


@pytest.mark.parametrize("step", ["open", "close"])
async def test_a_record_that_breaks_refuses_the_call(step: str) -> None:
    class Broken(Book):
        def open(self, call: Call) -> Any:
            if step == "open":
                raise OSError("broken")
            return self

        def intent(self, call: Call) -> bool:
            return False

        async def on_disk(self) -> None:
            return None

        def close(self, call: Call, outcome: Outcome) -> Outcome:
            raise OSError("broken")

        async def settled(self) -> None:
            return None

    book = Broken()
    outcome = await Kernel([], Owner(book.events), [], book).handle(_call(), Line())
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "audit_unavailable"


async def test_a_gate_without_a_verdict_lets_nothing_pass() -> None:
    class Mute:
        name = "mute"

        async def __call__(self, call: Call, back: Back) -> Any:
            return None

    book = Book()
    owner = Owner(book.events)
    outcome = await Kernel([Mute()], owner, [], book).handle(_call(), Line())
    assert isinstance(outcome, Failure)
    assert outcome.reason == "internal"
    assert owner.calls == []
    assert book.closed[0][1] == outcome


def test_nobody_can_reach_the_owner_but_through_the_gates() -> None:
    world = World(["refuse"])
    public = [name for name in dir(world.kernel) if not name.startswith("_")]
    assert public == ["handle"]


@given(
    acts=st.lists(st.sampled_from(ENDING), max_size=9),
    owner=st.sampled_from(ENDING),
    failing=st.sets(st.sampled_from(["open", "intent", "on_disk", "close", "settled"])),
    flush=st.booleans(),
)
async def test_each_call_that_begins_ends_exactly_once_in_the_record(
    acts: list[Act], owner: Act, failing: set[str], flush: bool
) -> None:
    """MGP-1.2-5, as far as the kernel goes: one record for each call, whatever happens."""
    world = World(acts, owner, *failing, flush=flush)
    outcome = await world.run()
    assert world.events.count("close") == ("open" not in failing)
    reached = world.events.count("dispatch")
    assert reached == (set(acts) <= {"pass", "note"} and not failing & _before(flush))
    if isinstance(outcome, Answer):
        assert reached == 1
        assert failing <= {"on_disk"}
        assert world.book.closed[0][1] == outcome


def _before(flush: bool) -> set[str]:
    """The steps of the record that come before the owner is asked."""
    return {"open", "intent", "on_disk"} if flush else {"open", "intent"}
