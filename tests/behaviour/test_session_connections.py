"""Connections of servers that one session has for itself: none is made for a session that has ended."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.approvals.voting import Voting
from tests.behaviour.gateway import config, running, server
from tests.behaviour.groundhog_client import RefusedError, connected
from tests.behaviour.test_approvals import waiting
from tests.storage.parts import operated_state_in

pytestmark = pytest.mark.timeout(180)


async def test_a_call_that_outlives_its_session_starts_no_process(tmp_path: Path) -> None:
    """It waits for an operator while its session is closed, and goes on after that."""
    content = config(
        server("echo", share="session", tools={"echo": {"risk_level": "dangerous"}}),
        mcp={"protocol": {"transport": {"type": "http", "port": 0}}},
        approvals={"approver": "operator", "hold_s": 60},
    )
    said = {"security_context": {"session_id": "mine"}}
    with running(tmp_path, content, own_children=True) as gateway:
        queue = Voting(operated_state_in(tmp_path / "state"), clock=time.time, random=os.urandom)
        url, key = gateway.urls["groundhog"], gateway.operator_token
        async with connected(url, key) as client, connected(url, key) as other:
            before = gateway.children()
            calling = asyncio.create_task(client.invoke("echo__echo", {"message": "x"}, **said))
            asked = await waiting(queue)
            await other.request("session/close", {"session_id": "mine"})
            queue.approve(asked.id, by="olga")
            with pytest.raises(RefusedError, match="session"):
                await calling
            assert gateway.children() == before
        queue.close()
