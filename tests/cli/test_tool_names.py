"""What a name means that a command was given; what commands do with it is in `test_grant` and `test_server_edit`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.cli.tool_names import Subject, no_server, servers_of, spelled, split
from tests.cli.shell import Shell

NOWHERE = Path("/nonexistent/gatewright")
"""A folder of state that there is not: no server was registered."""


def settings(**servers: str) -> Any:
    found = [
        SimpleNamespace(id=name, tool_prefix=prefix or None) for name, prefix in servers.items()
    ]
    return SimpleNamespace(servers=found, storage=SimpleNamespace(path=NOWHERE))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("files", Subject("files")),
        ("files/read", Subject("files", "read")),
        ("files__read", Subject("files", "read")),
        ("files.read", Subject("files", "read")),
        ("files/a/b", Subject("files", "a/b")),
        ("files_old__read", Subject("files_old", "read")),
        ("f__read", Subject("files", "read")),
        ("mgp/access.query", Subject("mgp", "access.query")),
        ("gatewright__echo", Subject("gatewright", "echo")),
        ("files__", None),
        ("other__read", None),
        ("", None),
    ],
)
def test_a_name_is_a_server_or_one_tool_however_it_is_written(
    text: str, meant: Subject | None
) -> None:
    assert split(settings(files="f", files_old=""), text) == meant


_IDS = st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True)


@given(st.lists(_IDS, min_size=1, max_size=4, unique=True), st.text(min_size=1, max_size=12))
def test_what_a_record_shows_leads_back_to_the_same_tool(ids: list[str], tool: str) -> None:
    for server in ids:
        assert split(settings(**dict.fromkeys(ids, "")), f"{server}/{tool}") == Subject(
            server, tool
        )


def test_a_server_that_there_is_not_is_told_with_those_that_there_are() -> None:
    known = settings(files="", demo="")
    assert servers_of(known) == ["files", "demo", "gatewright", "mgp"]
    assert no_server(known, "dmeo").hint == "did you mean demo?"
    assert no_server(known, "zzzzzz").hint == "servers: demo, files"
    assert no_server(settings(), "zzzzzz").hint == "servers: there are none"


@given(
    st.lists(_IDS, min_size=1, max_size=4, unique=True),
    st.from_regex(r"[a-z_]{1,9}", fullmatch=True),
)
def test_what_is_shown_leads_back_to_the_tool(ids: list[str], tool: str) -> None:
    for server in ids:
        assert split(settings(**dict.fromkeys(ids, "")), spelled(server, tool)) == (server, tool)


def test_a_name_that_two_tools_can_have_is_neithers(shell: Shell) -> None:
    both = "".join(f'[[servers]]\nid = "{one}"\ncommand = "x"\n' for one in ("a", "a__b"))
    shell.write("mgp.toml", both)
    key = shell.run("key", "create", "root", "--operator").out.strip()
    words = ("bot", "a__b__c", "--key", key)
    for more in ((), ("--deny", "--allow-unknown")):
        done = shell.run("grant", "add", *words, *more)
        assert done.code == 2, more
        assert "can mean a__b/c or a/b__c" in done.err, more
    assert shell.run("grant", "add", "bot", "a/b__c", "--key", key).code == 0
    (issued,) = shell.run("grant", "list", "--json").document
    assert (issued["server"], issued["tool"]) == ("a", "b__c")


def test_the_gateways_own_tools_are_shown_so_that_they_lead_back() -> None:
    assert spelled("mgp", "access.query") == "mgp/access.query"
    assert split(settings(), "mgp/access.query") == Subject("mgp", "access.query")
    assert spelled("files", None) == "files"
