"""What the tools of servers are called, over the runs of a gateway."""

from __future__ import annotations

from collections.abc import Collection

from gatewright.servers.reserved_names import KEPT_CHARS, Reserved
from gatewright.transport.slices import whole


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


def test_of_a_name_that_is_no_name_of_mcp_a_digest_is_kept_over_a_restart() -> None:
    """A server may list hundreds of kilobytes of them, and what is told to `keep` is written while everybody waits."""
    kept: dict[str, list[str]] = {}

    def keep(server: str, names: Collection[str]) -> None:
        kept[server] = sorted(names)

    long = "x" * (KEPT_CHARS + 1)
    found = Reserved({}, keep)
    found.put("a", ["t", long, "x" * 100_000])
    assert max(map(len, kept["a"])) < 200
    for again in (found, Reserved(kept, keep)):
        assert again.of("a") == {"t"}
        assert [again.has("a", one) for one in ("t", long, f"{long}x")] == [True, True, False]
        assert not again.has("b", long)
        assert not again.again(kept, dict[str, list[str]]().get)
        assert again.has("a", long), (
            "also where its server is down while somebody has another one's names forgotten"
        )
    found.put("a", ["t", long])
    assert not found.has("a", "x" * 100_000)
    assert len(kept["a"]) == 2


def test_a_name_that_reads_like_a_digest_is_a_name() -> None:
    kept: dict[str, list[str]] = {}
    found = Reserved({}, lambda server, names: kept.update({server: list(names)}))
    found.put("a", ["x" * (KEPT_CHARS + 1)])
    looks = kept["a"][0]
    found.put("b", [looks, "sha512:short"])
    again = Reserved(kept)
    assert again.has("b", looks)
    assert again.has("b", "sha512:short")
    assert not again.has("b", "x" * (KEPT_CHARS + 1))


def test_what_is_asked_with_every_view_is_made_once() -> None:
    names = {f"t{n}" for n in range(100)}
    found = Reserved({"a": names, "b": ["t", "x" * (KEPT_CHARS + 1)]})
    assert found.of("a") is found.of("a")
    assert [found.of("a"), found.of("b")] == [names, {"t"}]
    steps = found.absent({"a": {"t1"}, "b": (), "c": ()}, {"b": ["u", "v"]})
    assert sum(1 for _ in steps) == 102
    missing = whole(found.absent({"a": {"t1"}, "b": (), "c": ()}, {"b": ["u", "v"]}))
    assert {server: set(one) for server, one in missing.items()} == {
        "a": names - {"t1"},
        "b": {"u", "v"},
    }
    found.again({"a": ["t"]}, {"b": ["w"]}.get)
    assert [found.of("a"), found.of("b")] == [{"t"}, {"w"}]
