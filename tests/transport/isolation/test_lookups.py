from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.transport.isolation.lookups import Step, steps, symlink_below, symlinks_to
from gatewright.transport.isolation.rules import CannotIsolate


def walked(path: Path, top: Path) -> list[tuple[str, str]]:
    """(path below `top`, kind) of each step in it."""
    found = [one for one in steps(path) if one.path.is_relative_to(top) and one.path != top]
    return [(str(one.path.relative_to(top)), one.kind) for one in found]


def test_every_entry_is_looked_up_where_links_lead(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").touch()
    (tmp_path / "near").symlink_to("a/b")
    (tmp_path / "far").symlink_to(tmp_path / "near")
    way = [("far", "link"), ("near", "link"), ("a", "folder"), ("a/b", "folder")]
    assert walked(tmp_path / "far" / "file", tmp_path) == [*way, ("a/b/file", "file")]
    back = tmp_path / "near" / ".." / "new" / "file"
    assert walked(back, tmp_path) == [*way[1:], ("a/new", "missing"), ("a/new/file", "missing")]


def test_the_last_step_is_what_is_meant_or_a_link_that_stands_for_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "one").symlink_to("folder/two")
    last = [one for one in steps(tmp_path / "one") if one.last]
    assert last == [
        Step(tmp_path, "one", "link", True),
        Step(tmp_path / "folder", "two", "missing", True),
    ]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(CannotIsolate, match="too many links"):
        list(steps(tmp_path / "a"))


def test_the_link_is_told_that_lies_in_one_of_the_folders(tmp_path: Path) -> None:
    for name in ("mine", "other"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "link").symlink_to(tmp_path)
    (tmp_path / "first").symlink_to("mine/deep")
    path = tmp_path / "first" / "link" / "x"
    assert symlink_below(path, [tmp_path / "mine"]) == tmp_path / "mine" / "deep" / "link"
    assert symlink_below(path, [tmp_path / "other"]) is None
    assert symlink_below(tmp_path / "mine" / "deep", [tmp_path]) is None
    fixed = {tmp_path / "mine" / "deep" / "link"}
    assert symlink_below(path, [tmp_path / "mine"], fixed) is None
    assert [*symlinks_to(path)] == [tmp_path / "first", tmp_path / "mine" / "deep" / "link"]


def test_a_path_that_ends_with_the_folder_above_means_that_folder(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "up").symlink_to("a/b/..")
    for path in (tmp_path / "up", tmp_path / "a" / "b" / ".."):
        assert [one for one in steps(path) if one.last][-1] == Step(tmp_path, "a", "folder", True)
    assert [one for one in steps(Path("/usr/..")) if one.last] == []
