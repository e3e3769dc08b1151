"""What the error of a task says to a client with MGP, in the task and by `tasks/result`."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import Client, Failure, Mgp
from tests.tasks import test_tasks
from tests.tasks.test_tasks import World, made, wanting

world = test_tasks.world
OLD: dict[str, Any] = {"tasks": {"requests": {"tools": {"call": {}}}}}


@pytest.mark.parametrize("mgp", [Mgp("0.6.1", ()), None])
async def test_the_error_of_a_task_is_not_taken_for_that_of_a_server_without_mgp(
    world: World, mgp: Mgp | None
) -> None:
    """What it promised was said by us, or by a server with which MGP was negotiated."""
    client = Client("2025-11-25", OLD, mgp=mgp)
    world.ends = Failure("upstream_error", error=b'{"code":3000,"message":"later"}', mgp=True)
    id = await made(world, wanting(client=client))
    world.approve()
    found = await world.ask("result", id, client)
    assert isinstance(found, Failure)
    assert found.mgp is (mgp is not None)
