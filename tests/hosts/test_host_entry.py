"""One entry of a host's file: aliases, units, and what cannot be said."""

from typing import Any

import pytest

from gatewright.hosts.dialects import DIALECTS
from gatewright.hosts.entry import Entry
from gatewright.hosts.host_entry import check_url, number_text, read_entry
from gatewright.hosts.model import Refused, Server, Tools


def _read(data: dict[str, Any], form: str = "mcpServers") -> Server:
    dialect = DIALECTS[form]
    return read_entry(Entry(data, syntaxes=dialect.syntaxes), dialect)[0]


@pytest.mark.parametrize(
    ("word", "transport"),
    [
        ("http", "http"),
        ("streamable-http", "http"),
        ("streamableHttp", "http"),
        ("streamable_http", "http"),
        ("remote", "http"),
        ("sse", "sse"),
    ],
)
def test_every_spelling_of_a_transport_is_known(word: str, transport: str) -> None:
    assert _read({"type": word, "url": "https://a.example/x"}).transport == transport


def test_a_command_may_be_a_list_a_text_or_a_table() -> None:
    meant = ("x", ("a", "b"))
    for data in (
        {"command": ["x", "a", "b"]},
        {"command": ["x", "a"], "args": ["b"]},
        {"cmd": "x", "args": ["a", "b"]},
        {"command": {"path": "x", "args": ["a", "b"]}},
    ):
        server = _read(data)
        assert (server.command, server.args) == meant


@pytest.mark.parametrize(
    ("form", "value", "seconds", "told"),
    [
        ("gemini", 1500, 1.5, "1500 ms is 1.5 s"),
        ("cline", 90, 90.0, ""),
        ("mcpServers", 90, 90.0, "90 s is 90 s"),
        ("mcpServers", 90000, 90.0, "90000 ms is 90 s"),
        ("goose", 1e9, 86400.0, ""),
    ],
)
def test_a_timeout_is_converted_and_the_value_told(
    form: str, value: float, seconds: float, told: str
) -> None:
    dialect = DIALECTS[form]
    entry = Entry({"command": "x", "timeout": value}, syntaxes=())
    server, _ = read_entry(entry, dialect)
    assert server.timeouts.call_s == seconds
    assert [note.what for note in entry.notes] == ([told] if told else [])
    assert number_text(30.0) == "30"


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"command": ""},
        {"command": []},
        {"command": {}},
        {"type": "http"},
        {"url": "unix:///a"},
        {"url": "pipe://a"},
        {"url": "ftp://a"},
        {"url": "https://"},
        {"url": "https://a b"},
        {"url": "https://a:0/"},
        {"url": "https://[/"},
        {"type": "carrier-pigeon", "url": "https://a"},
        {"command": "x", "env_vars": ["A B"]},
        {"url": "https://a", "env_http_headers": {"A": "not a name"}},
        {"url": "https://a", "bearer_token_env_var": "not a name"},
        {"command": {"path": ["x"]}},
        {"command": "x", "args": [["x"]]},
        {"command": "x\0"},
    ],
)
def test_what_cannot_be_reached_is_refused_with_a_way_out(data: dict[str, Any]) -> None:
    with pytest.raises(Refused) as found:
        _read(data)
    assert found.value.instead
    assert not found.value.harmless


@pytest.mark.parametrize("url", ["${A}", "${A}/b", "https://${H}/x", "http://h:${P}/x"])
def test_a_url_with_variables_is_judged_when_it_is_whole(url: str) -> None:
    check_url(url)
    assert _read({"url": url}).url == url


def test_a_server_of_the_host_itself_is_no_loss() -> None:
    for data in ({"type": "builtin"}, {"source": "extension"}):
        with pytest.raises(Refused) as found:
            _read(data)
        assert found.value.harmless


def test_lists_of_tools_are_understood_under_all_their_names() -> None:
    both = Tools(include=("a",), exclude=("b",))
    for include, exclude in (
        ("includeTools", "excludeTools"),
        ("enabled_tools", "disabled_tools"),
        ("available_tools", "disabledTools"),
        ("tools", "disabledTools"),
    ):
        assert _read({"command": "x", include: ["a"], exclude: ["b"]}).tools == both
    assert _read({"command": "x", "tools": ["*"]}).tools == Tools()
    assert _read({"command": "x", "tools": ["*"], "includeTools": ["a"]}).tools.include == ("a",)


@pytest.mark.parametrize("key", ["includeTools", "enabled_tools", "allowedTools", "tools"])
def test_a_list_of_no_tools_lets_none_through(key: str) -> None:
    """Only Goose writes an empty list where it means every tool."""
    assert _read({"command": "x", key: []}).tools == Tools(include=())
    assert _read({"cmd": "x", "available_tools": []}, "goose").tools == Tools()


@pytest.mark.parametrize(
    ("data", "on"),
    [
        ({}, True),
        ({"enabled": True, "disabled": False}, True),
        ({"enabled": False}, False),
        ({"disabled": True}, False),
        ({"enabled": "false"}, False),
        ({"disabled": "true"}, False),
        ({"enabled": None, "disabled": None}, True),
    ],
)
def test_what_is_switched_off_stays_off_however_it_is_written(
    data: dict[str, Any], on: bool
) -> None:
    entry = Entry({"command": "x", **data})
    assert read_entry(entry, DIALECTS["mcpServers"])[0].enabled is on
    assert [one.key for one in entry.notes] == [k for k, v in data.items() if isinstance(v, str)]


@pytest.mark.parametrize("key", ["autoApprove", "alwaysAllow", "trust"])
def test_what_was_trusted_is_suggested_and_changes_nothing_in_the_server(key: str) -> None:
    dialect = DIALECTS["mcpServers"]
    plain = _read({"command": "x"})
    for value, tools in (
        (True, ("*",)),
        (["a"], ("a",)),
        (["*"], ("*",)),
        (False, None),
        ([], None),
    ):
        server, confirmed = read_entry(Entry({"command": "x", key: value}), dialect)
        assert server == plain
        assert [one.tools for one in confirmed] == ([] if tools is None else [tools])


def test_single_tools_that_codex_approves_are_suggested() -> None:
    data = {"command": "x", "tools": {"a": {"approval_mode": "approve"}, "b": {}}}
    _, confirmed = read_entry(Entry(data), DIALECTS["codex"])
    assert [one.tools for one in confirmed] == [("a",)]
