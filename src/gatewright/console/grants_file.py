"""`GrantsFile`: removes or adds `[[grants]]` in the `mgp.toml` that has each, audited; reverts either; compares grants without position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from gatewright.access.grants import Key
from gatewright.audit.records import Subject
from gatewright.audit.trail import AuditLog
from gatewright.config.draft import Draft
from gatewright.config.edit import add_grants, remove_grants
from gatewright.config.model import Grant
from gatewright.console.config_edits import edit, recorded

__all__ = ["GrantsFile", "files_of", "key_of", "members", "removed"]


class GrantsFile:
    """Of one gateway. What a person does is recorded first; its way back is made whatever can be recorded."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit

    async def take_out(self, grants: Sequence[Grant], by: str, why: str, gone: list[Grant]) -> None:
        """`gone` has those that are out, also where it raises: `ApiError`, `Unrecorded`."""
        for path in files_of(grants):
            with self._recorded(path, by, why):
                await edit(path, partial(removed, grants, path))
            gone += _in(grants, path)

    async def put_in(self, grants: Sequence[Grant], by: str, why: str) -> None:
        """Write them. Raises `ApiError`, `Unrecorded`."""
        for path in files_of(grants):
            with self._recorded(path, by, why):
                await edit(path, partial(_added, _in(grants, path)))

    async def put_back(self, grants: Sequence[Grant]) -> None:
        """Write those that were taken out: without them the file would not deny what it denied. Raises `ApiError`."""
        for path in files_of(grants):
            await edit(path, partial(_added, _in(grants, path)))

    async def take_back(self, grants: Sequence[Grant]) -> None:
        """Take out those that were put in. Raises `ApiError`."""
        for path in files_of(grants):
            await edit(path, partial(removed, grants, path))

    def _recorded(self, path: Path, by: str, why: str) -> AbstractContextManager[None]:
        event, target = "dev.gatewright.config.edited", Subject(name="grants")
        return recorded(self._audit, by, event, target, why, file=str(path))


def files_of(grants: Iterable[Grant]) -> list[Path]:
    """In which they stand."""
    return sorted({one.origin.file for one in grants})


def key_of(one: Grant) -> Key:
    """What it is about."""
    return one.agent, one.server, one.tool


def members(one: Grant) -> tuple[object, ...]:
    """All that it says; not where."""
    return (*key_of(one), one.permission, one.permissions, str(one.expires_at), one.justification)


def removed(grants: Iterable[Grant], path: Path, draft: Draft) -> None:
    """Take those of this file out of its draft. Raises `SettingsError`."""
    remove_grants(draft, _in(grants, path))


def _in(grants: Iterable[Grant], path: Path) -> list[Grant]:
    return [one for one in grants if one.origin.file == path]


def _added(grants: Iterable[Grant], draft: Draft) -> None:
    add_grants(draft, [_table(one) for one in grants])


def _table(one: Grant) -> dict[str, Any]:
    said = {
        "agent": one.agent,
        "server": one.server,
        "tool": one.tool,
        "permission": one.permission,
        "permissions": [*one.permissions] or None,
        "expires_at": one.expires_at,
        "justification": one.justification or None,
    }
    return {name: value for name, value in said.items() if value is not None}
