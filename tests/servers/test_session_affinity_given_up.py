"""Calls that were given up and may still ask: whoever calls next is asked all the same, on a connection that none of them haunts."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import FakeBack, ask, dispatch, python, result, running, tool_call, within

NAME = {"action": "accept", "content": {"name": "n"}}


async def asked(supervisor: Supervisor) -> None:
    """Somebody without a session is asked by the server, and answers."""
    back = FakeBack(elicitation=NAME)
    outcome = await ask(supervisor, "asker/ask_elicitation", back=back, session=None)
    assert not result(outcome).get("isError"), outcome
    assert [one.method for one in back.questions] == ["elicitation/create"]


async def begun(supervisor: Supervisor) -> asyncio.Task[object]:
    """A long call without a session that the server works on. When it is given up, the server never answers it."""
    back = FakeBack()
    call = tool_call(
        supervisor, "asker/slow", {"seconds": 600}, meta={"progressToken": 1}, session=None
    )
    task = asyncio.create_task(dispatch(supervisor)(call, back))
    await back.until(lambda: bool(back.events))
    return task


async def given_up(task: asyncio.Task[object]) -> None:
    task.cancel()
    await within(asyncio.wait([task]))


@pytest.mark.parametrize("leases", [1, 2])
async def test_a_lease_on_which_a_call_was_given_up_is_nobodys(
    leases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there may be no more of them, another connection takes its place."""
    monkeypatch.setattr("gatewright.servers.session_affinity.LEASES", leases)
    async with running(python("asker")) as supervisor:
        await asked(supervisor)  # from now on it may ask
        busy = await begun(supervisor)
        for _ in range(3):
            await given_up(await begun(supervisor))
            await asked(supervisor)
        assert supervisor.status()[0].sessions <= leases
        await given_up(busy)


async def test_who_calls_alone_is_asked_though_a_call_was_given_up_on_everybodys_connection() -> (
    None
):
    async with running(python("asker")) as supervisor:
        await asked(supervisor)
        await given_up(await begun(supervisor))
        await asked(supervisor)
        assert supervisor.status()[0].sessions == 1
