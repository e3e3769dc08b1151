"""What kernel tests are made of: a record that can fail, gates, an owner, a line, filters."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

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
    Unrecorded,
)
from gatewright.kernel import Kernel

__all__ = [
    "ANSWER",
    "ENDING",
    "Act",
    "Book",
    "Line",
    "Mark",
    "Owner",
    "World",
    "a_call",
]

ANSWER = Answer(b'{"content":[]}')

Act = Literal["pass", "note", "refuse", "raise", "unrecorded", "hang"]
ENDING: list[Act] = ["pass", "note", "refuse", "raise", "unrecorded"]


def a_call() -> Call:
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
        self.spent_s: float | None = None

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
        self.spent_s = 0.25
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
            return await self.kernel.handle(a_call(), self.line)

    async def cancelled(self) -> None:
        """Handle one call until it hangs, then cancel it."""
        task = asyncio.create_task(self.kernel.handle(a_call(), self.line))
        async with asyncio.timeout(10):
            while not task.done() and self.events[-1:] in ([], ["open"]):
                await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=10)
        assert task.cancelled()
