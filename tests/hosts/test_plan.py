"""What an import would do with what is there already."""

from __future__ import annotations

import json
from typing import Any

from gatewright.hosts.model import Reading, Suggestion
from gatewright.hosts.plan import Known, Plan, make_plan
from gatewright.hosts.read import read

TOKEN = "ghp_abcdefghijklmnop1234"


def _reading(**servers: dict[str, Any]) -> Reading:
    return read(json.dumps({"mcpServers": servers}).encode())


def _ids(plan: Plan) -> list[tuple[str, str]]:
    return [(one.id, one.action) for one in plan.servers]


def _skipped(plan: Plan) -> list[tuple[str, str]]:
    return [(one.server, one.what) for one in plan.notes if one.level == "skipped"]


def test_another_server_of_the_same_name_gets_a_number() -> None:
    known = Known(tables={"a": {"id": "a", "command": "other"}})
    plan = make_plan([_reading(a={"command": "x"}), _reading(a={"command": "y"})], known)
    assert _ids(plan) == [("a-2", "add"), ("a-3", "add")]


def test_the_same_server_is_taken_once_whoever_has_it() -> None:
    first = _reading(a={"command": "x", "timeout": 5})
    plan = make_plan([first, _reading(a={"command": "x", "title": "t"})], Known())
    assert _ids(plan) == [("a", "add")]
    assert _skipped(plan) == [("a", "a is the same server")]


def test_one_command_in_two_folders_is_two_servers() -> None:
    start = {"command": "python3", "args": ["server.py"]}
    readings = [_reading(s={**start, "cwd": folder}) for folder in ("/a", "/b", "/a/", "/here")]
    plan = make_plan(readings, Known(folder="/here"))
    assert [(one.id, one.table.get("cwd")) for one in plan.servers] == [
        ("s", "/a"),
        ("s-2", "/b"),
        ("s-3", None),
    ]
    assert len(plan.held) == 1
    written = Known(
        tables={one.id: {**one.table, "cwd": "../a"} for one in plan.servers[:1]}, folder="/here"
    )
    assert _ids(make_plan(readings[:1], written)) == []
    # In no folder, a server elsewhere is the same.
    remote = [_reading(r={"url": "https://a.example/mcp", "cwd": one}) for one in ("/a", "/b")]
    assert _ids(make_plan(remote, Known())) == [("r", "add")]


def test_what_the_same_server_has_by_other_rules_is_told() -> None:
    plan = make_plan(
        [_reading(a={"command": "x"}), _reading(a={"command": "x", "disabled": True})], Known()
    )
    assert _skipped(plan) == [("a", "a is the same server")]
    assert "not taken over, as a is there already: enabled" in [one.what for one in plan.notes]


def test_replace_takes_the_place_of_what_was_there_but_not_of_what_came_with_it() -> None:
    known = Known(tables={"a": {"id": "a", "command": "other"}})
    plan = make_plan(
        [_reading(a={"command": "x"}), _reading(a={"command": "y"})], known, replace=True
    )
    assert _ids(plan) == [("a", "replace"), ("a-2", "add")]


def test_a_second_import_finds_its_secrets_and_servers_again() -> None:
    reading = _reading(a={"command": "x", "env": {"TOKEN": TOKEN}})
    first = make_plan([reading], Known())
    assert dict(first.secrets) == {"a.TOKEN": TOKEN}
    assert first.servers[0].table["env"] == {"TOKEN": "${secret:a.TOKEN}"}
    tables = {one.id: one.table for one in first.servers}
    again = make_plan([reading], Known(tables=tables, secret=dict(first.secrets).get))
    assert (_ids(again), dict(again.secrets)) == ([], {})
    assert _skipped(again) == [("a", "a is the same server")]


def test_a_secret_of_the_same_name_is_not_overwritten_unless_it_is_replaced() -> None:
    reading = _reading(a={"command": "x", "env": {"TOKEN": TOKEN}})
    held = {"a.TOKEN": "another"}
    known = Known(
        tables={"a": {"id": "a", "command": "x", "env": {"TOKEN": "${secret:a.TOKEN}"}}},
        secret=held.get,
    )
    beside = make_plan([reading], known)
    assert _ids(beside) == [("a-2", "add")]
    assert dict(beside.secrets) == {"a-2.TOKEN": TOKEN}


def test_a_secret_that_another_configuration_uses_is_not_replaced() -> None:
    reading = _reading(a={"command": "x", "env": {"TOKEN": TOKEN}})
    held = {"a.TOKEN": "another", "a.TOKEN-2": "mine"}
    known = Known(
        tables={"a": {"id": "a", "command": "x", "env": {"TOKEN": "${secret:a.TOKEN}"}}},
        secret=held.get,
        own=lambda name: name == "a.TOKEN-2",
    )
    plan = make_plan([reading], known, replace=True)
    assert _ids(plan) == [("a", "replace")]
    assert dict(plan.secrets) == {"a.TOKEN-2": TOKEN}


def test_a_secret_of_the_same_name_without_a_server_stays() -> None:
    reading = _reading(a={"command": "x", "env": {"TOKEN": TOKEN}})
    plan = make_plan([reading], Known(secret={"a.TOKEN": "another"}.get))
    assert dict(plan.secrets) == {"a.TOKEN-2": TOKEN}
    assert plan.servers[0].secrets == ("a.TOKEN-2",)


def test_an_entry_that_leads_back_to_us_is_skipped() -> None:
    plan = make_plan(
        [
            _reading(
                one={"command": "/opt/bin/gatewright", "args": ["bridge"]},
                two={
                    "command": "python3",
                    "args": ["-m", "gatewright", "bridge", "--profile", "p"],
                },
                three={"command": "uvx", "args": ["--from", "x", "gatewright", "serve"]},
                four={"type": "http", "url": "http://127.0.0.1:8420/mcp/"},
                other={"command": "gatewright-tools", "args": ["serve"]},
                far={"type": "http", "url": "http://127.0.0.1:9999/mcp"},
            )
        ],
        Known(urls={"http://127.0.0.1:8420/mcp"}),
    )
    assert [name for name, _ in _ids(plan)] == ["other", "far"]
    assert [name for name, _ in _skipped(plan)] == ["one", "two", "three", "four"]


def test_notes_and_suggestions_go_with_the_name_that_the_server_got() -> None:
    known = Known(tables={"a": {"command": "other"}})
    plan = make_plan([_reading(a={"url": "https://h/sse", "autoApprove": ["t"]})], known)
    assert plan.suggestions == (
        Suggestion(server="a-2", tools=("t",), key="mcpServers.a.autoApprove"),
    )
    assert [note.server for note in plan.notes] == ["a-2"]


def test_suggestions_of_a_server_that_was_left_out_go_with_it() -> None:
    plan = make_plan(
        [_reading(a={"command": "gatewright", "args": ["bridge"], "trust": True})], Known()
    )
    assert plan.suggestions == ()


def test_a_table_that_would_break_the_file_is_refused_alone() -> None:
    known = Known(flaw=lambda table: "command: write one" if table["id"] == "bad" else "")
    plan = make_plan([_reading(bad={"command": "x"}, good={"command": "y"})], known)
    assert _ids(plan) == [("good", "add")]
    assert plan.refused == 1


def test_the_plan_says_what_has_to_be_there_and_what_is_not_pinned() -> None:
    reading = _reading(
        a={"command": "npx", "args": ["-y", "p", "${A}"], "env": {"B": "${A}/${C:-d}"}}
    )
    (planned,) = make_plan([reading], Known()).servers
    assert planned.reads == ("A", "C")
    assert planned.unpinned is not None
    assert planned.unpinned.pin == "p@VERSION"
    known = Known(version=lambda loose: "1.2.3" if loose.name == "p" else "")
    (again,) = make_plan([reading], known).servers
    assert again.unpinned is not None
    assert again.unpinned.pin == "p@1.2.3"


def test_no_repr_of_a_plan_has_a_value_in_it() -> None:
    plan = make_plan(
        [_reading(a={"command": "x", "env": {"TOKEN": TOKEN, "B": "b-value"}})], Known()
    )
    assert TOKEN not in repr(plan)
    assert "b-value" not in repr(plan)


def test_a_secret_where_no_reference_can_stand_is_refused_with_its_server() -> None:
    plan = make_plan(
        [
            _reading(
                name={"command": "x", "env": {TOKEN: "v"}},
                tool={"command": "x", "disabledTools": [TOKEN]},
                read={"command": "x", "args": [f"${{{TOKEN}}}"]},
                scope={"url": "https://h", "oauth": {"scopes": [f"${{A:-{TOKEN}}}"]}},
                good={"command": "x"},
            )
        ],
        Known(),
    )
    assert _ids(plan) == [("good", "add")]
    assert plan.refused == 4
    assert TOKEN not in repr(plan.notes)


def test_a_placeholder_is_asked_for_instead_of_kept() -> None:
    reading = _reading(a={"command": "x", "env": {"TOKEN": "<YOUR_TOKEN>", "PASSWORD": "real"}})
    plan = make_plan([reading], Known())
    assert dict(plan.secrets) == {"a.PASSWORD": "real"}
    assert plan.servers[0].reads == ("secret:a.TOKEN", "secret:a.PASSWORD")


def test_so_many_servers_of_one_name_are_told_apart_and_the_rest_refused() -> None:
    plan = make_plan([_reading(a={"command": f"x{n}"}) for n in range(52)], Known())
    assert [one.id for one in plan.servers] == ["a", *(f"a-{n}" for n in range(2, 51))]
    assert [one.what for one in plan.notes if one.level == "refused"] == [
        "there are too many servers of this name"
    ] * 2


def test_programs_come_in_isolated_where_the_operator_says_so() -> None:
    given = _reading(
        a={"command": "x"},
        b={"url": "http://127.0.0.1:9/mcp"},
        c={"command": "y", "isolation": "strict"},
    )
    plan = make_plan([given], Known(isolation="confined"))
    assert {one.id: one.table.get("isolation") for one in plan.servers}["a"] == "confined"
    assert "isolation" not in {one.id: one.table for one in plan.servers}["b"]
    assert all("isolation" not in one.table for one in make_plan([given], Known()).servers)
