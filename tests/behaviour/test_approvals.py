"""Calls that wait for an operator, through every kind of door of a real gateway."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gatewright.approvals.request import Approval
from tests.approvals.voting import Voting
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, Host, RpcError, host
from tests.behaviour.wires import StdioWire
from tests.storage.parts import operated_state_in

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "audit"]}}
HOLD_S = 20
AT_ONCE = "http 2026-07-28"
"""A door without sessions."""


def content(hold_s: float, **approvals: Any) -> dict[str, Any]:
    return config(
        server("echo", tools={"echo": {"risk_level": "dangerous"}}),
        grants=[{"agent": "*", "server": "echo"}],
        approvals={"approver": "operator", "hold_s": hold_s, **approvals},
    )


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway at which no call waits: its caller comes back."""
    with running(tmp_path_factory.mktemp("hurried"), content(0)) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway at which calls wait for long."""
    with running(tmp_path_factory.mktemp("patient"), content(HOLD_S)) as gateway:
        yield gateway


@contextmanager
def queue_of(gateway: Gateway, client: Host) -> Iterator[Voting]:
    """The queue of the gateway that this host speaks to, as an operator's command opens it."""
    alone = isinstance(client.wire, StdioWire)
    folder: Path = client.wire.folder if alone else gateway.folder  # type: ignore[attr-defined]
    made = Voting(operated_state_in(folder / "state"), clock=time.time, random=os.urandom)
    try:
        yield made
    finally:
        made.close()


@asynccontextmanager
async def meeting(gateway: Gateway, door: str, **more: Any) -> AsyncIterator[tuple[Host, Voting]]:
    async with host(gateway, door, **more) as client:
        with queue_of(gateway, client) as queue:
            yield client, queue


async def waiting(queue: Voting) -> Approval:
    """The request that waits, once there is one."""
    async with asyncio.timeout(HOLD_S):
        while not (found := queue.waiting()):
            await asyncio.sleep(0.02)
    return found[0]


@pytest.mark.parametrize("door", DOORS)
async def test_a_call_waits_for_an_operator_and_runs_when_it_is_approved(
    patient: Gateway, door: str
) -> None:
    async with meeting(patient, door) as (client, queue):
        calling = asyncio.ensure_future(client.text("echo__echo", message=door))
        one = await waiting(queue)
        assert json.loads(one.arguments) == {"message": door}
        assert not calling.done()
        queue.approve(one.id, by="olga")
        assert await calling == door
        found = queue.get(one.id)
        assert found is not None
        assert found.state == "used"


@pytest.mark.parametrize("door", DOORS)
async def test_a_call_that_is_told_to_come_back_runs_once_after_the_approval(
    hurried: Gateway, door: str
) -> None:
    async with meeting(hurried, door) as (client, queue):
        first = await client.call("echo__echo", message=door)
        assert first["isError"] is True
        assert "permission_deferred" in first["content"][0]["text"]
        one = await waiting(queue)
        assert one.id in first["content"][0]["text"]
        queue.approve(one.id, by="olga")
        other = await client.call("echo__echo", message="something else")
        assert other["isError"] is True
        assert await client.text("echo__echo", message=door) == door
        assert (await client.call("echo__echo", message=door))["isError"] is True
        for left in queue.waiting():
            queue.deny(left.id, by="olga")


async def test_a_no_reaches_the_caller_with_its_reason(patient: Gateway) -> None:
    async with meeting(patient, DOORS[0]) as (client, queue):
        calling = asyncio.ensure_future(client.call("echo__echo", message="no"))
        one = await waiting(queue)
        queue.deny(one.id, by="olga", comment="not today")
        result = await calling
        assert result["isError"] is True
        assert "not today" in result["content"][0]["text"]


async def test_an_mgp_caller_learns_that_it_may_come_back_and_when(hurried: Gateway) -> None:
    """The recovery fields of MGP §14.5 for a decision that is still to come."""
    async with meeting(hurried, DOORS[0], can=OFFER) as (client, queue):
        with pytest.raises(RpcError) as caught:
            await client.call("echo__echo", message="mgp")
        assert caught.value.code == 1000
        told = caught.value.data["_mgp"]
        assert (told["retryable"], told["retry_strategy"]) == (True, "fixed_delay")
        one = await waiting(queue)
        assert told["details"]["approval_id"] == one.id
        queue.deny(one.id, by="olga")


async def test_the_record_tells_the_whole_story_without_an_argument(hurried: Gateway) -> None:
    async with meeting(hurried, DOORS[0]) as (client, queue):
        await client.call("echo__echo", message="s3cret-story")
        one = await waiting(queue)
        queue.approve(one.id, by="olga")
        await client.text("echo__echo", message="s3cret-story")
    async with asyncio.timeout(HOLD_S):
        while len(story := steps(hurried, one.id)) < 4:
            await asyncio.sleep(0.1)
    assert [(name, who) for name, who, _ in story] == [
        ("dev.gatewright.approval.requested", "anonymous"),
        ("dev.gatewright.approval.approved", "olga"),
        ("dev.gatewright.approval.used", "anonymous"),
        ("TOOL_EXECUTED", "anonymous"),
    ]
    assert story[-1][2]["confirmed_by"] == "olga"
    assert "s3cret-story" not in json.dumps(hurried.audit())


def steps(gateway: Gateway, approval: str) -> list[tuple[str, str, dict[str, Any]]]:
    found = [
        (one["event_type"], one["actor"]["id"], one["details"])
        for one in gateway.audit("--oldest-first")
        if one.get("details", {}).get("approval") == approval
    ]
    return [one for one in found if one[0] != "dev.gatewright.intent"]


async def test_other_rules_make_an_approval_void(tmp_path: Path) -> None:
    """What was approved under one configuration is not approved under the next."""
    before = content(0)
    with running(tmp_path, before) as gateway:
        async with meeting(gateway, DOORS[0]) as (client, queue):
            await client.call("echo__echo", message="x")
            queue.approve((await waiting(queue)).id, by="olga")
            gateway.reload(content(0, quorum=2))
            assert (await client.call("echo__echo", message="x"))["isError"] is True
            assert len(queue.waiting()) == 1


async def test_the_queue_survives_the_gateway(tmp_path: Path) -> None:
    """For whoever comes back. A session does not, and what was asked in one without a name is nobody else's."""
    with running(tmp_path, content(0)) as gateway:
        async with meeting(gateway, AT_ONCE) as (client, queue):
            await client.call("echo__echo", message="x")
            one = await waiting(queue)
    with running(tmp_path, content(0)) as gateway:
        async with meeting(gateway, AT_ONCE) as (client, queue):
            queue.approve(one.id, by="olga")
            assert await client.text("echo__echo", message="x") == "x"


@pytest.mark.parametrize("door", DOORS)
async def test_a_call_runs_with_the_arguments_that_an_operator_wrote(
    hurried: Gateway, door: str
) -> None:
    """Both digests are in the record: what was asked, and what ran."""
    async with meeting(hurried, door) as (client, queue):
        asked = f"asked at {door}"
        assert (await client.call("echo__echo", message=asked))["isError"] is True
        (one,) = [one for one in queue.waiting() if asked in one.arguments]
        queue.approve(one.id, by="olga", edited=json.dumps({"message": "written by olga"}))
        assert await client.text("echo__echo", message=asked) == "written by olga"


HOURLY = 2


def scarce() -> dict[str, Any]:
    """A configuration under which a tool, and its caller, have two calls an hour."""
    each = {"per_hour": HOURLY}
    return config(
        server("echo", tools={"echo": {"risk_level": "dangerous", "calls": each}}),
        grants=[{"agent": "*", "server": "echo"}],
        approvals={"approver": "operator", "hold_s": 0},
        limits={"calls": {"caller": each}},
    )


@pytest.mark.parametrize("door", DOORS)
async def test_looking_at_a_call_that_waits_costs_nothing(tmp_path: Path, door: str) -> None:
    """MGP-3.6-4, MGP-14.3-10: however often it looks, a caller has the calls that its limits give it."""
    with running(tmp_path, scarce()) as gateway:
        async with meeting(gateway, door) as (client, queue):
            for word in ("one", "two"):
                first = await client.call("echo__echo", message=word)
                assert "permission_deferred" in first["content"][0]["text"]
            for _ in range(4):
                for word in ("one", "two"):
                    look = await client.call("echo__echo", message=word)
                    assert "pending_approval" in look["content"][0]["text"]
            for one in queue.waiting():
                queue.approve(one.id, by="olga")
            for word in ("one", "two"):
                assert await client.text("echo__echo", message=word) == word
            over = await client.text("echo__echo", message="three")
            assert over.startswith(f"Rate limited: {HOURLY} calls per hour")


@pytest.mark.parametrize("door", DOORS)
async def test_whoever_floods_with_looks_is_counted(tmp_path: Path, door: str) -> None:
    """MGP-14.3-10: ten looks at once are free, and then one a second; a flood is held by the limits."""
    with running(tmp_path, scarce()) as gateway:
        async with meeting(gateway, door) as (client, queue):
            found = [await client.text("echo__echo", message="x") for _ in range(60)]
            waited = [one for one in found if "pending_approval" in one]
            assert len(queue.waiting()) == 1
            assert 11 <= len(waited) < 60
            assert any(one.startswith("Rate limited") for one in found)


SHOWS: dict[str, Any] = {"elicitation": {"url": {}}}


@pytest.mark.parametrize("door", [door for door in DOORS if not door.startswith("stdio")])
async def test_a_host_that_shows_pages_gets_one_on_which_an_operator_decides(
    patient: Gateway, door: str
) -> None:
    """MCP elicitation in mode `url`: asked in the middle of a call, or by `input_required`."""
    shown: list[dict[str, Any]] = []

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        shown.append(params)
        return {"action": "accept"}

    async with host(patient, door, can=SHOWS, answer=answer) as client:
        calling = asyncio.ensure_future(client.text("echo__echo", message=f"page {door}"))
        async with asyncio.timeout(HOLD_S):
            while not shown:
                await asyncio.sleep(0.02)
        url = shown[0]["url"]
        assert shown[0]["mode"] == "url"
        assert url.startswith(patient.url.removesuffix("/mcp") + "/approvals/")
        async with aiohttp.ClientSession() as http:
            async with http.get(url) as page:
                assert page.status == 200
                text = await page.text()
                assert f"page {door}" in text
            (seen,) = re.findall("name=seen type=hidden value=([0-9a-f]{64})>", text)
            form = {"decision": "approve", "key": "none", "seen": seen}
            async with http.post(url, data=form) as refused:
                assert refused.status == 403
            assert not calling.done()
            async with http.post(url, data=form | {"key": patient.operator_token}) as done:
                assert done.status == 200
        assert await calling == f"page {door}"


async def test_the_user_who_is_asked_sees_every_argument_however_long_another_is(
    tmp_path: Path,
) -> None:
    """MGP-4.3-6: a yes to what was pushed out of sight would be none."""
    asked: list[str] = []

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params["message"])
        return {"action": "decline"}

    echo = server("echo", tools={"echo": {"confirmation_required": True}})
    with running(tmp_path, config(echo)) as gateway:
        async with host(gateway, can={"elicitation": {}}, answer=answer) as client:
            padded = {"note": "x" * 2000, "message": "what it does"}
            await client.call("echo__echo", **padded)
    assert '- "message": "what it does"' in asked[0].split("\n")
