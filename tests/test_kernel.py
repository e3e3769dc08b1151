"""The one way through: the gates in their order, one owner, the filters on the way back."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import (
    Answer,
    Back,
    Call,
    Event,
    Failure,
    Outcome,
    Question,
    Refusal,
    Target,
)
from gatewright.kernel import Kernel
from tests.kernel_parts import ANSWER, Act, Book, Line, Mark, Owner, World, a_call


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
    found = await Kernel([Second()], Owner(book.events), [], book).handle(a_call(), Line())
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
    await Kernel([], owner, [Mark("a")], book).handle(a_call(), Line())
    assert answers == [{"asked": "roots/list"}]


async def test_a_question_passes_all_filters_like_an_event() -> None:
    """GRH-out-1: what a server asks is read by somebody, too."""
    asked: list[Question] = []

    class Asked(Line):
        async def ask(self, question: Question) -> dict[str, Any]:
            asked.append(question)
            return {}

    async def owner(call: Call, back: Back) -> Outcome:
        await back.ask(Question("elicitation/create", {"message": "hello"}, "q1"))
        await back.ask(Question("roots/list"))
        return ANSWER

    book = Book()
    await Kernel([], owner, [Mark("a"), Mark("b")], book).handle(a_call(), Asked())
    assert asked == [
        Question("elicitation/create", {"message": "hello", "a": True, "b": True}, "q1"),
        Question("roots/list", {"a": True, "b": True}),
    ]
    asked.clear()
    await Kernel([], owner, [Mark("a", withhold="roots/list")], book).handle(a_call(), Asked())
    assert [one.method for one in asked] == ["elicitation/create"]
    assert isinstance(book.closed[-1][1], Failure)
    asked.clear()
    await Kernel([], owner, [], book).handle(a_call(), Asked())
    assert asked[1] == Question("roots/list")


async def test_the_owner_receives_the_call_as_the_last_gate_left_it() -> None:
    class Aim:
        name = "resolve"

        async def __call__(self, call: Call, back: Back) -> Call | Refusal:
            return replace(call, target=Target("srv", "own"))

    book = Book()
    owner = Owner(book.events)
    await Kernel([Aim()], owner, [], book).handle(a_call(), Line())
    assert owner.calls[0].target == Target("srv", "own")
    assert book.closed[0][0].target == Target("srv", "own")


@pytest.mark.parametrize("step", ["open", "close"])
async def test_a_record_that_breaks_refuses_the_call(step: str) -> None:
    class Broken(Book):
        spent_s: float | None = None

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
    outcome = await Kernel([], Owner(book.events), [], book).handle(a_call(), Line())
    assert isinstance(outcome, Refusal)
    assert outcome.reason == "audit_unavailable"


class Quick:
    """A gate that answers at once, whatever it was told to say."""

    name = "quick"

    def __init__(self, verdict: Any = None) -> None:
        self.verdict = verdict

    def __call__(self, call: Call, back: Back) -> Any:
        return replace(call, trace_id="quick") if self.verdict is None else self.verdict


class Waiting(Quick):
    """A gate that has to be waited for."""

    name = "waiting"

    async def __call__(self, call: Call, back: Back) -> Any:
        return replace(call, name=f"{call.trace_id}, then waited") if self.verdict is None else None


async def test_gates_that_wait_and_gates_that_do_not_see_what_the_one_before_found() -> None:
    book = Book()
    owner = Owner(book.events)
    await Kernel([Quick(), Waiting(), Quick()], owner, [], book).handle(a_call(), Line())
    assert [one.name for one in owner.calls] == ["quick, then waited"]


@pytest.mark.parametrize("gate", [Waiting("nothing"), Quick("yes"), Quick(ANSWER), Quick(())])
async def test_a_gate_without_a_verdict_lets_nothing_pass(gate: Quick) -> None:
    book = Book()
    owner = Owner(book.events)
    kernel = Kernel([gate], owner, [], book)
    outcome = await kernel.handle(a_call(), Line())
    assert isinstance(outcome, Failure)
    assert outcome.reason == "internal"
    assert owner.calls == []
    assert book.closed[0][1] == outcome
    (verdict,) = await kernel.rehearse(a_call())
    assert verdict.refusal is not None
    assert (verdict.refusal.reason, verdict.refusal.gate) == ("internal", gate.name)


def test_nobody_can_reach_the_owner_but_through_the_gates() -> None:
    world = World(["refuse"])
    public = [
        name
        for name in dir(world.kernel)
        if not name.startswith("_") and callable(getattr(world.kernel, name))
    ]
    assert public == [
        "end_refused",
        "handle",
        "present",
        "rehearse",
        "running",
        "swap",
        "tokens",
        "walk",
    ]


async def test_what_a_filter_held_back_is_told_before_the_answer() -> None:
    class Holds(Mark):
        def rest(self, call: Call) -> Event | None:
            rested.append(call.id)
            return Event("notifications/rest", {}) if len(rested) == 1 else None

    rested: list[str] = []
    world = World(filters=[Mark("a"), Holds("b")], emits=[Event("notifications/first", {})])
    assert await world.run() == Answer(ANSWER.raw + b"ab")
    assert [one.method for one in world.line.sent] == ["notifications/first", "notifications/rest"]
    assert await world.run() == Answer(ANSWER.raw + b"ab")
    assert len(rested) == 2
    assert [one.method for one in world.line.sent][2:] == ["notifications/first"]
