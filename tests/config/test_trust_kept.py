"""What a user accepted is kept in one file of their own, and a damaged one is never taken for an empty one."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gatewright.config.trust import Accepted, Trust
from gatewright.storage.errors import StoreError

FILE = Path("/p/mgp.toml")


def test_what_is_accepted_is_found_again_until_it_is_forgotten(tmp_path: Path) -> None:
    accepted = Accepted("salt", {"a": "1"})
    Trust(tmp_path).accept(FILE, accepted)
    assert Trust(tmp_path).accepted(FILE) == accepted
    assert Trust(tmp_path).accepted(FILE.with_name("other.toml")) is None
    assert Trust(tmp_path).forget(FILE)
    assert not Trust(tmp_path).forget(FILE)
    assert Trust(tmp_path).accepted(FILE) is None


def test_a_secret_belongs_to_a_state_folder_and_to_those_who_were_allowed_it(
    tmp_path: Path,
) -> None:
    trust, here, there = Trust(tmp_path), Path("/here"), Path("/there")
    trust.allow(here, "token", [FILE])
    trust.allow(here, "token", [FILE, Path("/q/mgp.toml")])
    assert trust.users(here, "token") == ["/p/mgp.toml", "/q/mgp.toml"]
    assert trust.users(there, "token") == trust.users(here, "other") == []
    trust.disallow(here, "token")
    assert trust.users(here, "token") == []


def test_only_its_owner_reads_the_file(tmp_path: Path) -> None:
    Trust(tmp_path / "new").allow(tmp_path, "token", [FILE])
    assert stat.S_IMODE((tmp_path / "new" / "trust.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"configurations": 1}', b"\xff"])
def test_a_damaged_file_is_an_error_for_every_question(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "trust.json").write_bytes(content)
    trust = Trust(tmp_path)
    for ask in (
        lambda: trust.accepted(FILE),
        lambda: trust.users(tmp_path, "a"),
        lambda: trust.allow(tmp_path, "a", [FILE]),
        lambda: trust.accept(FILE, Accepted("s", {})),
    ):
        with pytest.raises(StoreError, match="cannot be read"):
            ask()
    assert (tmp_path / "trust.json").read_bytes() == content


def test_what_several_write_at_once_is_all_kept(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: Trust(tmp_path).allow(tmp_path, name, [FILE]), names))
    assert all(Trust(tmp_path).users(tmp_path, name) for name in names)
