"""Calls that run now, with a whole gateway: listed with whom, where and since when; one of them stopped, which its caller is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.asking import Api, signed_in
from tests.console.running import Console, eventually, running


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running(tmp_path_factory.mktemp("console")) as found:
        yield found


@pytest.fixture(scope="module")
def api(console: Console) -> Api:
    return Api(console)


def those(api: Api, count: int, **asked: Any) -> list[Any]:
    """The calls that run, once so many do."""
    eventually(lambda: bool(api.get("/calls/running", **asked)["total"] == count))
    found: list[Any] = api.get("/calls/running", **asked)["calls"]
    return found


def test_a_call_that_runs_is_listed_and_stopped_with_a_reason(api: Api, console: Console) -> None:
    with console.calling("demo__count", to=50) as call:
        (one,) = those(api, 1, server="demo")
        assert (one["agent"], one["server"], one["name"], one["gate"]) == (
            "local",
            "demo",
            "count",
            "",
        )
        (server,) = api.get("/servers")["servers"]
        assert server["running"] == 1
        assert api.get("/calls/running", server="none")["calls"] == []
        assert api.get("/calls/running", least_s=600)["calls"] == []
        assert api.post(f"/calls/{one['id']}/stop", reason=" ")["code"] == "no_reason"
        assert api.post("/calls/none/stop", reason="x")["code"] == "over"
        assert api.post(f"/calls/{one['id']}/stop", reason="it hangs")["id"] == one["id"]
        said = call.communicate(timeout=20)[0]
    assert "an operator stopped it: it hangs" in said
    assert "counted" not in said
    those(api, 0)
    shown = console.command("audit", "query", "--event", "dev.gatewright.call.stopped", "--json")
    (record,) = [json.loads(line) for line in shown.stdout.splitlines()]
    assert (record["target"]["tool_name"], record["details"]["reason"]) == ("count", "it hangs")
    (ended,) = [row for row in api.get("/calls")["calls"] if row["id"] == one["id"]]
    assert (ended["decision"], ended["reason"]) == ("refused", "cancelled")
    assert api.post(f"/calls/{one['id']}/stop", reason="again")["code"] == "over"


def test_a_call_that_waits_for_a_person_is_one_of_them(api: Api, console: Console) -> None:
    """Stopped, it leaves nothing to decide."""
    with console.calling("demo__delete_all_notes") as call:
        (one,) = those(api, 1)
        assert (one["gate"], one["name"]) == ("confirm", "delete_all_notes")
        api.post(f"/calls/{one['id']}/stop", reason="nobody asked for it")
        assert "nobody asked for it" in call.communicate(timeout=20)[0]
    eventually(lambda: api.get("/approvals")["approvals"] == [])


def test_they_are_sorted_and_paged(api: Api, console: Console) -> None:
    with console.calling("demo__write_note", name="a", text="b"):
        (first,) = those(api, 1)
        with console.calling("demo__count", to=50):
            assert those(api, 2)[0]["id"] == first["id"]  # the longest first
            page = api.get("/calls/running", sort="tool", limit=1)
            rest = api.get("/calls/running", sort="tool", limit=1, after=page["next"])
            names = [one["name"] for one in (*page["calls"], *rest["calls"])]
            assert (names, rest["next"]) == (["count", "write_note"], "")


def test_a_viewer_sees_them_and_stops_none(tmp_path: Path) -> None:
    with running(tmp_path, gateway='operators = "key"') as console:
        viewer = signed_in(console)
        assert viewer.get("/calls/running") == {"calls": [], "total": 0, "next": ""}
        assert viewer.post("/calls/any/stop", reason="x")["code"] == "role"
