from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from gatewright.call import Target, Tool
from gatewright.config import ToolRule
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.groundhog import META_TOOL, About
from gatewright.servers.spec import ServerSpec
from gatewright.servers.tool_metadata import about_tool, read_words, texts_of, words_of
from gatewright.transport.slices import whole

HELLO = Hello("2025-11-25", {}, {"name": "files", "version": "2.1.0"}, None)
SAID = {
    "name": "list",
    "version": "1.0.0",
    "author": "us",
    "categories": ["filesystem", 7],
    "trust_level": "system",
    "sandbox_level": "container",
    "resource_limits": {"max_memory": 5, "max_execution_time": "x"},
}


def tool(meta: Any) -> Tool:
    raw = {"name": msgspec.Raw(b'"t"'), "_meta": msgspec.Raw(json.dumps(meta).encode())}
    return Tool(Target("files", "t"), "files__t", raw)


def about(one: Tool, spec: ServerSpec) -> About:
    return about_tool(one, words_of(one.definition, own=spec.local), spec, HELLO)


def test_a_foreign_tool_is_believed_about_words_and_not_about_trust() -> None:
    """GRH-msg-2."""
    found = about(tool({META_TOOL: SAID}), ServerSpec(id="files"))
    assert found == About("t", "1.0.0", "us", ("filesystem",), "verified", "none", {})


def test_a_tool_of_ours_is_what_it_says() -> None:
    found = about(tool({META_TOOL: SAID}), ServerSpec(id="files", local=True))
    assert (found.trust_level, found.sandbox_level) == ("system", "container")
    assert found.name == "list"
    assert found.limits == {"max_memory": 5}


@pytest.mark.parametrize(
    ("level", "trust"),
    [
        (None, "verified"),
        ("standard", "verified"),
        ("trusted", "system"),
        ("sandboxed", "community"),
        ("unheard of", "untrusted"),
    ],
)
def test_a_tool_is_trusted_as_far_as_its_server(level: str | None, trust: str) -> None:
    """GRH-msg-2: table 2.4 of the decisions."""
    spec = ServerSpec(id="files", trust_level=level)
    assert about(tool({}), spec).trust_level == trust


def test_the_operator_files_a_tool_where_he_wants() -> None:
    spec = ServerSpec(id="files", tools={"t": ToolRule(categories=("ours",))})
    assert about(tool({META_TOOL: SAID}), spec).categories == ("ours",)


@pytest.mark.parametrize("meta", [None, 7, [], {}, {META_TOOL: None}, {META_TOOL: "x"}])
def test_a_tool_that_says_nothing_has_its_servers_version(meta: Any) -> None:
    """GRH-msg-4."""
    found = about(tool(meta), ServerSpec(id="files"))
    assert (found.name, found.version) == ("t", "2.1.0")


def test_nothing_of_meta_is_decoded_but_what_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    real = jsonrpc.decode

    def counted(data: Any) -> Any:
        decoded.append(len(data))
        return real(data)

    monkeypatch.setattr(jsonrpc, "decode", counted)
    rows = [{"a": 1}] * 5000
    said = tool({"rows": rows, META_TOOL: {**SAID, "more": rows, "author": rows}})
    found = words_of(said.definition)
    assert (found.version, found.author, found.categories) == ("1.0.0", "", ("filesystem",))
    assert max(decoded) < 50


def test_the_words_of_a_tool_that_did_not_change_are_not_read_again() -> None:
    one, other = tool({META_TOOL: SAID}), tool({META_TOOL: {"version": "2"}})
    first = whole(read_words([one], {}, {}, own=False))
    assert first["t"].version == "1.0.0"
    again = whole(read_words([one], {"t": one}, first, own=False))
    assert again["t"] is first["t"]
    assert whole(read_words([other], {"t": one}, first, own=False))["t"].version == "2"
    assert whole(read_words([tool({})], {"t": one}, first, own=False)) == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b'["a",7,"bcd","e"]', ["a", "bc"]),
        (b'{"a":"b"}', []),
        (b'["a"' + b',"a"' * 1000 + b"]", []),
        (b'["' + b"a" * 70_000 + b'"]', []),
    ],
)
def test_of_a_list_the_texts_among_its_first_elements_count(text: bytes, found: list[str]) -> None:
    assert texts_of(msgspec.Raw(text), 3, 2) == found
    assert texts_of(None, 3, 2) == []
