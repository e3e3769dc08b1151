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
