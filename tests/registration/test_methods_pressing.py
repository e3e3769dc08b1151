"""What agents bring about takes its turn behind others, also where it is an end: it hurries no operator and no reload."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gatewright.call import Caller, UserContext
from tests.registration.test_methods import house


async def test_an_agent_presses_nobody_by_sessions_that_end_nor_by_servers_that_do_not_come_up(
    tmp_path: Path,
) -> None:
    """Whoever went on was cut short each time: an operator's restart was switched in before its server had said hello."""
    agent = Caller("ann", user=(UserContext(permissions=("kernel.registry.write",)),))
    async with house(tmp_path, '[registration]\ncommands = ["python3"]\n') as one:
        failed = await one.register(agent, args=["-c", "raise SystemExit(3)"])
        assert getattr(failed, "reason", "") == "upstream_error", failed
        assert (one.lined, one.turns) == (2, 2)
        for number in range(2):
            await one.register(id=f"dynamic.{number}", lifetime="session")
        async with one.registration._turns.at_once():
            ending = asyncio.create_task(one.registration.end_with_sessions(lambda _: False))
            await asyncio.sleep(0.05)
            assert not one.pressing.wanted.is_set()
            assert not one.registration._turns.wanted.is_set()
        await ending
        assert (one.fleet.present, one.lined) == ({}, 3)  # at once, both
