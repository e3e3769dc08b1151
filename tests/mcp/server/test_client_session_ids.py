"""An id is free after its answer, also where that was a question."""

from __future__ import annotations

import asyncio
from typing import Any

from gatewright.call import Answer, Back, Call, Outcome
from gatewright.mcp.protocol.outcomes import Spelled
from gatewright.mcp.server.server_context import Presented
from gatewright.mcp.wire import jsonrpc
from tests.dialects.client import modern, rpc, within
from tests.dialects.house import _KEYS, House, text
from tests.dialects.steps import CALL, Hang
from tests.mcp.server.test_client_session import Kept, effect_of, peer_of
from tests.mcp.server.test_pending_input import CAN, NAME, ROOTS


def says(peer: Any, more: dict[str, Any]) -> Any:
    return effect_of(peer, modern("tools/call", {**CALL, **more}, ident=1, capabilities=CAN).body)


def retried(reply: Kept, key: str) -> dict[str, Any]:
    state = jsonrpc.decode(reply.answers[0].result)["requestState"]
    return {"requestState": state, "inputResponses": {key: {}}}


async def asks_twice(call: Call, back: Back) -> Outcome:
    await back.ask(NAME)
    await back.ask(ROOTS)
    return Answer(b'{"content":[]}')


async def test_a_call_that_waits_for_its_caller_leaves_its_id_to_others() -> None:
    async with House() as house:
        house.script.does("echo", asks_twice)
        peer, first, second, third = peer_of(house), Kept(), Kept(), Kept()
        call = asyncio.create_task(peer.serve(says(peer, {}), first))
        await within(answered(first))
        await within(peer.serve(says(peer, retried(first, "q1")), second))
        assert b"requestState" in second.answers[0].result
        assert peer.busy
        await within(peer.serve(says(peer, retried(second, "q2")), third))
        await within(call)
        assert b"complete" in third.answers[0].result
        assert (len(house.script.calls), peer.busy) == (1, False)
        peer.close()


async def test_only_equal_rights_come_back_for_a_call_that_waits_for_its_caller() -> None:
    """Whoever does so is given what comes of the call, and what its next question says."""
    async with House() as house:
        house.script.does("echo", asks_twice)
        peer, first, other, second, third = peer_of(house), *(Kept() for _ in range(4))
        ann, less = (Presented(peer.door, _KEYS[key], key) for key in ("key-ann", "key-ann-less"))
        peer.shown = ann
        call = asyncio.create_task(peer.serve(says(peer, {}), first))
        await within(answered(first))
        peer.shown = less
        await within(peer.serve(says(peer, retried(first, "q1")), other))
        assert not other.answers[0].result
        peer.shown = ann
        await within(peer.serve(says(peer, retried(first, "q1")), second))
        await within(peer.serve(says(peer, retried(second, "q2")), third))
        await within(call)
        assert b"complete" in third.answers[0].result
        peer.close()


async def test_a_request_of_an_id_that_runs_is_refused_and_the_first_goes_on() -> None:
    async with House() as house:
        house.script.does("echo", hang := Hang())
        peer, first, second, third = peer_of(house), Kept(), Kept(), Kept()
        effect = effect_of(peer, rpc("tools/call", CALL, 1))
        task = asyncio.create_task(peer.serve(effect, first))
        await house.began()
        await within(peer.serve(effect, second))
        (refused,) = second.answers
        assert b"a request of this id runs already" in refused.error
        assert len(house.script.calls) == 1
        hang.end.set()
        await within(task)
        assert len(first.answers) == 1
        await within(peer.serve(effect, third))
        assert len(house.script.calls) == 2
        peer.close()


class Leaving(Kept):
    """Its answer is handed over, and takes its time to leave, as one on an event stream does."""

    def __init__(self) -> None:
        super().__init__()
        self.handed, self.left = asyncio.Event(), asyncio.Event()

    async def finish(self, ident: bytes, spelled: Spelled) -> None:
        await super().finish(ident, spelled)
        self.handed.set()
        await self.left.wait()


async def test_an_id_is_free_once_its_answer_is_handed_over() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        peer, first, second, third = peer_of(house), Leaving(), Kept(), Kept()
        effect = effect_of(peer, rpc("tools/call", CALL, 1))
        leaving = asyncio.create_task(peer.serve(effect, first))
        await within(first.handed.wait())
        await within(peer.serve(effect, second))
        assert (second.answers[0].error, len(house.script.calls)) == (b"", 2)
        house.script.does("echo", hang := Hang())
        runs = asyncio.create_task(peer.serve(effect, third))
        await within(hang.began.wait())
        first.left.set()
        await within(leaving)
        assert peer.busy  # the id is that of another request by now
        hang.end.set()
        await within(runs)
        assert (peer.busy, len(third.answers)) == (False, 1)
        peer.close()


async def test_it_ends_with_its_host_also_where_another_request_has_its_id() -> None:
    async with House() as house:
        house.script.does("echo", asks_twice)
        peer, first, second = peer_of(house), Kept(), Kept()
        call = asyncio.create_task(peer.serve(says(peer, {}), first))
        await within(answered(first))
        house.script.does("echo", hang := Hang())
        other = asyncio.create_task(peer.serve(says(peer, {}), second))
        await within(hang.began.wait())
        peer.close()
        await within(asyncio.gather(call, other))
        assert (second.abandoned, peer.busy) == ([b"1"], False)


async def answered(reply: Kept) -> None:
    while not reply.answers:
        await asyncio.sleep(0)
