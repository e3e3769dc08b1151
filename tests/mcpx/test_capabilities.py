"""The pattern grammar of decision C-22, as tables."""

from __future__ import annotations

import time

import pytest

from gatewright.mcpx.capabilities import PROFILES, Capabilities, flaw_of, matches

CALL = "mcp/request:tools/call"
YES = [
    ("mcp/*", "mcp/request:tools/call:x"),
    ("mcp/*", "mcp/response:tools/call"),
    ("mcp/*", "mcp/proposal:tools/call:x/y:z"),
    ("mcp/request:*", "mcp/request:notifications/initialized"),
    ("mcp/request:tools/*", CALL),
    ("mcp/request:tools/*", "mcp/request:tools/list"),
    ("mcp/request:tools/*", "mcp/request:tools/call:read_file"),
    (CALL, CALL),
    (CALL, CALL + ":anything:at/all"),
    ("mcp/request:resources/read", "mcp/request:resources/read:file:///etc/hosts"),
    ("mcp/request:*/list", "mcp/request:tools/list"),
    ("mcp/request:*/list", "mcp/request:resources/list"),
    ("mcp/request:*/list", "mcp/request:prompts/list"),
    ("mcp/request:*/list", "mcp/request:resources/templates/list"),
    ("mcp/*:tools/call:safe", "mcp/request:tools/call:safe"),
    ("mcp/request:tools/call:a*", CALL + ":a"),
    ("mcp/response:*", "mcp/response:tools/call:x"),
    ("mcp/proposal:*", "mcp/proposal:tools/call"),
    ("chat", "chat"),
    ("com.example/note", "com.example/note"),
]
NO = [
    ("mcp/request:*/list", CALL),
    ("mcp/request:*/list", CALL + ":x/list"),
    ("mcp/request:*/list", CALL + ":/list"),
    ("mcp/request:*/list", "mcp/request:/list"),
    ("mcp/request:*/list", "mcp/request:tools/list:x"),
    ("mcp/request:*/list", "mcp/request:tools/list\n"),
    ("mcp/request:*", "mcp/response:tools/call"),
    ("mcp/request:*", "mcp/proposal:tools/call"),
    ("mcp/request:*", "mcp/requests:tools/call"),
    ("mcp/response:*", CALL),
    ("mcp/proposal:*", CALL),
    ("mcp/request:resources/*", "mcp/request:tools/list"),
    (CALL, "mcp/request:tools/calls"),
    (CALL, "mcp/request:tools/call/x"),
    (CALL, "MCP/request:tools/call"),
    (CALL + ":safe", CALL),
    (CALL + ":safe", CALL + ":safe:x"),
    (CALL + ":safe", CALL + ":safe_tool"),
    ("mcp/request", CALL),
    ("mcp.request:tools.call", CALL),
    ("mcp/request:(tools|x)/call", CALL),
    ("mcp/request:tools/cal?", CALL),
    ("chat", "chat:x"),
    ("chat", "chat/x"),
    ("chat", "chats"),
    ("chat", "Chat"),
    ("ch*", "chat"),
    ("*", "chat"),
    ("*", CALL),
    ("**", CALL),
    ("*", "system/welcome"),
    ("system/*", "system/welcome"),
    ("system/welcome", "system/welcome"),
    ("s*", "system/welcome"),
    ("presence", "presence"),
    ("pres*", "presence"),
    ("", ""),
]


@pytest.mark.parametrize(("pattern", "kind"), YES)
def test_a_capability_lets_through_what_the_grammar_says(pattern: str, kind: str) -> None:
    """MCPX-8.1-3, MCPX-4.1-1 to MCPX-4.1-7, MCPX-4.2-3, MCPX-4.2-4."""
    assert matches(pattern, kind)


@pytest.mark.parametrize(("pattern", "kind"), NO)
def test_a_capability_lets_nothing_else_through(pattern: str, kind: str) -> None:
    """MCPX-8.1-3, MCPX-4.1-7, MCPX-4.1-8, MCPX-4.2-5."""
    assert not matches(pattern, kind)


def test_patterns_that_must_not_be_written_are_named_with_what_to_write() -> None:
    """MCPX-4.2-5, decision C-23."""
    for pattern in ("*", "**", "***", "ch*", "c*t", "*t", "chat*"):
        assert "chat" in flaw_of(pattern), pattern
    for pattern in ("", "a\n", "x" * 513):
        assert "characters" in flaw_of(pattern)
    for pattern in ("mcp/*", "chat", "mcp/request:*/list", "system/*", "chat/*", "com.example/*"):
        assert flaw_of(pattern) == ""


def test_a_set_keeps_its_order_and_knows_what_is_idle() -> None:
    found = Capabilities(("chat", "mcp/*", "chat", "system/*", "presence"))
    assert found.patterns == ("chat", "mcp/*", "system/*", "presence")
    assert found.idle == ("system/*", "presence")
    assert [found.allows("chat"), found.allows("chat"), found.allows("x")] == [True, True, False]


def test_the_profiles_are_those_of_the_text() -> None:
    assert PROFILES["proposal-only"] == ("mcp/proposal:*", "mcp/response:*", "chat")
    assert all(not flaw_of(one) for profile in PROFILES.values() for one in profile)


def test_many_wildcards_and_a_long_kind_take_no_time() -> None:
    """The kind is the sender's to choose."""
    holder = Capabilities(("mcp/" + "*a" * 100 + "b",))
    began = time.process_time()
    for number in range(20):
        assert not holder.allows("mcp/" + "a" * 2000 + str(number))
    assert time.process_time() - began < 5


def test_kinds_without_end_are_not_all_remembered() -> None:
    holder = Capabilities(("mcp/*",))
    assert all(holder.allows(f"mcp/request:{number}") for number in range(10_000))
    assert len(holder._known) <= 64
    assert holder.allows("mcp/" + "x" * 2000)
