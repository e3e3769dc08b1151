"""Where in a document servers are."""

from collections.abc import Callable
from typing import Any

import pytest

from gatewright.hosts.entry_places import find_entries, has_place, is_off, meaning_of, secret_name
from gatewright.hosts.model import Refused
from tests.costs import DOUBLED, grows

ONE = {"a": {"command": "x", "type": "stdio"}}


@pytest.mark.parametrize(
    ("document", "key", "form"),
    [
        ({"mcpServers": ONE}, "mcpServers.a", "mcpServers"),
        ({"servers": ONE}, "servers.a", "vscode"),
        ({"mcp": {"servers": ONE}}, "mcp.servers.a", "vscode"),
        ({"customizations": {"vscode": {"mcp": {"servers": ONE}}}}, None, "vscode"),
        ({"mcp": ONE}, "mcp.a", "opencode"),
        ({"context_servers": ONE}, "context_servers.a", "zed"),
        ({"mcp_servers": ONE}, "mcp_servers.a", "codex"),
        ({"extensions": ONE}, "extensions.a", "goose"),
        ({"amp.mcpServers": ONE}, "amp.mcpServers.a", "amp"),
        ({"projects": {"/p": {"mcpServers": ONE}}}, "projects./p.mcpServers.a", "claude-code"),
        ({"mcpServers": [{"name": "n", "command": "x"}]}, "mcpServers.0", "continue"),
    ],
)
def test_each_place_is_found_by_its_key(document: Any, key: str | None, form: str) -> None:
    (found,) = find_entries(document)
    assert found.dialect.format == form
    assert key is None or found.key == key
    assert has_place(document)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"mcpServers": 1},
        {"mcpServers": None},
        {"servers": []},
        {"mcp": {"allowed": ["a"]}},
        {"projects": {"/p": {"mcpServers": []}, "/q": None}},
        {"customizations": {"vscode": []}},
    ],
)
def test_words_that_others_use_too_are_no_servers(document: Any) -> None:
    assert list(find_entries(document)) == []


def test_the_extensions_of_gemini_are_not_those_of_goose() -> None:
    document = {"extensions": {"disabled": []}, "mcpServers": ONE}
    assert [one.key for one in find_entries(document)] == ["mcpServers.a"]


def test_what_a_host_would_ask_for_is_a_secret_or_a_variable() -> None:
    inputs = [
        {"id": "hidden", "type": "promptString", "password": True},
        {"id": "given", "type": "promptString", "default": "d"},
        {"id": "asked", "type": "promptString"},
        {"id": "run", "type": "command", "command": "x"},
        "no table",
    ]
    (found,) = find_entries({"servers": ONE, "inputs": inputs}, workspace="/w")
    meaning = meaning_of(found)
    assert [meaning(f"input:{name}") for name in ("hidden", "given", "asked", "gone")] == [
        "${secret:hidden}",
        "${GIVEN:-d}",
        "${ASKED}",
        "${secret:gone}",
    ]
    assert meaning("workspaceFolder") == "/w"
    assert meaning("OTHER") is None
    with pytest.raises(Refused):
        meaning("input:run")


def test_a_secret_can_be_named_after_anything() -> None:
    assert [secret_name(one) for one in ("a b/c", "..", "x" * 99)] == ["a-b-c", "value", "x" * 64]


@pytest.mark.parametrize(
    ("more", "off"),
    [
        ({}, False),
        ({"mcp": {"allowed": ["a"]}}, False),
        ({"mcp": {"allowed": ["b"]}}, True),
        ({"mcp": {"allowed": [], "excluded": ["a"]}}, True),
        ({"allowMCPServers": ["b"]}, True),
        ({"excludeMCPServers": ["a"]}, True),
        ({"disabledMcpServers": ["a"]}, True),
        ({"mcp": 1, "disabledMcpServers": {"a": 1}}, False),
    ],
)
def test_a_server_may_be_switched_off_beside_its_entry(more: dict[str, Any], off: bool) -> None:
    (found,) = find_entries({"mcpServers": ONE, **more})
    assert is_off(found) is off


@pytest.mark.parametrize("key", ["disabledMcpServers", "allowMCPServers", "inputs"])
def test_long_lists_beside_the_entries_cost_what_they_are_long(key: str) -> None:
    def work(count: int) -> Callable[[], object]:
        names = [f"s{n}" for n in range(count)]
        beside = [{"id": name} for name in names] if key == "inputs" else names
        document = {"mcpServers": {name: {"command": "x"} for name in names}, key: beside}

        def look() -> None:
            for found in find_entries(document):
                is_off(found)
                meaning_of(found)

        return look

    assert grows(work(500), work(2000)) < DOUBLED**2
