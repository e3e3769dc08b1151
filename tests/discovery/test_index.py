from __future__ import annotations

import pytest

from gatewright.discovery.index import Entry, Found, ToolIndex
from gatewright.transport.slices import whole

TOOLS = [
    Entry("f/read", "f", "read_file", "Read a file", ("path",), ("data/files",)),
    Entry("f/mail", "f", "send_mail", "Send a message to somebody", (), ("people",)),
]


def index() -> ToolIndex:
    made = ToolIndex()
    whole(made.put("f", TOOLS))
    return made


def found(made: ToolIndex, query: str, **how: object) -> list[str]:
    answer: Found = whole(made.search(query, **how))  # type: ignore[arg-type]
    return [hit.tool_id for hit in answer.hits]


def test_a_tool_is_found_until_its_server_is_dropped() -> None:
    """MGP-16.4-1."""
    made = index()
    assert found(made, "read file")[:1] == ["f/read"]
    made.drop("f")
    assert found(made, "read file") == []


def test_a_parent_category_contains_its_children() -> None:
    """MGP-16.4-5."""
    assert found(index(), "read file", categories=("data",)) == ["f/read"]
    assert found(index(), "read file", categories=("people",)) == []


def test_what_may_not_be_seen_is_not_found() -> None:
    assert found(index(), "read file", may=lambda tool: tool != "f/read") == []


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match="strategy"):
        found(index(), "read", strategy="dowsing")


def test_an_entry_is_exported_with_what_the_index_holds() -> None:
    """MGP-16.4-2."""
    held = index().export("f/read")
    assert held["server_id"] == "f"
    assert set(held) >= {
        "tool_id",
        "server_id",
        "name",
        "description",
        "categories",
        "keywords",
        "embedding",
    }
