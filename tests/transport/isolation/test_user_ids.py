from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.transport.isolation import user_ids
from gatewright.transport.isolation.rules import CannotIsolate
from gatewright.transport.isolation.user_ids import FIRST, SPAN, UserInUse, forget_user, user_id


def test_a_server_keeps_its_user_id_and_shares_it_with_nobody(tmp_path: Path) -> None:
    found = {name: user_id(tmp_path, name) for name in map(str, range(50))}
    assert len(set(found.values())) == 50
    assert {name: user_id(tmp_path, name) for name in found} == found
    assert all(FIRST <= one < FIRST + SPAN for one in found.values())
    assert {one.stat().st_mode & 0o777 for one in tmp_path.rglob("*") if one.is_dir()} == {0o700}


def test_what_falls_on_an_id_that_is_taken_gets_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_ids, "SPAN", 2)
    assert {user_id(tmp_path, "a"), user_id(tmp_path, "b")} == {FIRST, FIRST + 1}
    with pytest.raises(CannotIsolate, match="are taken"):
        user_id(tmp_path, "c")


def test_other_gateways_begin_elsewhere(tmp_path: Path) -> None:
    assert user_id(tmp_path / "a", "files") != user_id(tmp_path / "b", "files")


def test_where_it_cannot_be_kept_no_server_starts(tmp_path: Path) -> None:
    (tmp_path / "isolated").write_text("a file")
    with pytest.raises(CannotIsolate, match="cannot be kept"):
        user_id(tmp_path, "files")


def kept(state: Path) -> set[str]:
    return {str(one.readlink()) for one in (state / "isolated" / ".uids").iterdir()}


def test_a_server_that_nobody_knows_any_more_keeps_no_id(tmp_path: Path) -> None:
    forget_user(tmp_path, "a")
    user_id(tmp_path, "a")
    user_id(tmp_path, "b")
    forget_user(tmp_path, "a")
    assert kept(tmp_path) == {"b"}


def test_an_id_is_given_back_when_the_last_sandbox_of_its_server_is_gone(tmp_path: Path) -> None:
    user_id(tmp_path, "a")
    one, other = UserInUse(tmp_path, "a"), UserInUse(tmp_path, "a")
    forget_user(tmp_path, "a")
    for _ in range(2):
        one.over()
        assert kept(tmp_path) == {"a"}
    other.over()
    assert kept(tmp_path) == set()
    known = {*user_ids._in_use, *user_ids._forgotten}
    assert [state for state, _ in known if state == tmp_path] == []


def test_a_server_that_is_started_again_keeps_its_id(tmp_path: Path) -> None:
    user_id(tmp_path, "a")
    one = UserInUse(tmp_path, "a")
    forget_user(tmp_path, "a")
    other = UserInUse(tmp_path, "a")
    one.over()
    other.over()
    assert kept(tmp_path) == {"a"}
