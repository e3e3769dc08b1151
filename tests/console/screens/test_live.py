"""Screen `live` by its API, with a whole gateway: calls as they end, one of them, and how many there were."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.console.recent_calls import CallPage, RecentCalls
from tests.console.asking import Api
from tests.console.in_process import within
from tests.console.mcp_session import McpSession
from tests.console.running import Console, eventually, running


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running(tmp_path_factory.mktemp("console")) as found:
        yield found


@pytest.fixture(scope="module")
def api(console: Console) -> Api:
    return Api(console)


def test_a_call_is_a_row_and_opens_to_what_each_gate_said(api: Api, console: Console) -> None:
    host = McpSession(console, "claude")
    host.call("demo__echo", text="x")
    host.call("demo__nothing")
    refused, allowed, *_ = api.get("/calls", agent="anonymous")["calls"]
    assert [(one["decision"], one["name"]) for one in (refused, allowed)] == [
        ("refused", "demo__nothing"),
        ("allowed", "echo"),
    ]
    assert [one["id"] for one in api.get("/calls", decision="refused")["calls"]] == [refused["id"]]
    assert api.get("/calls", server="demo", tool="echo")["calls"] == [allowed]
    found = api.get(f"/calls/{refused['id']}")
    assert [one["gate"] for one in found["gates"] if one["state"] == "refused"] == ["resolve"]
    assert found["client"] == "claude 1"
    assert api.get("/calls/none")["status"] == 404
    assert api.get("/calls", decision="wrong")["status"] == 422


def test_calls_are_counted_by_the_second(api: Api, console: Console) -> None:
    before = api.get("/traffic")["total"]
    host = McpSession(console)
    host.call("demo__echo", text="x")
    host.call("demo__read_note", name="none of this name")

    def counted() -> bool:
        found = api.get("/traffic")
        assert len({len(found[name]) for name in ("time", "calls", "refused", "errors")}) == 1
        return bool(found["total"] == before + 2 and sum(found["calls"]) == found["total"])

    eventually(counted)
    found = api.get("/traffic")
    assert sum(found["errors"]) >= 1
    assert api.get("/traffic", since=found["time"][-1] + 10_000)["time"] == []


async def test_many_who_look_at_the_same_at_once_have_it_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0

    async def page(*_: object) -> CallPage:
        nonlocal made
        made += 1
        await asyncio.sleep(0.01)
        return CallPage(calls=[], next="")

    monkeypatch.setattr(RecentCalls, "page", page)
    async with within(tmp_path) as console:
        viewer = await console.person("viewer")
        asked = [viewer.get("/live/list?agent=nobody") for _ in range(10)]
        assert {one.status for one in await asyncio.gather(*asked)} == {200}
    assert (
        1 <= made <= 2
    )  # the record of the sign-in may be told in between, and makes what was shared stale
