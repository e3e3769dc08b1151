"""Prepared calls on their way: whose record fails, whose client leaves, and that the server's stop loses none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Unrecorded
from gatewright.mcp.server.straight import StraightWay
from tests.prepared_house import prepared_house

TELL = "obedient__tell"


async def test_a_call_whose_end_cannot_be_recorded_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        journal = house.gateway.audit._journal

        def full(bodies: Any) -> int:
            raise Unrecorded("full")

        with monkeypatch.context() as patched:
            patched.setattr(journal, "append_all", full)
            said, prepared = await house.served(client, TELL, "so")
        assert (said, prepared) == ("audit_unavailable", True)
        kernel = house.gateway.kernel
        assert (kernel.in_flight, kernel.running()) == (0, [])
        assert await house.served(client, TELL, "and on") == ("and on", True)
        client.close()


async def test_the_same_of_several_that_end_in_one_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with prepared_house(tmp_path) as house:
        clients = [await house.client() for _ in range(4)]
        for client in clients:
            await house.warm(client)
        journal = house.gateway.audit._journal

        def full(bodies: Any) -> int:
            raise Unrecorded("full")

        params = {"name": TELL, "arguments": {"text": "so"}}
        with monkeypatch.context() as patched:
            patched.setattr(journal, "append_all", full)
            for client in clients:
                client.send({"id": 7, "method": "tools/call", "params": params})
            for client in clients:
                _, body = await client.receive()
                assert b"audit_unavailable" in body
        assert house.gateway.kernel.in_flight == 0
        for client in clients:
            assert await client.text(TELL, "so") == "so"
            client.close()


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
async def test_what_was_asked_is_let_go_of_once_it_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: str
) -> None:
    """A connection that is kept has its last request for as long as it is idle: thousands of them need not keep what was said, too."""
    begun, wholes = StraightWay._begun, list[Any]()

    def noted(way: StraightWay, whole: Any, *more: Any) -> Any:
        wholes.append(whole)
        return begun(way, whole, *more)

    async with prepared_house(tmp_path) as house:
        client = await house.client(revision=revision)
        await house.warm(client)
        monkeypatch.setattr(StraightWay, "_begun", noted)
        assert await house.served(client, TELL, "so") == ("so", True)
        (whole,) = wholes
        assert (whole.done, whole.body, whole.straight) == (True, b"", None)
        client.close()


async def test_what_was_asked_by_a_call_that_becomes_an_ordinary_one_is_read_by_nobody_again(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        params = {"name": TELL, "arguments": {"text": "so", "how": "never"}}
        client.send({"id": 7, "method": "tools/call", "params": params})
        forwarded: set[Any] = house.gateway.kernel._forwarded
        async with asyncio.timeout(5):
            while not forwarded:
                await asyncio.sleep(0.001)
        (going,) = forwarded
        whole: Any = going.whole
        going.promote()
        assert (whole.take_whole(), whole.body) == (None, b"")
        going.cancel()
        await client.receive()
        client.close()
