"""Whom a notification is for that belongs to no call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatewright.call import Target
from gatewright.wire.jsonrpc import Notification, parse
from gatewright.wire.mcp import OF_THE_SERVER, TASK_STATUS
from gatewright.wire.methods import WORDS
from tests.behaviour.task_places import (
    BOB,
    House,
    speaker,
    to,
)
from tests.upstream.rig import running


@pytest.fixture
async def legacy(tmp_path: Path) -> AsyncIterator[House]:
    async with running(speaker(tmp_path, "one", "legacy")) as supervisor:
        yield House(supervisor, "legacy")


async def test_what_is_said_of_who_alone_spoke_is_told_to_that_one_alone(legacy: House) -> None:
    await legacy.put(
        to(
            legacy.method(BOB, "notifications/acme.said", {}),
            Target("one", "notifications/acme.said"),
        )
    )
    link = legacy.supervisor.fleet.servers["one"].link
    assert link is not None
    note = parse(
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"his"}}'
    )
    assert isinstance(note, Notification)
    link._notified(note)
    assert any("his" in one for one in legacy.take("bob"))
    assert not any("his" in one for one in legacy.take("ann"))


# -- the table ----------------------------------------------------------------------------------------

_OF_A_CALL = frozenset(
    {"notifications/progress", "notifications/message", "notifications/cancelled"}
)


def test_each_notification_of_servers_is_placed() -> None:
    """One that is added has to be said of a call or of the server, before anybody hears it."""
    said = {
        one.method for one in WORDS if one.notification and "server" in one.by and not one.extension
    }
    assert said == OF_THE_SERVER | _OF_A_CALL
    assert not OF_THE_SERVER & _OF_A_CALL
    assert {one for one in said if "tasks" in one} == TASK_STATUS
