"""Screen `servers` by its API, with a whole gateway: lists, one server, what is done with it and how the record has it; who may not."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from tests.console.asking import Api, signed_in
from tests.console.in_process import within
from tests.console.running import DEMO, ROOT, Console, eventually, running

SERVERS = f"""
[[servers]]
id = "quiet"
command = "{sys.executable}"
args = ["{{folder}}/quiet.py"]
env = {{{{ NOTES_TOKEN = "not-to-be-shown-1" }}}}

[[servers]]
id = "off"
command = "true"
enabled = false
"""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("console")
    demo = (ROOT / "examples/demo_server.py").read_text()
    (folder / "quiet.py").write_text(demo)
    with running(folder, DEMO + SERVERS.format(folder=folder)) as found:
        yield found


@pytest.fixture(scope="module")
def api(console: Console) -> Api:
    return Api(console)


def records(console: Console, kind: str) -> list[dict[str, object]]:
    shown = console.command("audit", "query", "--event", kind, "--json")
    return [json.loads(line) for line in shown.stdout.splitlines() if line]


def test_servers_are_sorted_filtered_and_paged(api: Api) -> None:
    page = api.get("/servers", sort="tools", desc="true", limit=2)
    assert [one["id"] for one in page["servers"]] == ["quiet", "demo"]
    rest = api.get("/servers", sort="tools", desc="true", limit=2, after=page["next"])
    assert ([one["id"] for one in rest["servers"]], rest["next"]) == (["off"], "")
    assert [one["id"] for one in api.get("/servers", q="DEM")["servers"]] == ["demo"]
    assert [one["id"] for one in api.get("/servers", state="registered")["servers"]] == ["off"]
    assert api.get("/servers", state="wrong")["status"] == 422
    (demo,) = api.get("/servers", q="demo")["servers"]
    assert (demo["tools"], demo["tokens"] > 0, demo["enabled"]) == (8, True, True)


def test_names_of_variables_are_shown_and_values_are_not(api: Api) -> None:
    shown = api.get("/servers/quiet")
    assert shown["variables"] == ["NOTES_TOKEN"]
    assert "not-to-be-shown-1" not in json.dumps(shown)
    assert api.get("/servers/nothing")["status"] == 404


def test_what_ends_calls_needs_a_reason_and_the_record_has_it(api: Api, console: Console) -> None:
    for act in ("restart", "stop"):
        assert api.post(f"/servers/demo/{act}", reason=" ")["code"] == "no_reason"
    done = api.post("/servers/demo/restart", reason="it leaks")
    assert (done["id"], done["state"]) == ("demo", "connected")
    (record,) = records(console, "dev.gatewright.server.restarted")
    assert record["details"] == {"reason": "it leaks"}
    history = api.get("/servers/demo/history")["steps"]
    assert ("dev.gatewright.server.restarted", "it leaks") in [
        (one["kind"], one["why"]) for one in history
    ]


def test_a_drained_server_is_down_until_it_is_started(api: Api) -> None:
    assert api.post("/servers/demo/drain")["state"] == "draining"
    eventually(lambda: bool(api.get("/servers/demo")["row"]["state"] == "disconnected"))
    assert "start" in api.get("/servers/demo")["acts"]
    assert api.post("/servers/demo/start")["state"] == "connected"


def test_disabling_is_written_to_the_file_and_undone(api: Api, console: Console) -> None:
    before = console.config.read_text()
    assert api.post("/servers/demo/disable")["state"] == "disabled"
    eventually(lambda: not api.get("/servers/demo")["row"]["enabled"])
    assert api.get("/servers/demo")["acts"] == ["enable"]
    api.post("/servers/demo/enable")
    eventually(lambda: bool(api.get("/servers/demo")["row"]["state"] == "connected"))
    assert "[[servers]]" in before
    assert records(console, "dev.gatewright.server.disabled")


def test_a_changed_definition_is_shown_accepted_and_refused(
    api: Api, console: Console, tmp_path: Path
) -> None:
    program = console.config.parent / "quiet.py"
    program.write_text(
        program.read_text()
        .replace("Say the text again.", "Say it.")
        .replace("Add two numbers.", "Add.")
    )
    api.post("/servers/quiet/restart", reason="another version")
    shown = api.get("/servers/quiet")
    assert [(one["tool"], one["standing"]) for one in shown["held"]] == [
        ("echo", "changed"),
        ("add", "changed"),
    ]
    pin = api.get("/servers/quiet/pin", tool="echo")
    assert [one["text"].strip() for one in pin["lines"] if one["kind"] == "added"] == [
        '"description": "Say it.",'
    ]
    wrong = api.post("/servers/quiet/pin/accept", tool="echo", digest="0" * 64)
    assert wrong["code"] == "not_shown"
    accepted = api.post("/servers/quiet/pin/accept", tool="echo", digest=pin["digest"])
    assert accepted["standing"] == "pinned"
    assert api.post("/servers/quiet/hide", tool="add", reason="")["status"] == 422
    api.post("/servers/quiet/hide", tool="add", reason="nobody asked for it")
    eventually(lambda: api.get("/servers/quiet")["held"] == [])
    assert (
        api.get("/held-definitions")["definitions"] == []
    )  # nobody is asked about a tool that nobody sees
    assert api.get("/servers/quiet")["row"]["tools"] == 7
    (record,) = records(console, "dev.gatewright.tool.disabled")
    assert record["target"] == {"server_id": "quiet", "tool_name": "add"}


def test_refused_means_held_back_wherever_it_is_said(api: Api, console: Console) -> None:
    """At the server as in the inbox: nobody is asked again until the definition changes, and no file is written."""
    program = console.config.parent / "quiet.py"
    program.write_text(program.read_text().replace("Tell the date and time.", "Tell the time."))
    api.post("/servers/quiet/restart", reason="another version")
    eventually(lambda: bool(api.get("/servers/quiet")["row"]["held"] == 1))
    eventually(lambda: bool(api.get("/held-definitions")["total"]))
    before = console.config.read_text()
    (waiting,) = api.get("/held-definitions")["definitions"]
    assert (waiting["tool"], waiting["standing"]) == ("now", "changed")
    said = {"tool": "now", "digest": waiting["digest"]}
    assert api.post("/servers/quiet/pin/refuse", **said, reason=" ")["code"] == "no_reason"
    wrong = {**said, "digest": "0" * 64}
    assert api.post("/servers/quiet/pin/refuse", **wrong, reason="x")["code"] == "not_shown"
    refused = api.post("/servers/quiet/pin/refuse", **said, reason="it lies")
    assert (refused["standing"], refused["by"]) == ("changed", "local")
    assert api.get("/held-definitions")["definitions"] == []
    (held,) = api.get("/servers/quiet")["held"]
    assert (held["tool"], held["by"]) == ("now", "local")
    assert console.config.read_text() == before
    eventually(lambda: "now" in json.dumps(records(console, "dev.gatewright.tool.refused")))
    # Somebody may think better of it.
    accepted = api.post("/servers/quiet/pin/accept", **said)
    assert accepted["standing"] == "pinned"


def test_the_last_minutes_of_a_server_are_told(api: Api, console: Console) -> None:
    """And lists are sorted by them."""
    before = api.get("/servers", q="demo")["servers"][0]["load"]
    console.command("tool", "call", "demo__count", "to=2")
    console.command("tool", "call", "demo__read_note", "name=none of this name")
    (demo,) = api.get("/servers", q="demo")["servers"]
    load = demo["load"]
    assert (load["calls"], load["errors"]) == (before["calls"] + 2, before["errors"] + 1)
    assert 200 <= load["p95_ms"] < 10_000
    for sort in ("p95", "errors"):
        assert api.get("/servers", sort=sort, desc="true")["servers"][0]["id"] == "demo"


def test_states_that_no_record_has_are_part_of_the_history(api: Api) -> None:
    api.post("/servers/demo/drain")
    eventually(lambda: bool(api.get("/servers/demo")["row"]["state"] == "disconnected"))
    api.post("/servers/demo/start")
    steps = api.get("/servers/demo/history")["steps"]
    # Of each that follows itself one: the connection that was drained may come back in the moment before another takes its place.
    found = [state for state, _ in groupby(one["state"] for one in steps if one["state"])]
    assert found[:3] == ["connected", "disconnected", "draining"]


def test_a_viewer_sees_servers_and_changes_nothing(tmp_path: Path) -> None:
    """Where operators authenticate by keys alone, the URL of `serve` makes a viewer."""
    with running(tmp_path, gateway='operators = "key"') as console:
        viewer = signed_in(console)
        assert [one["id"] for one in viewer.get("/servers")["servers"]] == ["demo"]
        acts = ("start", "restart", "drain", "stop", "enable", "disable")
        said = [viewer.post(f"/servers/demo/{act}", reason="x") for act in acts]
        said.append(viewer.post("/servers/demo/pin/accept", tool="echo", digest="0" * 64))
        said.append(
            viewer.post("/servers/demo/pin/refuse", tool="echo", digest="0" * 64, reason="x")
        )
        said.append(viewer.post("/servers/demo/hide", tool="echo", reason="x"))
        assert [(one["status"], one["code"]) for one in said] == [(403, "role")] * 9


async def test_what_no_agent_sees_costs_none_a_token(tmp_path: Path) -> None:
    """All tools of it are held back until somebody has looked at them."""
    held = DEMO.replace('id = "demo"\n', 'id = "demo"\npin = "approve"\n')
    async with within(tmp_path, held) as console:
        viewer = await console.person("viewer")
        (demo,) = (await viewer.api("GET", "/servers")).json()["servers"]
        assert (demo["tools"], demo["held"], demo["tokens"]) == (8, 8, 0)
        tools = (await viewer.api("GET", "/tools")).json()
        assert (tools["total"], tools["tokens"]) == (8, 0)
        assert all(one["tokens"] > 0 for one in tools["tools"])


async def test_a_list_says_of_how_many_servers_it_shows_some(tmp_path: Path) -> None:
    async with within(tmp_path, DEMO) as console:
        viewer = await console.person("viewer")
        for way, said in (("/servers", "1 server"), ("/servers?q=none", "0 of 1 server")):
            assert f'<span class="sum">{said}</span>' in (await viewer.get(way)).text
