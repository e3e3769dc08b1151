"""What the gateway says of proposals that are put to it: what it costs, and whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from gatewright.call import Call, Refusal
from gatewright.mcp.wire import jsonrpc
from gatewright.rehearsal import Verdict
from gatewright.rooms import gateway_participant
from gatewright.rooms.participants import CallError, Participant
from gatewright.rooms.participants.participant import Heard
from tests.dialects.client import within
from tests.rooms.test_gateway_participant import DIG, Stage, about, stage


async def test_a_proposal_is_answered_with_what_the_gates_would_say_of_each_who_could_fulfil() -> (
    None
):
    """Nothing is called; who may not send the request is not asked about."""
    async with (
        stage() as scene,
        scene.guest("ann") as ann,
        scene.guest("bob"),
        scene.guest("eve") as eve,
    ):
        scene.refused["bob"] = Refusal("access_denied", "bob has no grant")
        pending = eve.propose("tools/call", DIG, to=["house"])
        assert (
            await about(ann, pending.id) == "dry run of tools/call:dig: passes every gate for ann"
        )
        assert [call.caller.id for call in scene.rehearsed] == ["ann", "bob"]
        assert scene.house.script.calls == []
        elsewhere = eve.propose("tools/call", DIG, to=["ann"])
        odd = eve.propose("ping", to=["house"])
        assert "nothing that gates judge" in await about(ann, odd.id)
        assert elsewhere.proposal.status == "pending"


async def test_what_the_gates_say_of_somebody_nobody_else_hears() -> None:
    """Else whoever proposes learns which tools are there that it does not see, and who may call them."""
    async with (
        stage() as scene,
        scene.guest("ann") as ann,
        scene.guest("bob") as bob,
        scene.guest("eve") as eve,
    ):
        heard: dict[str, list[str]] = {"ann": [], "bob": [], "eve": []}
        for who in (ann, bob, eve):
            who.watchers.append(_noting(heard[who.id]))
        scene.refused["bob"] = Refusal("access_denied", "bob has no grant")
        eve.propose("tools/call", DIG, to=["house"])
        async with asyncio.timeout(20):
            while not all("dry run of tools/call:dig: passes" in said for said in heard.values()):
                await asyncio.sleep(0.001)
        all_hear = "dry run of tools/call:dig: passes"
        refused = (
            "dry run of tools/call:dig: refused for bob: access (access_denied): bob has no grant"
        )
        assert heard == {
            "ann": ["dry run of tools/call:dig: passes every gate for ann", all_hear],
            "bob": [refused, all_hear],
            "eve": [all_hear],
        }


def _noting(said: list[str]) -> Callable[[Heard], None]:
    def note(heard: Heard) -> None:
        if heard.envelope.kind == "chat":
            said.append(jsonrpc.decode(heard.envelope.payload)["text"])

    return note


class Slow:
    """Rehearsals that wait until they may go on; how many were under way at once, and who pays."""

    def __init__(self) -> None:
        self.goes_on = asyncio.Event()
        self.most = 0
        self.payers: set[object] = set()
        self._going = 0

    async def __call__(self, call: Call) -> Sequence[Verdict]:
        self._going += 1
        self.most = max(self.most, self._going)
        await self.goes_on.wait()
        self._going -= 1
        self.payers.add(call.payer)
        return [Verdict("access", call, None)]


class Told:
    """What a participant hears said about proposals, by their ids."""

    def __init__(self, who: Participant) -> None:
        self.said: dict[str, str] = {}
        self._news = asyncio.Event()
        who.watchers.append(self._watch)

    def _watch(self, heard: Heard) -> None:
        envelope = heard.envelope
        if envelope.kind == "chat" and envelope.correlation_id is not None:
            self.said[envelope.correlation_id] = jsonrpc.decode(envelope.payload)["text"]
            self._news.set()

    async def of(self, *ids: str) -> None:
        async with asyncio.timeout(20):
            while not self.said.keys() >= set(ids):
                self._news.clear()
                await self._news.wait()


async def proposed(scene: Stage, who: Participant, times: int) -> list[str]:
    """The ids of so many proposals, once the gateway has heard of them."""
    ids = [who.propose("tools/call", DIG, to=["house"]).id for _ in range(times)]
    async with asyncio.timeout(20):
        while scene.kernel.participant.proposals.find(ids[-1]) is None:
            await asyncio.sleep(0.001)
    return ids


async def test_of_many_proposals_a_few_are_looked_at_and_not_at_the_cost_of_who_could_fulfil(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One proposal costs a rehearsal for each who is able, and no proposer may make all others wait."""
    async with (
        stage() as scene,
        scene.guest("ann") as ann,
        scene.guest("bob") as bob,
        scene.guest("eve") as eve,
    ):
        slow = Slow()
        monkeypatch.setattr(scene.kernel, "_rehearsed", slow)
        told = Told(ann)
        many, (other,) = await proposed(scene, eve, 50), await proposed(scene, bob, 1)
        slow.goes_on.set()
        await told.of(*many[:5], other)
        assert (slow.most, slow.payers) == (2, {"dry runs"})
        (after,) = await proposed(scene, eve, 1)
        await told.of(after)
        assert set(told.said) == {*many[:5], other, after}


async def test_proposals_that_come_all_at_once_wait_as_those_do_that_come_one_by_one() -> None:
    """A busy machine reads many frames in one go, before the first of the dry runs begins."""
    async with stage() as scene, scene.guest("ann") as ann, scene.guest("eve") as eve:
        told, held = Told(ann), list[Heard]()
        watchers, watch = scene.kernel.participant.watchers, scene.kernel._watch
        watchers[watchers.index(watch)] = held.append
        ids = await proposed(scene, eve, 8)
        for heard in held:
            watch(heard)
        watchers[watchers.index(held.append)] = watch
        await told.of(*ids[:5])
        (after,) = await proposed(scene, eve, 1)
        await told.of(after)
        assert set(told.said) == {*ids[:5], after}


async def test_so_many_proposers_are_looked_at_at_once_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gateway_participant, "DRY_RUNS", 1)
    async with stage() as scene, scene.guest("ann") as ann, scene.guest("bob") as bob:
        slow = Slow()
        monkeypatch.setattr(scene.kernel, "_rehearsed", slow)
        told = Told(bob)
        (first,) = await proposed(scene, ann, 1)
        (without,) = await proposed(scene, bob, 1)
        slow.goes_on.set()
        await told.of(first)
        (after,) = await proposed(scene, bob, 1)
        await told.of(after)
        assert without not in told.said


async def test_a_rehearsal_that_breaks_takes_none_of_those_behind_it_along(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage() as scene, scene.guest("ann") as ann, scene.guest("eve") as eve:
        slow, broken = Slow(), [True, False]

        async def rehearsed(call: Call) -> Sequence[Verdict]:
            if broken and broken.pop(0):
                raise RuntimeError("a gate broke")
            return await slow(call)

        monkeypatch.setattr(scene.kernel, "_rehearsed", rehearsed)
        told = Told(ann)
        slow.goes_on.set()
        first, *others = await proposed(scene, eve, 4)
        await told.of(*others)
        assert first not in told.said
        (after,) = await proposed(scene, eve, 1)
        await told.of(after)
    assert "a dry run of a proposal of eve broke" in caplog.text


async def test_what_somebody_else_proposes_is_not_said_in_ones_own_conversation() -> None:
    """A proposal of `initialize` would set the client and the capabilities of whoever could fulfil it."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}}
    async with stage() as scene, scene.guest("ann") as ann, scene.guest("eve") as eve:
        with pytest.raises(CallError):
            await within(ann.request("house", "initialize", {"capabilities": {}}))
        conversation = scene.kernel._hosts["ann"].duplex.peer.conversation
        assert conversation.client is None
        pending = eve.propose(
            "initialize", {**hello, "clientInfo": {"name": "x", "version": "1"}}, to=["house"]
        )
        await about(ann, pending.id)
        assert conversation.client is None
