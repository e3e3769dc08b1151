"""Access tokens in use: looked at again while a call runs or somebody listens, and what ends then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Caller, Outcome, Refusal
from gatewright.identity import recheck
from gatewright.identity.recheck import Rechecking
from gatewright.kernel import Kernel
from tests.gate_parts import a_call
from tests.kernel_parts import Book, Line
from tests.test_kernel_again import Slow

BAD = Refusal("auth_failed", "the token is bad")
ENDED = Refusal("auth_expired", "the token has expired")
AWAY = Refusal("issuer_unavailable", "the issuer is away")
ALICE = Caller("corp:alice", token=True)


class Known:
    """What is known of tokens: `due` are those to look at, `refused` what then comes of it."""

    def __init__(self) -> None:
        self.due: set[str] = set()
        self.refused: dict[str, Refusal] = {}
        self.broken: set[str] = set()
        self.silent: set[str] = set()
        self.over: dict[str, Refusal] = {}
        self.asked: list[str] = []

    def is_due(self, credential: str) -> bool:
        return credential in self.due

    async def renew(self, credential: str) -> Refusal | None:
        self.asked.append(credential)
        if credential in self.silent:
            await asyncio.get_running_loop().create_future()
        if credential in self.broken:
            raise RuntimeError(credential)
        return self.refused.get(credential)

    def lapsed(self, credential: str) -> Refusal | None:
        return self.over.get(credential)


class World:
    """A kernel whose calls wait, and who listens."""

    def __init__(self) -> None:
        self.known: Known | None = Known()
        self.owner = Slow()
        self.kernel = Kernel([], self.owner, [], Book())
        self.heard: set[str] = set()
        self.rechecking = Rechecking(lambda: self.known, self.kernel, lambda: self.heard)

    @asynccontextmanager
    async def calls(
        self, *tokens: str, caller: Caller = ALICE
    ) -> AsyncIterator[list[asyncio.Task[Outcome]]]:
        """A call that runs, with each of these."""
        made = [replace(a_call(caller=caller), credential=one) for one in tokens]
        tasks = [asyncio.create_task(self.kernel.handle(one, Line())) for one in made]
        await self.owner.reached(len(tasks))
        yield tasks
        self.owner.go.set()
        await asyncio.wait(tasks, timeout=10)


async def _kinds(tasks: list[asyncio.Task[Outcome]]) -> list[type]:
    async with asyncio.timeout(10):
        return [type(one) for one in await asyncio.gather(*tasks)]


async def test_a_call_ends_when_its_token_is_good_no_more_and_no_other_does() -> None:
    world = World()
    assert world.known is not None
    async with world.calls("good", "gone", "early") as tasks:
        world.known.due |= {"good", "gone"}
        world.known.refused |= {"gone": BAD, "early": BAD}
        await world.rechecking.look()
        async with asyncio.timeout(10):
            outcome = await tasks[1]
        said = "the call was ended while it ran: the token is bad"
        assert outcome == replace(
            BAD, message=said, gate="authenticate", details={"sent": True}, once=True
        )
        assert world.owner.cancelled == 1
        assert sorted(world.known.asked) == ["gone", "good"]
        world.owner.go.set()
        assert await _kinds([tasks[0], tasks[2]]) == [Answer, Answer]


async def test_a_token_that_comes_to_its_end_while_it_is_looked_at_ends_no_call() -> None:
    """Its owner cannot show the next one in the middle of a call."""
    world = World()
    assert world.known is not None
    world.heard.add("over")
    async with world.calls("over", "gone") as tasks:
        world.known.due |= {"over", "gone"}
        world.known.refused |= {"over": ENDED, "gone": BAD}
        for _ in range(2):
            await world.rechecking.look()
        world.owner.go.set()
        assert await _kinds(tasks) == [Answer, Refusal]
    assert world.known.asked.count("over") >= 1


async def test_keys_of_our_own_are_nobody_s_to_ask_about() -> None:
    world = World()
    assert world.known is not None
    world.known.due.add("gw_key")
    world.known.refused["gw_key"] = BAD
    async with world.calls("gw_key", caller=Caller("bot")) as tasks:
        await world.rechecking.look()
        world.owner.go.set()
        assert await _kinds(tasks) == [Answer]
    assert world.known.asked == []


@pytest.mark.parametrize("trouble", ["silent", "broken"])
async def test_a_token_of_which_nobody_knows_any_more_is_refused(
    monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """Fail closed, and only then: what is still believed goes on."""
    monkeypatch.setattr(recheck, "PATIENCE_S", 0.05)
    world = World()
    assert world.known is not None
    getattr(world.known, trouble).update({"old", "fresh"})
    world.known.due |= {"old", "fresh"}
    world.known.over["old"] = AWAY
    async with world.calls("old", "fresh") as tasks:
        await world.rechecking.look()
        async with asyncio.timeout(10):
            outcome = await tasks[0]
        assert isinstance(outcome, Refusal)
        assert outcome.reason == "issuer_unavailable"
        world.owner.go.set()
        assert await _kinds(tasks[1:]) == [Answer]


async def test_who_listens_with_a_bad_token_is_asked_about_once() -> None:
    world = World()
    assert world.known is not None
    world.heard |= {"gone", "away"}
    world.known.due |= world.heard
    world.known.refused |= {"gone": BAD, "away": AWAY}
    for _ in range(3):
        await world.rechecking.look()
    assert sorted(world.known.asked) == ["away", "away", "away", "gone"]
    world.heard.clear()
    await world.rechecking.look()
    world.heard.add("gone")
    await world.rechecking.look()
    assert world.known.asked.count("gone") == 2, "somebody else may show it again"


async def test_without_issuers_nobody_is_asked_and_a_defect_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recheck, "EVERY_S", 0)
    world = World()
    known, world.known = world.known, None
    assert known is not None
    world.heard.add("one")
    known.due.add("one")
    await world.rechecking.look()
    turns = asyncio.Semaphore(0)

    def tokens() -> Known | None:
        turns.release()
        if len(known.asked) < 2:
            known.asked.append("a defect")
            raise RuntimeError("a defect")
        return known

    rechecked = Rechecking(tokens, world.kernel, lambda: world.heard)
    task = asyncio.create_task(rechecked.follow())
    async with asyncio.timeout(10):
        for _ in range(4):
            await turns.acquire()
    task.cancel()
    await asyncio.wait([task], timeout=10)
    assert known.asked[:3] == ["a defect", "a defect", "one"]
