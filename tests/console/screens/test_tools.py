"""Screen `tools` by its API, with a whole gateway: catalogue, search as an agent, one tool, a call by hand and its record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.asking import Api, signed_in
from tests.console.running import DEMO, Console, running

AGENTS = """
[[grants]]
agent = "reader"
server = "demo"
tool = "read_note"

[agents.reader]
role = "reads"

[[grants]]
agent = "nobody"
server = "demo"
permission = "deny"
"""


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running(tmp_path_factory.mktemp("console"), DEMO + AGENTS) as found:
        yield found


@pytest.fixture(scope="module")
def api(console: Console) -> Api:
    return Api(console)


def test_the_catalogue_is_sorted_filtered_and_paged(api: Api) -> None:
    names: list[str] = []
    after = ""
    while True:
        page = api.get("/tools", sort="tokens", desc="true", limit=3, after=after)
        names += [one["tool"] for one in page["tools"]]
        after = page["next"]
        if not after:
            break
    assert (len(names), names[0], page["total"]) == (8, "write_note", 8)
    risky = api.get("/tools", risk="dangerous")["tools"]
    assert [one["name"] for one in risky] == ["demo__delete_all_notes"]
    assert api.get("/tools", server="nothing")["total"] == 0
    assert api.get("/tools", after="nonsense")["status"] == 422


def test_a_search_says_why_and_what_it_costs(api: Api) -> None:
    found = api.get("/tools/search", q="remove every note")
    assert found["hits"][0]["tool"] == "delete_all_notes"
    assert {"word": "remove", "where": "name", "means": "delete"} in found["hits"][0]["why"]
    assert found["budget"]["used"] == sum(one["tokens"] for one in found["hits"])
    assert api.get("/tools/search", q=" ")["status"] == 422


def test_a_search_as_an_agent_finds_what_that_may_use(api: Api) -> None:
    of_nobody = api.get("/tools/search", q="note", agent="nobody")
    assert (of_nobody["hits"], of_nobody["total"]) == ([], 0)
    assert api.get("/tools/search", q="note", agent="reader")["total"] > 0


def test_one_tool_says_who_may_call_it(api: Api) -> None:
    one = api.get("/tools/one", server="demo", tool="delete_all_notes")
    assert (one["row"]["risk"], one["confirmation"]) == ("dangerous", True)
    may = {caller["agent"]: caller["allowed"] for caller in one["callers"]}
    assert (may["nobody"], may["anonymous"]) == (False, True)
    assert api.get("/tools/one", server="demo", tool="nothing")["status"] == 404
    assert api.get("/tools/one", server="mgp", tool="tools.discover")["status"] == 404


def test_a_call_by_hand_is_marked_in_the_record(api: Api, console: Console) -> None:
    said = api.post("/tools/try", server="demo", tool="add", arguments='{"a": 1.5, "b": 2}')
    assert (said["ended"], said["blocks"]) == ("answered", [{"kind": "text", "text": "3.5"}])
    assert json.loads(said["structured"]) == {"sum": 3.5}
    shown = console.command("audit", "show", said["trace_id"], "--json").stdout
    assert '"manual":true' in shown.replace(" ", "")
    assert '"door":"console"' in shown.replace(" ", "")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [("{", "no_json"), ("[1]", "no_object"), ("[" * 5000, "limit_exceeded")],
)
def test_what_are_no_arguments_is_refused_before_any_call(
    api: Api, arguments: str, code: str
) -> None:
    said = api.post("/tools/try", server="demo", tool="echo", arguments=arguments)
    assert (said["status"], said["code"]) == (422, code)


def test_a_call_by_hand_is_refused_as_any_other(api: Api) -> None:
    said = api.post("/tools/try", server="demo", tool="echo", arguments='{"text": 5}')
    assert (said["ended"], said["code"], said["gate"]) == ("refused", "invalid_args", "schema")


def test_a_viewer_looks_and_calls_nothing(tmp_path: Path) -> None:
    with running(tmp_path, gateway='operators = "key"') as console:
        viewer = signed_in(console)
        assert viewer.get("/tools")["total"] == 8
        said = viewer.post("/tools/try", server="demo", tool="echo", arguments='{"text": "x"}')
        assert (said["status"], said["code"]) == (403, "role")
