"""Edits of `mgp.toml` that the console makes for a person: recorded first, then written under the file's lock; the gateway reloads by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from gatewright.audit.records import Actor, Subject
from gatewright.audit.trail import AuditLog
from gatewright.config import SettingsError
from gatewright.config.draft import Draft
from gatewright.config.edit import editing
from gatewright.console.operations import ApiError
from gatewright.console.people import Person

__all__ = ["edit", "record"]


def record(
    audit: AuditLog, person: Person, event: str, target: Subject, why: str = "", **more: str
) -> None:
    """What a person is about to do, with `more` details. Raises `Unrecorded`."""
    audit.event(
        event,
        actor=Actor("operator", person.id),
        target=target,
        details={"door": "console", **more} | ({"reason": why} if why else {}),
    )


async def edit(path: Path, change: Callable[[Draft], None]) -> None:
    """Change the file, in a thread. Raises `ApiError` where it would not load, or cannot be written."""

    def work() -> None:
        with editing(path) as draft:
            change(draft)

    try:
        await asyncio.to_thread(work)
    except SettingsError as problem:
        found = problem.problems[0]
        said = f"{found.origin}: {found.what}"
        raise ApiError(409, "configuration", said, found.instead) from None
    except OSError as problem:
        said = f"{path} cannot be written: {problem.strerror}"
        raise ApiError(409, "file", said, "edit it as the user whose file it is") from None
