"""Why a connection is down, as callers, operators and the log read it."""

from __future__ import annotations

import pytest

from gatewright.call import Failure
from gatewright.mcp.client.link import Link, ServerFailed
from tests.servers.rig import DEADLINE, within
from tests.servers.test_reconnector import kept


async def test_what_a_server_said_is_short_and_visible_in_a_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with kept("http") as (keeper, plug):

        async def connect() -> Link:
            raise ServerFailed("no: \n\x1b[2J\u202e" + "A" * 900_000)

        keeper._connect = connect
        keeper.start()
        await plug.until("disconnected")
        found = await within(keeper.ready(DEADLINE))
        assert isinstance(found, Failure)
        said = [found.message, keeper.reason, *(one.getMessage() for one in caplog.records)]
        said += [reason for _, reason in plug.states if reason]
        assert len(said) > 3
        for text in said:
            assert "no: \\u000a\\u001b[2J\\u202eAAA" in text
            assert text.isprintable()
            assert len(text) < 1000
