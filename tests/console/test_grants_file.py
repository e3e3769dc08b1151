"""Grants that go out of their files, and come back as they were."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gatewright.config import load
from gatewright.config.model import Grant
from gatewright.console.grants_file import GrantsFile, files_of, members
from gatewright.console.operations import ApiError

_DENY = """
[[servers]]
id = "demo"
command = "true"

[[grants]]
agent = "ann"
server = "demo"
tool = "{}"
permission = "deny"
justification = "a 'why'"
expires_at = 2999-01-01T00:00:00Z
"""


class Trail:
    """What was recorded."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def event(self, kind: str, **more: Any) -> None:
        self.said.append(more.get("outcome", more["details"]["reason"]))


def _grants(file: Path) -> Sequence[Grant]:
    return load(file, environ={"HOME": str(file.parent)}).grants


@pytest.fixture
def trail() -> Trail:
    return Trail()


@pytest.fixture
def grants(trail: Trail) -> GrantsFile:
    return GrantsFile(trail)  # type: ignore[arg-type]


def _file(folder: Path, name: str) -> Path:
    file = folder / f"{name}.toml"
    file.write_text(_DENY.format(name))
    return file


async def test_what_is_taken_out_comes_back_with_all_that_it_said(
    tmp_path: Path, grants: GrantsFile, trail: Trail
) -> None:
    file = _file(tmp_path, "echo")
    before, gone = _grants(file), []  # type: tuple[Sequence[Grant], list[Grant]]
    await grants.take_out(before, "me", "why", gone)
    assert (gone, [*_grants(file)]) == ([*before], [])
    await grants.put_back(gone)
    assert [members(one) for one in _grants(file)] == [members(one) for one in before]
    await grants.take_back(before)
    await grants.put_in(before, "me", "again")
    assert [members(one) for one in _grants(file)] == [members(one) for one in before]
    assert trail.said == ["why", "again"]


async def test_where_one_file_cannot_be_written_those_before_it_are_known(
    tmp_path: Path, grants: GrantsFile, trail: Trail
) -> None:
    first, second = _file(tmp_path, "a"), _file(tmp_path, "b")
    both = [*_grants(first), *_grants(second)]
    assert files_of(both) == [first, second]
    second.write_text("this is no TOML")
    gone: list[Grant] = []
    with pytest.raises(ApiError):
        await grants.take_out(both, "me", "why", gone)
    assert [one.tool for one in gone] == ["a"]
    assert trail.said == ["why", "why", "error"]


async def test_of_two_words_about_the_same_only_the_one_that_is_meant_goes(
    tmp_path: Path, grants: GrantsFile
) -> None:
    """A file may allow and deny alike: what is not taken out stays, and comes back to nobody's surprise."""
    file = _file(tmp_path, "echo")
    allow = '\n[[grants]]\nagent = "ann"\nserver = "demo"\ntool = "echo"\npermissions = ["network.outbound"]\n'
    file.write_text(file.read_text() + allow)
    deny, _ = before = [*_grants(file)]
    await grants.take_out([deny], "me", "why", [])
    assert [members(one) for one in _grants(file)] == [members(before[1])]
    await grants.put_back([deny])
    assert {members(one) for one in _grants(file)} == {members(one) for one in before}


async def test_what_says_something_else_by_now_is_not_taken_out(
    tmp_path: Path, grants: GrantsFile
) -> None:
    file = _file(tmp_path, "echo")
    before = _grants(file)
    file.write_text(file.read_text().replace("2999", "2998"))
    with pytest.raises(ApiError, match="does not stand there any more"):
        await grants.take_out(before, "me", "why", [])
    assert len(_grants(file)) == 1
