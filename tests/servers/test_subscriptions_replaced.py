"""What clients want to hear of a server whose configuration is read anew, also while it is asked for."""

from __future__ import annotations

import asyncio

from gatewright.call import Answer
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import (
    DEADLINE,
    LEGACY,
    FakeBack,
    ask,
    make_call,
    python,
    running,
    text,
    within,
)
from tests.servers.test_subscriptions import wish
from tests.servers.test_supervisor_fleets import Over, switched
from tests.tool_servers.linking import SLOW


def linking(number: int) -> ServerSpec:
    return python("linking", f"n{number}", id="one")


async def until_heard(supervisor: Supervisor, words: str) -> None:
    async with asyncio.timeout(DEADLINE):
        while words not in text(await ask(supervisor, "one/heard")):
            pass


async def test_a_yes_of_a_server_that_was_replaced_twice_counts_at_the_one_that_is_there() -> None:
    over: Over = asyncio.get_running_loop().create_future()
    async with running(linking(1)) as supervisor:
        first = supervisor._servers["one"]
        asked = asyncio.ensure_future(wish(supervisor, "resources/subscribe", SLOW))
        await until_heard(supervisor, f"resources/subscribe {SLOW}")
        for number in (2, 3):
            await switched(supervisor, linking(number), over=(over,))
        last = supervisor._servers["one"]
        assert first.link is not None
        await first.link.fetch("resources/unsubscribe", {"uri": SLOW}, DEADLINE)
        assert isinstance(await asked, Answer)
        await until_heard(supervisor, f"resources/subscribe {SLOW}")
        assert last.wishes.names(SLOW, "s1", "s1") == {SLOW}
        await wish(supervisor, "resources/unsubscribe", SLOW)
        assert last.wishes.names(SLOW, "s1", "s1") == set()
        assert last.wishes._counts._whose == {}
        over.set_result(None)


async def test_a_level_that_comes_late_to_a_server_counts_at_the_one_that_is_there() -> None:
    """Gates held its call up while the configuration was read anew, twice."""
    over: Over = asyncio.get_running_loop().create_future()
    async with running(python("asker")) as supervisor:
        first = supervisor._servers["asker"].wishes
        for number in range(2):
            spec = python("asker", env={"N": str(number)})
            await switched(supervisor, spec, over=(over,))
        call = make_call("method", "logging/setLevel", {"level": "error"}, client=LEGACY)
        assert isinstance(await within(first.level(call.params, call, FakeBack())), Answer)
        async with asyncio.timeout(DEADLINE):
            while '"level": "error"' not in text(await ask(supervisor, "asker/facts")):
                pass
        over.set_result(None)
