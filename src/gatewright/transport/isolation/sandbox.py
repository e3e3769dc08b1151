"""Makes the command line of an isolated child."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gatewright.transport.isolation.rules import CannotIsolate, Isolation

__all__ = ["prepare"]


async def prepare(
    rules: Isolation, command: str, args: Sequence[str], env: Mapping[str, str], cwd: str | None
) -> None:
    """Raises `CannotIsolate`."""
    del command, args, env, cwd
    raise CannotIsolate(f"isolation {rules.level!r} cannot be given here")
