"""Edits of a host's file are checked by reading both texts before they are handed on."""

import pytest

from gatewright.hosts.edit import add_entry, entries, has_container, remove_entries, same_but
from gatewright.hosts.host_table import HOSTS, Host
from gatewright.hosts.parse import MAX_SLOW_BYTES
from gatewright.hosts.whole_file import CannotEdit, Unreadable

CURSOR, GOOSE, CONTINUE, CODEX = (HOSTS[id] for id in ("cursor", "goose", "continue", "codex"))


def test_entries_are_read_in_every_syntax() -> None:
    assert entries(CURSOR, '{"mcpServers": {"a": {}, "b": 1}}') == {"a": {}, "b": 1}
    assert entries(CODEX, "[mcp_servers.a]\nurl = 'x'\n") == {"a": {"url": "x"}}
    assert entries(GOOSE, "extensions:\n  a: {}\n") == {"a": {}}
    assert entries(CONTINUE, "mcpServers:\n- name: a\n- other\n") == {"a": {"name": "a"}}
    assert entries(CURSOR, '{"mcpServers": []}') == entries(CURSOR, "") == {}


def test_a_container_counts_although_it_is_empty() -> None:
    with_one = (
        (CURSOR, '{"mcpServers": {}}'),
        (CODEX, "[mcp_servers]\n"),
        (GOOSE, "extensions:\n"),
    )
    assert all(has_container(host, text) for host, text in with_one)
    assert not any(has_container(host, text) for host in HOSTS.values() for text in ("", "\n"))
    assert not has_container(CURSOR, '{"a": {"mcpServers": {}}}')


@pytest.mark.parametrize("id", ["cursor", "codex", "goose", "continue"])
def test_a_name_that_is_taken_is_not_taken_away(id: str) -> None:
    text = add_entry(HOSTS[id], "", "gw", {"name": "gw", "url": "x"})
    with pytest.raises(CannotEdit, match="gw` is already there"):
        add_entry(HOSTS[id], text, "gw", {"name": "gw", "url": "y"})


@pytest.mark.parametrize("text", ["a: 1\n...\n", "  a: 1\n"])
def test_a_text_without_a_place_is_left_alone(text: str) -> None:
    with pytest.raises(CannotEdit, match="leaves no place"):
        add_entry(GOOSE, text, "gw", {"type": "x"})


def test_a_text_that_cannot_be_read_is_left_alone() -> None:
    for host, text in ((CURSOR, "{\n"), (CODEX, "a =\n"), (GOOSE, "a: [\n")):
        with pytest.raises(Unreadable):
            add_entry(host, text, "gw", {"type": "x"})


def test_a_file_begins_with_what_its_host_needs() -> None:
    text = add_entry(CONTINUE, "# mine\n", "gw", {"name": "gw"})
    assert text == (
        "# mine\nname: Local Config\nversion: 1.0.0\nschema: v1\nmcpServers:\n- name: gw\n"
    )


def test_several_entries_go_at_once() -> None:
    text = '{"mcpServers": {"a": 1, "b": 2, "c": 3}}'
    assert entries(CURSOR, remove_entries(CURSOR, text, ["a", "c"], emptied=False)) == {"b": 2}
    with pytest.raises(CannotEdit):
        remove_entries(CURSOR, text, ["d"], emptied=False)


def test_only_the_named_entries_may_differ() -> None:
    one, other = '{"mcpServers": {"a": 1}, "x": 1}', '{"x": 1, "mcpServers": {"a": 1, "b": 2}}'
    assert same_but(CURSOR, one, other, {"b"})
    assert not same_but(CURSOR, one, other, {"a"})
    assert same_but(CURSOR, '{"x": 1}', '{"x": 1, "mcpServers": {"b": 1}}', {"b"})
    assert not same_but(CURSOR, '{"x": 1}', '{"x": 2}', {"b"})
    assert not same_but(CURSOR, '{"x": true}', "[]", {"b"})


@pytest.mark.parametrize("host", [one for one in HOSTS.values() if one.syntax in {"toml", "yaml"}])
def test_a_long_text_in_a_syntax_that_is_slow_to_read_is_refused(host: Host) -> None:
    with pytest.raises(Unreadable, match="more than 2 MB"):
        entries(host, "# x\n" * (MAX_SLOW_BYTES // 4 + 1))
