"""The server whose annotations say what its tools do says so, at once or later."""

from __future__ import annotations

from tests.tool_servers.hinting import Server


def test_it_says_its_hints_at_once_or_after_the_first_call() -> None:
    one = Server()
    assert one.tool("wipe")["annotations"] == {"destructiveHint": True, "readOnlyHint": True}
    assert "annotations" not in one.tool("plain")
    one.said = False
    assert "annotations" not in one.tool("wipe")
    assert one.answer("no/such", {}) is None
