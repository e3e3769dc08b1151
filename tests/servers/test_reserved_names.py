"""What the tools of servers are called, over the runs of a gateway."""

from __future__ import annotations

from collections.abc import Collection

from gatewright.servers.reserved_names import KEPT_CHARS, Reserved


def test_names_are_those_that_were_listed_last_and_only_a_change_is_kept() -> None:
    kept: list[tuple[str, list[str]]] = []

    def keep(server: str, names: Collection[str]) -> None:
        kept.append((server, sorted(names)))

    found = Reserved({"a": ["t", "u"]}, keep)
    assert found.of("a") == {"t", "u"}
    assert found.of("b") == set()
    for names in (["u", "t"], ["t"], ["t"], []):
        found.put("a", names)
    found.put("b", [])
    assert kept == [("a", ["t"]), ("a", [])]
    assert found.of("a") == set()


def test_what_was_forgotten_is_kept_only_where_it_is_listed() -> None:
    kept: list[str] = []
    found = Reserved({"a": ["t"], "b": ["u"]}, lambda server, _: kept.append(server))
    assert not found.again({"a": ["t"], "b": ["u"]}, {"a": ["t"]}.get)
    assert kept == []
    assert found.again({}, {"a": ["t"]}.get)
    assert [found.of("a"), found.of("b")] == [{"t"}, set()]
    assert kept == ["a"]


def test_a_name_that_is_no_name_of_mcp_is_known_and_not_written() -> None:
    """A server may list hundreds of kilobytes of them, others each second."""
    kept: list[list[str]] = []
    found = Reserved({}, lambda _, names: kept.append(sorted(names)))
    long = "x" * (KEPT_CHARS + 1)
    for names in (["t", long], ["t", f"{long}y"], [long[1:], long]):
        found.put("a", names)
        assert found.of("a") == set(names)
    assert kept == [["t"], [long[1:]]]
