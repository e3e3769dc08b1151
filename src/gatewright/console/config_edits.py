"""A person's edits of `mgp.toml` in the console: `edit` writes in a thread, under a lock; `recorded` audits one before, and its failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gatewright.audit.records import Actor, Subject
from gatewright.audit.trail import AuditLog
from gatewright.config import SettingsError
from gatewright.config.draft import Draft
from gatewright.config.edit import editing
from gatewright.console.operations import ApiError

__all__ = ["edit", "recorded"]


@contextmanager
def recorded(
    audit: AuditLog, by: str, event: str, target: Subject, why: str = "", **more: str
) -> Iterator[None]:
    """Record what a person is about to do inside, with `more` details; where it fails, a second record says so. Raises `Unrecorded`."""
    actor = Actor("operator", by)
    details = more | ({"reason": why} if why else {})
    audit.event(event, actor=actor, target=target, details=details)
    try:
        yield
    except Exception as problem:
        said = problem.code if isinstance(problem, ApiError) else "internal"
        failed = {**details, "problem": said}
        audit.event(event, actor=actor, target=target, outcome="error", details=failed)
        raise


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
