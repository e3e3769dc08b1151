"""Hooks of the kernel: around every call, around the dispatch of each policy, and at the end of each call that began."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.call_policy import Dispatch
from gatewright.kernel import Further, Hooks, Kernel
from tests.kernel_parts import ANSWER, Book, Line, Mark, Owner, Step, a_call


class Seen:
    """Hooks that note what they see, in one list."""

    def __init__(self, name: str, events: list[str]) -> None:
        self.name = name
        self.events = events
        self.ends: list[tuple[Call, Outcome, float | None]] = []
        self.hooks = Hooks((self.around,), (self.sent,), (self.ended,))

    def around(self, call: Call, back: Back, further: Further) -> Coroutine[Any, Any, Outcome]:
        self.events.append(f"{self.name} before")
        return self._after(further(replace(call, name=call.name + self.name), back))

    async def _after(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        outcome = await work
        self.events.append(f"{self.name} after")
        return outcome

    def sent(self, inner: Dispatch) -> Dispatch:
        self.events.append(f"{self.name} wraps")

        async def seen(call: Call, back: Back) -> Outcome:
            self.events.append(f"{self.name} sends")
            return await inner(call, back)

        return seen

    def ended(self, call: Call, outcome: Outcome, spent_s: float | None) -> None:
        self.events.append(f"{self.name} ended")
        self.ends.append((call, outcome, spent_s))


async def test_the_first_hook_is_outermost_and_the_record_is_inside_of_all() -> None:
    book = Book()
    one, two = Seen("1", book.events), Seen("2", book.events)
    kernel = Kernel([], Owner(book.events), [], book, Hooks.of(one.hooks, Hooks(), two.hooks))
    book.events.clear()
    assert await kernel.handle(a_call(), Line()) == ANSWER
    assert book.events == [
        *("1 before", "2 before", "open", "intent", "1 sends", "2 sends", "dispatch", "close"),
        *("1 ended", "2 ended", "settled", "2 after", "1 after"),
    ]
    assert [call.name for call, _ in book.closed] == ["x12"]


async def test_what_is_walked_is_seen_by_no_hook_around() -> None:
    """So that a call that the gateway makes itself is no task, and no span of a caller's."""
    book = Book()
    one = Seen("1", book.events)
    kernel = Kernel([], Owner(book.events), [], book, one.hooks)
    book.events.clear()
    await kernel.walk(a_call(), Line())
    assert book.events == ["open", "intent", "1 sends", "dispatch", "close", "1 ended", "settled"]


async def test_the_dispatch_is_wrapped_once_for_each_policy() -> None:
    book = Book()
    one = Seen("1", book.events)
    kernel = Kernel([], Owner(book.events), [], book, one.hooks)
    for _ in range(2):
        await kernel.handle(a_call(), Line())
    assert book.events.count("1 wraps") == 1
    kernel.swap([], Owner(book.events), [Mark("a")])
    assert await kernel.handle(a_call(), Line()) == Answer(ANSWER.raw + b"a")
    assert (book.events.count("1 wraps"), book.events.count("1 sends")) == (2, 3)


@pytest.mark.parametrize(
    ("failing", "reason", "spent_s"),
    [((), "", 0.25), (("close",), "audit_unavailable", None), (("settled",), "", 0.25)],
)
async def test_the_end_is_told_with_what_the_caller_sees_and_the_time_that_was_recorded(
    failing: tuple[str, ...], reason: str, spent_s: float | None
) -> None:
    book = Book(*failing)
    one = Seen("1", book.events)
    kernel = Kernel([], Owner(book.events), [], book, one.hooks)
    await kernel.handle(a_call(), Line())
    ((call, outcome, spent),) = one.ends
    assert (call.name, getattr(outcome, "reason", ""), spent) == ("x1", reason, spent_s)
    assert kernel.in_flight == 0


async def test_a_call_that_could_not_begin_has_no_end() -> None:
    book = Book("open")
    one = Seen("1", book.events)
    found = await Kernel([], Owner(book.events), [], book, one.hooks).handle(a_call(), Line())
    assert isinstance(found, Refusal)
    assert one.ends == []


async def test_a_refused_call_ends_without_being_sent() -> None:
    book = Book()
    one = Seen("1", book.events)
    gates = [Step("gate", "refuse", book.events)]
    await Kernel(gates, Owner(book.events), [], book, one.hooks).handle(a_call(), Line())
    assert "1 sends" not in book.events
    ((_, outcome, _),) = one.ends
    assert isinstance(outcome, Refusal)


async def test_a_hook_may_answer_by_itself() -> None:
    async def never(call: Call, back: Back, further: Further) -> Outcome:
        return Failure("internal")

    book = Book()
    kernel = Kernel([], Owner(book.events), [], book, Hooks((never,)))
    assert await kernel.handle(a_call(), Line()) == Failure("internal")
    assert book.events == []


def test_without_hooks_nothing_stands_before_the_walk() -> None:
    kernel = Kernel([], Owner([]), [], Book())
    assert kernel.handle == kernel.walk
    assert Hooks.of(Hooks(), Hooks()) == Hooks()
    assert not any(Hooks())


async def test_a_call_goes_on_as_the_one_that_is_meant_also_where_it_is_rehearsed() -> None:
    class Seen:
        name = "seen"
        names: ClassVar[list[str]] = []

        def __call__(self, call: Call, back: Back) -> Call:
            self.names.append(call.name)
            return call

    def named(name: str) -> Callable[[Call], Call]:
        return lambda call: replace(call, name=call.name + name)

    kernel = Kernel([Seen()], Owner([]), [], Book(), Hooks(meant=(named("a"), named("b"))))
    one = replace(a_call(), name="x")
    await kernel.handle(one, Line())
    await kernel.rehearse(one)
    assert Seen.names == ["xab", "xab"]


def test_hooks_that_do_not_say_when_they_do_nothing_act_on_prepared_calls_too() -> None:
    kernel = Kernel([], Owner([]), [], Book(), Seen("1", []).hooks)
    (stands,) = kernel.prepared._hooks
    assert stands(a_call()) is None
