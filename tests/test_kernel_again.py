"""Gates asked again: about calls that run, when grants change, and about calls that are not made."""

from __future__ import annotations

import asyncio
import time

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Event, Outcome, Refusal
from gatewright.kernel import Kernel
from gatewright.secret_scanning.chunks import CHUNK, GAP
from tests import kernel_parts
from tests.kernel_parts import ANSWER, Book, Line, Mark, a_call

REFUSAL = Refusal("access_denied", "ann may not", {"source": "tool_grant"})


class Change:
    """A gate that lets everything pass until it is told otherwise."""

    name = "access"
    refuses = False

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        return self.judge(call) or call

    def judge(self, call: Call) -> Refusal | None:
        """Why not, once told."""
        return REFUSAL if self.refuses else None


class Ends:
    """Ends every call that it is asked about."""

    name = "ends"

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def judge(self, call: Call) -> Refusal | None:
        """Why it ends."""
        return replace(REFUSAL, reason=self._reason)


class Slow:
    """An owner who answers when told, and knows how many wait and how many gave up."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.waiting = 0
        self.cancelled = 0

    async def __call__(self, call: Call, back: Back) -> Outcome:
        self.waiting += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return ANSWER

    async def reached(self, count: int) -> None:
        """Return when so many calls are with the owner."""
        async with asyncio.timeout(10):
            while self.waiting < count:
                await asyncio.sleep(0)


async def test_a_running_call_that_is_refused_now_ends_with_the_refusal() -> None:
    owner, gate, book = Slow(), Change(), Book()
    kernel = Kernel([gate], owner, [Mark("seen")], book)
    task = asyncio.create_task(kernel.handle(a_call(), Line()))
    await owner.reached(1)
    assert kernel.end_refused() == 0
    gate.refuses = True
    assert kernel.end_refused() == 1
    assert kernel.end_refused() == 0  # it is on its way out
    async with asyncio.timeout(10):
        outcome = await task
    said = "the call was ended while it ran: ann may not"
    ended = replace(
        REFUSAL, message=said, gate="access", details={**REFUSAL.details, "sent": True}, once=True
    )
    assert outcome == ended
    assert owner.cancelled == 1
    call, recorded = book.closed[0]
    assert (recorded, call.facts) == (outcome, {"ended_while_running": True})
    assert kernel.in_flight == 0


async def test_calls_that_still_may_go_on_are_left_alone() -> None:
    class Even(Change):
        def judge(self, call: Call) -> Refusal | None:
            return REFUSAL if self.refuses and call.name == "odd" else None

    owner, gate = Slow(), Even()
    kernel = Kernel([gate], owner, [], Book())
    calls = [replace(a_call(), name=name) for name in ("even", "odd", "even")]
    tasks = [asyncio.create_task(kernel.handle(call, Line())) for call in calls]
    await owner.reached(3)
    gate.refuses = True
    assert kernel.end_refused() == 1
    owner.go.set()
    async with asyncio.timeout(10):
        kinds = [type(one) for one in await asyncio.gather(*tasks)]
    assert kinds == [Answer, Refusal, Answer]


async def test_a_caller_who_gave_up_at_the_same_time_is_not_answered() -> None:
    owner, gate, book = Slow(), Change(), Book()
    kernel = Kernel([gate], owner, [], book)
    task = asyncio.create_task(kernel.handle(a_call(), Line()))
    await owner.reached(1)
    gate.refuses = True
    kernel.end_refused()
    task.cancel()
    await asyncio.wait([task], timeout=10)
    assert task.cancelled()
    assert len(book.closed) == 1


async def test_a_call_that_changes_the_grants_does_not_end_itself() -> None:
    gate = Change()

    async def owner(call: Call, back: Back) -> Outcome:
        gate.refuses = True
        assert kernel.end_refused() == 0
        return ANSWER

    kernel = Kernel([gate], owner, [], Book())
    async with asyncio.timeout(10):
        assert await kernel.handle(a_call(), Line()) == ANSWER


class Stubborn(Slow):
    """An owner who says something when it is cancelled, and may answer all the same."""

    def __init__(self, *, answers: bool) -> None:
        super().__init__()
        self.answers = answers

    async def __call__(self, call: Call, back: Back) -> Outcome:
        back.emit(Event("before", {}))
        try:
            return await super().__call__(call, back)
        except asyncio.CancelledError:
            back.emit(Event("after", {}))
            if not self.answers:
                raise
            return ANSWER


class Keeps(Mark):
    """A filter that still held something, as each does that looks for what begins in one message and ends in another."""

    asked = 0

    def rest(self, call: Call) -> Event | None:
        self.asked += 1
        return Event("rest", {})


@pytest.mark.parametrize("answers", [False, True])
async def test_a_refused_caller_hears_nothing_more_of_the_call(answers: bool) -> None:
    owner, gate, line, keeps = Stubborn(answers=answers), Change(), Line(), Keeps("keeps")
    kernel = Kernel([gate], owner, [keeps], Book())
    task = asyncio.create_task(kernel.handle(a_call(), line))
    await owner.reached(1)
    gate.refuses = True
    kernel.end_refused()
    async with asyncio.timeout(10):
        outcome = await task
    assert isinstance(outcome, Refusal)
    assert (outcome.reason, task.cancelling(), keeps.asked) == (REFUSAL.reason, 0, 1)
    assert [one.method for one in line.sent] == ["before"]


class Holds(Mark):
    """A filter that holds text back, and was not done with some more."""

    def event(self, call: Call, event: Event) -> Event | None:
        return None

    def rest(self, call: Call) -> Event | None:
        return Event(*self.held)

    held: tuple[str, dict[str, object]] = (CHUNK, {"content": {"type": "text", "text": "held"}})


class Misses(Holds):
    held = (GAP, {"request_id": "c1", "chars": 7})


@pytest.mark.parametrize("reason", [REFUSAL.reason, "internal", "timeout", "cancelled"])
@pytest.mark.parametrize(("held", "chars"), [(Holds, 4), (Misses, 7)])
async def test_a_refused_caller_is_told_how_much_text_does_not_come(
    held: type[Holds], chars: int, reason: str
) -> None:
    """A drain or an operator's stop takes nothing back: what was held of the text so far goes on."""

    class Talks(Slow):
        async def __call__(self, call: Call, back: Back) -> Outcome:
            self.back = back
            back.emit(Event(CHUNK, {"content": {"type": "text", "text": "held"}}))
            return await super().__call__(call, back)

    owner, line = Talks(), Line()
    kernel = Kernel([], owner, [held("holds")], Book())
    task = asyncio.create_task(kernel.handle(a_call(), line))
    await owner.reached(1)
    kernel.end_refused([Ends(reason)])
    owner.back.emit(Event(CHUNK, {"content": {"type": "text", "text": "later"}}))
    assert isinstance(await task, Refusal)
    kept = reason in ("timeout", "cancelled")
    gap = Event(GAP, {"request_id": "c1", "chars": len("later") + (0 if kept else chars)})
    assert line.sent == ([Event(*held.held), gap] if kept else [gap])


async def test_what_an_owner_says_between_the_refusal_and_its_cancellation_does_not_pass() -> None:
    class Talks(Slow):
        async def __call__(self, call: Call, back: Back) -> Outcome:
            self.back = back
            return await super().__call__(call, back)

    owner, gate, line = Talks(), Change(), Line()
    kernel = Kernel([gate], owner, [], Book())
    task = asyncio.create_task(kernel.handle(a_call(), line))
    await owner.reached(1)
    gate.refuses = True
    kernel.end_refused()
    owner.back.emit(Event("in between", {}))
    await task
    assert line.sent == []


@pytest.mark.parametrize("reason", [REFUSAL.reason, "timeout", "cancelled", "internal"])
async def test_a_call_that_is_refused_before_it_was_sent_does_not_say_that_it_ran(
    reason: str,
) -> None:
    """While its intent goes to the disk: whatever ends it, it may be made again."""

    class Page(kernel_parts.Page):
        async def on_disk(self) -> None:
            written.set()
            await asyncio.Event().wait()

    class Disk(Book):
        def open(self, call: Call) -> kernel_parts.Page:
            return Page(self)

    written, owner = asyncio.Event(), Slow()
    kernel = Kernel([], owner, [], Disk(flush=True))
    task = asyncio.create_task(kernel.handle(a_call(), Line()))
    async with asyncio.timeout(10):
        await written.wait()
        assert kernel.end_refused([Ends(reason)]) == 1
        outcome = await task
    assert outcome == replace(REFUSAL, reason=reason, gate="ends")
    assert owner.waiting == 0


async def test_a_judge_that_breaks_ends_the_call_that_it_judges_and_no_other() -> None:
    class Odd(Change):
        def judge(self, call: Call) -> Refusal | None:
            if self.refuses and call.name == "odd":
                raise RuntimeError("no store")
            return REFUSAL if self.refuses and call.name == "refused" else None

    owner, gate = Slow(), Odd()
    kernel = Kernel([gate], owner, [], Book())
    calls = [replace(a_call(), name=name) for name in ("even", "odd", "refused", "odd", "even")]
    tasks = [asyncio.create_task(kernel.handle(call, Line())) for call in calls]
    await owner.reached(5)
    gate.refuses = True
    kernel.end_refused()
    async with asyncio.timeout(10):
        while (
            sum(one.done() for one in tasks) < 3
        ):  # some are judged in a later turn where the machine is busy
            await asyncio.sleep(0)
        assert [one.done() for one in tasks] == [False, True, True, True, False]
        owner.go.set()
        found = await asyncio.gather(*tasks)
    reasons = [getattr(one, "reason", "") for one in found]
    assert reasons == ["", "internal", REFUSAL.reason, "internal", ""]


async def test_others_have_their_turn_while_many_calls_are_judged_again() -> None:
    """And what is over meanwhile is left alone: the task that made it may be at something else."""

    class Thorough(Change):
        def judge(self, call: Call) -> Refusal | None:
            if self.refuses:
                time.sleep(0.005)
            return super().judge(call)

    owner, gate, over = Slow(), Thorough(), asyncio.Event()
    kernel = Kernel([gate], owner, [], Book())

    async def caller() -> tuple[Outcome, bool]:
        said = await kernel.handle(a_call(), Line())
        await over.wait()
        return said, True

    tasks = [asyncio.create_task(caller()) for _ in range(50)]
    await owner.reached(50)
    gate.refuses = True
    assert kernel.end_refused() == 1
    turns = 0
    while kernel.in_flight > 25:
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 20
    owner.go.set()
    while kernel.in_flight:
        await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)
    over.set()
    async with asyncio.timeout(10):
        found = await asyncio.gather(*tasks)
    assert {type(said) for said, _ in found} == {Answer, Refusal}
