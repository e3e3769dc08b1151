"""Another policy while calls run: each call is judged to its end by the one it began with."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Event, Outcome, Refusal
from gatewright.kernel import Kernel
from tests.kernel_parts import Book, Line, a_call


class Waits:
    """A gate that notes whose it is, before and after it was held up."""

    name = "waits"

    def __init__(self, word: str, door: asyncio.Event) -> None:
        self.word = word
        self.door = door

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        await self.door.wait()
        return replace(call, facts={**call.facts, "gate": self.word})


class Says:
    """An owner that answers with its word and with what the gates found out."""

    def __init__(self, word: str) -> None:
        self.word = word

    async def __call__(self, call: Call, back: Back) -> Outcome:
        return Answer(f"{call.facts['gate']} {self.word}".encode())


class Adds:
    """A filter that adds its word."""

    name = "adds"

    def __init__(self, word: str) -> None:
        self.word = word

    def outcome(self, call: Call, outcome: Outcome) -> Outcome:
        assert type(outcome) is Answer
        return replace(outcome, raw=outcome.raw + b" " + self.word.encode())

    def event(self, call: Call, event: Event) -> Event | None:
        return event


def parts(word: str, door: asyncio.Event) -> tuple[list[Waits], Says, list[Adds]]:
    return [Waits(word, door)], Says(word), [Adds(word)]


async def test_a_call_in_flight_keeps_gates_owner_and_filters_of_its_beginning() -> None:
    door = asyncio.Event()
    kernel = Kernel(*parts("old", door), Book())
    first = asyncio.create_task(kernel.handle(a_call(), Line()))
    await asyncio.sleep(0)
    kernel.swap(*parts("new", door))
    second = asyncio.create_task(kernel.handle(a_call(), Line()))
    await asyncio.sleep(0)
    door.set()
    async with asyncio.timeout(5):
        assert await first == Answer(b"old old old")
        assert await second == Answer(b"new new new")


async def test_the_old_policy_is_gone_with_the_last_call_that_began_with_it() -> None:
    door = asyncio.Event()
    kernel = Kernel(*parts("old", door), Book())
    running = [asyncio.create_task(kernel.handle(a_call(), Line())) for _ in range(2)]
    await asyncio.sleep(0)
    before = kernel.swap(*parts("new", door))
    assert before() is not None
    running.pop().cancel()
    await asyncio.sleep(0)
    assert before() is not None
    door.set()
    async with asyncio.timeout(5):
        await running.pop()
    assert before() is None


async def test_a_policy_without_calls_is_gone_at_once() -> None:
    door = asyncio.Event()
    kernel = Kernel(*parts("old", door), Book())
    assert kernel.swap(*parts("new", door))() is None
