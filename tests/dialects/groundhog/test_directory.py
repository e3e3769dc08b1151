from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from gatewright.dialects.groundhog.directory import (
    DEFINITION,
    NotAllowed,
    Unlistable,
    list_directory,
)

OUTPUT = jsonschema_rs.validator_for(DEFINITION["outputSchema"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    (place / "src" / "one" / "two").mkdir(parents=True)
    (place / "src" / "main.rs").write_text("x" * 1024)
    (place / "src" / "main.rs").chmod(0o644)
    (place / "src" / ".env").write_text("s")
    (place / "src" / "one" / "a.txt").touch()
    (place / "src" / "one" / "two" / "b.txt").touch()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").touch()
    return place


def listed(root: Path, path: str = "src", **more: Any) -> dict[str, Any]:
    found = list_directory({"path": path, **more}, [str(root)])
    OUTPUT.validate(found)
    return found


def paths(root: Path, path: str = "src", **more: Any) -> list[str]:
    return [one["path"] for one in listed(root, path, **more)["entries"]]


def test_an_entry_says_what_the_specification_shows(root: Path) -> None:
    """GRH-msg-7."""
    os.utime(root / "src" / "main.rs", (1704110400, 1704110400))
    found = listed(root, "./src")
    entry = next(one for one in found["entries"] if one["name"] == "main.rs")
    assert entry == {
        "name": "main.rs",
        "path": "./src/main.rs",
        "type": "file",
        "size": 1024,
        "permissions": "rw-r--r--",
        "modified": "2024-01-01T12:00:00Z",
    }
    assert found["path"] == "./src"
    assert found["metadata"]["total_entries"] == 2
    assert found["metadata"]["truncated"] is False


def test_depth_is_counted_from_the_directory_itself(root: Path) -> None:
    """GRH-msg-10."""
    first = ["src/main.rs", "src/one"]
    assert paths(root) == paths(root, max_depth=3) == first
    assert paths(root, recursive=True, max_depth=1) == first
    assert paths(root, recursive=True, max_depth=2) == [*first, "src/one/a.txt", "src/one/two"]
    assert paths(root, recursive=True)[-1] == "src/one/two/b.txt"


def test_hidden_names_are_listed_when_somebody_asks_for_them(root: Path) -> None:
    assert "src/.env" not in paths(root)
    assert "src/.env" in paths(root, include_hidden=True)


@pytest.mark.parametrize(
    "path",
    ["..", "../outside", "src/../..", "/etc", "/", "~", "~root", "a\x00b", "/proc/self/root"],
)
def test_a_path_outside_of_every_root_is_refused(root: Path, path: str) -> None:
    """GRH-msg-8."""
    with pytest.raises(NotAllowed):
        listed(root, path)


def test_without_roots_nothing_is_allowed(root: Path) -> None:
    with pytest.raises(NotAllowed):
        list_directory({"path": "."}, [])


def test_a_link_that_leads_out_is_refused_and_listed_as_a_link(root: Path) -> None:
    """GRH-msg-8."""
    (root / "src" / "away").symlink_to(root.parent / "outside")
    with pytest.raises(NotAllowed):
        listed(root, "src/away")
    found = listed(root, "src", recursive=True)
    kinds = {one["path"]: one["type"] for one in found["entries"]}
    assert kinds["src/away"] == "symlink"
    assert "src/away/secret.txt" not in kinds


def test_a_link_that_stays_inside_is_followed_where_it_is_named(root: Path) -> None:
    (root / "inner").symlink_to("src/one")
    assert paths(root, "inner") == ["inner/a.txt", "inner/two"]
    assert "./inner/a.txt" not in paths(root, ".", recursive=True)


def test_links_in_a_circle_end(root: Path) -> None:
    (root / "src" / "loop").symlink_to("..")
    assert "src/loop" in paths(root, "src", recursive=True)
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    with pytest.raises((NotAllowed, Unlistable)):
        listed(root, "a")


def test_a_root_may_be_a_link_and_there_may_be_several(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    assert list_directory({"path": "src"}, [str(link)])["metadata"]["total_entries"] == 2
    both = [str(root), str(root.parent / "outside")]
    found = list_directory({"path": str(root.parent / "outside")}, both)
    assert [one["name"] for one in found["entries"]] == ["secret.txt"]
    with pytest.raises(NotAllowed):
        list_directory({"path": str(root) + "-not"}, both)


@pytest.mark.parametrize(
    ("path", "words"),
    [("src/main.rs", "not a directory"), ("src/none", "no such file or directory")],
)
def test_what_cannot_be_listed_is_said_without_naming_the_root(
    root: Path, path: str, words: str
) -> None:
    with pytest.raises(Unlistable) as caught:
        listed(root, path)
    assert str(caught.value) == words


def test_a_directory_that_was_swapped_for_a_link_meanwhile_is_an_error(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GRH-msg-8: the real path is opened without following links."""
    real = str(root / "src" / "one")
    away = root.parent / "outside"
    (root / "src" / "one").rename(root / "src" / "was")
    (root / "src" / "one").symlink_to(away)
    resolve = os.path.realpath

    def stale(path: Any) -> str:
        return real if str(path).endswith("src/one") else str(resolve(path))

    monkeypatch.setattr(os.path, "realpath", stale)
    with pytest.raises(Unlistable):
        list_directory({"path": "src/one"}, [str(root)])


@pytest.mark.parametrize(
    ("count", "most", "cut"), [(9, 10, False), (10, 10, False), (11, 10, True)]
)
def test_more_entries_than_asked_for_are_cut(root: Path, count: int, most: int, cut: bool) -> None:
    """GRH-msg-7."""
    place = root / "many"
    place.mkdir()
    for number in range(count):
        (place / f"{number:02}").touch()
    found = listed(root, "many", max_entries=most)
    assert len(found["entries"]) == min(count, most)
    assert found["metadata"] == {
        **found["metadata"],
        "total_entries": min(count, most),
        "truncated": cut,
    }


def test_cutting_counts_over_all_directories(root: Path) -> None:
    found = listed(root, "src", recursive=True, max_entries=3)
    assert [one["name"] for one in found["entries"]] == ["main.rs", "one", "a.txt"]
    assert found["metadata"]["truncated"] is True
    whole = listed(root, "src", recursive=True, max_entries=5)
    assert whole["metadata"]["truncated"] is False


def test_who_does_not_want_the_rest_gets_what_there_is(root: Path) -> None:
    """GRH-reg-6: a call that ends takes its work with it."""
    asked = iter([False, True])
    found = list_directory(
        {"path": "src", "recursive": True}, [str(root)], stop=lambda: next(asked, True)
    )
    assert [one["name"] for one in found["entries"]] == ["main.rs", "one"]
    assert found["metadata"]["truncated"] is True


def test_names_that_are_skipped_are_interrupted_too(root: Path) -> None:
    for number in range(1000):
        (root / "src" / f".hidden-{number}").touch()
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2

    found = list_directory({"path": "src"}, [str(root)], stop=stop)
    assert asked == 3
    assert found["metadata"]["truncated"] is True


def test_a_name_that_is_no_text_is_shown_all_the_same(root: Path) -> None:
    (root / "src" / os.fsdecode(b"bad\xff")).touch()
    assert "src/bad\\xff" in paths(root)


def test_its_own_examples_fit_its_schema() -> None:
    check = jsonschema_rs.validator_for(DEFINITION["inputSchema"])
    check.validate({"path": "./src", "recursive": True, "max_depth": 3})
    assert not check.is_valid({"path": "x", "max_depth": 0})
    assert not check.is_valid({"path": "x", "unknown": 1})
