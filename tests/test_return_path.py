"""Events and questions pass the filters in their order, also where a filter needs time for one of them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable
from typing import Any

import pytest

from gatewright import return_path
from gatewright.call import Call, CannotAsk, Event, Outcome, Question
from gatewright.return_path import MOST, MOST_BYTES, FilteredBack
from tests.kernel_parts import a_call


class Heard:
    """The caller's side: what reaches it, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.questions: list[Question] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)

    async def ask(self, question: Question) -> dict[str, Any]:
        self.questions.append(question)
        return {"said": len(self.events)}


class Marks:
    """A filter that writes its name into each event; those called `slow` wait for `ready`, those called `gone` do not pass."""

    def __init__(self, name: str, ready: asyncio.Event) -> None:
        self.name = name
        self._ready = ready

    def outcome(self, call: Call, outcome: Outcome) -> Outcome:
        return outcome

    def event(self, call: Call, event: Event) -> Event | Awaitable[Event | None] | None:
        if event.method == "gone":
            return None
        marked = Event(event.method, {"by": [*event.params.get("by", ()), self.name]})
        return self._later(marked) if event.method.startswith("slow") else marked

    async def _later(self, event: Event) -> Event | None:
        await self._ready.wait()
        return None if event.method == "slow and gone" else event


def a_way(*names: str) -> tuple[FilteredBack, Heard, asyncio.Event]:
    heard, ready = Heard(), asyncio.Event()
    filters = [Marks(name, ready) for name in names]
    return FilteredBack(a_call(), heard, filters), heard, ready


async def test_what_needs_no_time_arrives_at_once_and_in_order() -> None:
    way, heard, _ = a_way("a", "b")
    for name in ("one", "gone", "two"):
        way.emit(Event(name, {}))
    assert heard.events == [Event("one", {"by": ["a", "b"]}), Event("two", {"by": ["a", "b"]})]
    assert way.late is None


async def test_an_event_that_needs_time_holds_up_those_after_it_and_keeps_its_place() -> None:
    way, heard, ready = a_way("a", "b")
    for name in ("one", "slow", "two", "slow and gone", "gone", "three"):
        way.emit(Event(name, {}))
    await asyncio.sleep(0)
    assert [one.method for one in heard.events] == ["one"]
    ready.set()
    await way.settled()
    assert [one.method for one in heard.events] == ["one", "slow", "two", "three"]
    assert all(one.params == {"by": ["a", "b"]} for one in heard.events)


async def test_a_question_waits_for_the_events_before_it() -> None:
    way, heard, ready = a_way("a")
    way.emit(Event("slow", {}))
    asked = asyncio.ensure_future(way.ask(Question("elicitation/create", {"message": "?"})))
    await asyncio.sleep(0)
    assert heard.questions == []
    ready.set()
    assert await asked == {"said": 1}
    assert [one.params for one in heard.questions] == [{"by": ["a"]}]


async def test_a_question_that_no_filter_lets_pass_is_not_asked() -> None:
    way, heard, ready = a_way("a")
    ready.set()
    with pytest.raises(CannotAsk):
        await way.ask(Question("gone"))
    with pytest.raises(CannotAsk):
        await way.ask(Question("slow and gone"))
    assert heard.questions == []


async def test_what_has_not_passed_when_the_call_ends_is_not_told() -> None:
    way, heard, ready = a_way("a")
    way.emit(Event("slow", {}))
    way.emit(Event("one", {}))
    await asyncio.sleep(0)
    way.close()
    ready.set()
    assert way.late is not None
    with pytest.raises(asyncio.CancelledError):
        await way.late
    assert heard.events == []


async def test_more_events_than_may_wait_end_the_call_by_name() -> None:
    way, heard, ready = a_way("a")
    way.emit(Event("slow", {}))
    for number in range(MOST + 5):
        way.emit(Event("quick", {"number": number}))
    ready.set()
    flaw = await way.settled()
    assert flaw is not None
    assert (flaw.reason, flaw.details) == ("output_invalid", {"rule": "too_many_events"})
    assert len(heard.events) == MOST + 1


async def test_more_bytes_than_may_wait_end_the_call_too() -> None:
    way, heard, ready = a_way("a")
    way.emit(Event("slow", {}))
    way.emit(Event("quick", {"text": "x" * MOST_BYTES}))
    ready.set()
    assert await way.settled() is not None
    assert [one.method for one in heard.events] == ["slow"]


async def test_events_after_a_slow_one_has_passed_go_at_once_again() -> None:
    way, heard, ready = a_way("a")
    ready.set()
    way.emit(Event("slow", {}))
    assert await way.settled() is None
    way.emit(Event("quick", {}))
    assert [one.method for one in heard.events] == ["slow", "quick"]


async def test_who_gives_a_question_up_ends_nothing_that_others_wait_for() -> None:
    way, heard, ready = a_way("a")
    way.emit(Event("slow", {}))
    asked = asyncio.ensure_future(way.ask(Question("elicitation/create")))
    await asyncio.sleep(0)
    asked.cancel()
    await asyncio.wait([asked])
    settled = asyncio.ensure_future(way.settled())
    ready.set()
    assert await settled is None
    assert [one.method for one in heard.events] == ["slow"]
    assert heard.questions == []


async def test_a_question_behind_an_event_of_a_call_that_has_ended_cannot_be_asked() -> None:
    way, heard, _ = a_way("a")
    way.emit(Event("slow", {}))
    asked = asyncio.ensure_future(way.ask(Question("elicitation/create")))
    await asyncio.sleep(0)
    way.close()
    with pytest.raises(CannotAsk, match="the call is over"):
        await asked
    assert heard.questions == []


async def test_what_is_said_of_a_call_that_is_over_meets_no_filter() -> None:
    """A thread of a tool says more than its call is long. What a filter would keep of it, nobody would ask for any more."""
    way, heard, _ = a_way("a")
    way.close()
    way.emit(Event("one", {}))
    with pytest.raises(CannotAsk):
        await way.ask(Question("elicitation/create", {"message": "?"}))
    assert (heard.events, heard.questions) == ([], [])


async def test_what_waits_is_no_work_for_the_garbage_collector() -> None:
    """Lists in lists, which a server makes of two bytes each: as objects they would be looked at in every full collection."""
    way, heard, ready = a_way("a")
    way.emit(Event("slow", {}))
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        way.emit(Event("deep", {"data": [[[1]] for _ in range(1000)]}))
    gc.collect()
    assert len(gc.get_objects()) - before < 1000
    ready.set()
    assert await way.settled() is None
    assert len(heard.events) == 21
    assert all(one.params == {"by": ["a"]} for one in heard.events)


async def test_what_a_tool_of_this_process_says_is_not_counted_when_it_waited() -> None:
    way, heard, ready = a_way("a")
    way.emit(Event("slow", {}))
    way.emit(Event("decimals", {"by": [], "data": [0.1] * 60_000}))
    ready.set()
    assert await way.finished() is None
    assert [one.method for one in heard.events] == ["slow", "decimals"]


async def test_a_message_that_is_no_text_ends_the_call_and_breaks_nothing() -> None:
    way, _, ready = a_way("a")
    way.emit(Event("slow", {}))
    way.emit(Event("half", {"data": "\ud800"}))
    ready.set()
    flaw = await way.finished()
    assert flaw is not None
    assert flaw.reason == "output_invalid"


async def test_what_is_waited_for_behind_a_call_has_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(return_path, "LATE_S", 0.01)
    way, _, _ = a_way("a")
    way.emit(Event("slow", {}))
    flaw = await way.finished()
    assert flaw is not None
    assert flaw.details["rule"] == "too_costly"
    way.close()


async def test_what_is_said_while_a_question_is_cleaned_comes_behind_it() -> None:
    way, heard, ready = a_way("a")
    order: list[str] = []

    class Notes(Heard):
        def emit(self, event: Event) -> None:
            order.append(event.method)

        async def ask(self, question: Question) -> dict[str, Any]:
            order.append(question.method)
            await asyncio.sleep(0)
            return {}

    way._back = Notes()
    asked = asyncio.ensure_future(way.ask(Question("slow", {})))
    await asyncio.sleep(0)
    way.emit(Event("one", {}))
    second = asyncio.ensure_future(way.ask(Question("quick", {})))
    await asyncio.sleep(0)
    way.emit(Event("two", {}))
    ready.set()
    await asyncio.gather(asked, second)
    await way.settled()
    assert order == ["slow", "one", "two", "quick"]
    assert heard.events == []


async def test_a_question_that_is_being_cleaned_when_the_call_ends_is_not_put() -> None:
    way, heard, _ = a_way("a")
    asked = asyncio.ensure_future(way.ask(Question("slow", {})))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    way.close()
    with pytest.raises(CannotAsk, match="over"):
        await asked
    assert heard.questions == []


async def test_who_asks_may_leave_while_the_question_is_cleaned() -> None:
    way, heard, ready = a_way("a")
    asked = asyncio.ensure_future(way.ask(Question("slow", {})))
    await asyncio.sleep(0)
    way.emit(Event("one", {}))
    asked.cancel()
    ready.set()
    await way.settled()
    assert [one.method for one in heard.events] == ["one"]
    assert heard.questions == []


async def test_a_filter_that_breaks_at_a_question_costs_that_question_alone() -> None:
    class Odd(Marks):
        def event(self, call: Call, event: Event) -> Event | Awaitable[Event | None] | None:
            return self._broken() if event.method == "odd" else event

        async def _broken(self) -> Event | None:
            await asyncio.sleep(0)
            raise RuntimeError("broken")

    heard = Heard()
    way = FilteredBack(a_call(), heard, [Odd("a", asyncio.Event())])
    asked = asyncio.ensure_future(way.ask(Question("odd", {})))
    await asyncio.sleep(0)
    way.emit(Event("one", {}))
    with pytest.raises(RuntimeError, match="broken"):
        await asked
    assert await way.settled() is None
    assert [one.method for one in heard.events] == ["one"]


async def test_what_is_nested_too_deeply_to_wait_ends_the_call_by_name() -> None:
    way, _, ready = a_way("a")
    way.emit(Event("slow", {}))
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    way.emit(Event("deep", {"x": deep}))
    ready.set()
    flaw = await way.settled()
    assert flaw is not None
    assert flaw.reason == "output_invalid"
    while deep:
        deep = deep.pop()


async def test_a_question_of_a_call_that_ends_as_it_is_clean_is_not_put() -> None:
    class Ends(Marks):
        async def _later(self, event: Event) -> Event | None:
            asyncio.get_running_loop().call_soon(way.close)
            return event

    heard = Heard()
    way = FilteredBack(a_call(), heard, [Ends("a", asyncio.Event())])
    with pytest.raises(CannotAsk, match="over"):
        await way.ask(Question("slow", {}))
    assert heard.questions == []
