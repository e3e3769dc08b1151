"""`gatewright doctor` checks: configuration loads; uvloop, keyring; known runners (`npx`, `uvx`, `docker`) on PATH; clock not behind."""

from __future__ import annotations

import importlib.util
import platform
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import gatewright
from gatewright.cli.finding import Finding
from gatewright.command_text import to_type
from gatewright.config import Problem, Settings
from gatewright.timestamps import as_shown

__all__ = ["check_clock", "check_config", "check_environment"]

_OPTIONAL = {
    "uvloop": "a quicker event loop",
    "keyring": "secrets in the keyring of the system instead of a sealed file",
}
_RUNNERS = {
    "npx": "install Node.js with npm; your system's packages have it as nodejs and npm",
    "node": "install Node.js; your system's packages have it as nodejs",
    "uvx": "install uv: pip install uv",
    "uv": "install uv: pip install uv",
    "docker": "install Docker or Podman, and see that your user may use it",
    "bunx": "install Bun, or use npx instead",
    "deno": "install Deno",
}
_SLACK_S = 300.0


def check_config(
    settings: Settings, problems: tuple[Problem, ...], environ: Mapping[str, str]
) -> Iterator[Finding]:
    """The file: whether it can be read, and what is odd about it. `problems` are why it cannot."""
    for one in problems:
        yield _said(one, level_problem=True)
    for one in settings.warnings:
        yield _said(one, level_problem=False)
    if problems:
        return
    if not settings.files:
        yield Finding(
            check="config",
            subject="mgp.toml",
            level="warning",
            what="there is no configuration; everything is a default and there are no servers",
            fix=to_type("init"),
        )
        return
    servers = len(settings.servers)
    grants = len(settings.grants)
    named = environ.get("MGP_CONFIG_PATH")
    yield Finding(
        check="config",
        subject=str(settings.files[0].absolute()),
        level="ok",
        what=f"servers: {servers}, grants: {grants}" + (", by $MGP_CONFIG_PATH" if named else ""),
    )
    if servers and not grants and all(one.default_policy == "opt-in" for one in settings.servers):
        yield Finding(
            check="config",
            subject="grants",
            level="ok",
            what="you yourself may call everything, an agent with a key nothing; [[grants]] say more",
        )


def check_environment(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Python and its optional parts, and the programs that the configured servers are started by."""
    yield Finding(
        check="environment",
        subject="python",
        level="ok",
        what=f"{platform.python_version()}, gatewright {gatewright.__version__}",
    )
    for name, good in _OPTIONAL.items():
        there = importlib.util.find_spec(name) is not None
        yield Finding(
            check="environment",
            subject=name,
            level="ok",
            what="installed" if there else f"not installed; it would give {good}",
        )
    yield from _runners(settings, environ)


def check_clock(newest_record: str | None, now: float) -> Iterator[Finding]:
    """Whether time stands where it can: not before the program was installed, nor before its record.

    `newest_record` is the time of the last audit record as it is written there.
    """
    installed = Path(gatewright.__file__).stat().st_mtime
    shown = as_shown(now)
    wrong = ""
    if now < installed - _SLACK_S:
        wrong = f"this program was installed at {as_shown(installed)}"
    # Both are ISO 8601 in UTC, so the order of the texts is that of the times.
    elif newest_record is not None and shown[:19] < newest_record[:19]:
        wrong = f"the newest audit record is of {newest_record}"
    yield Finding(
        check="clock",
        subject="now",
        level="problem" if wrong else "ok",
        what=f"the clock says {shown}" if not wrong else f"the clock is behind: it says {shown}",
        why=wrong,
        fix="set the clock (timedatectl set-ntp true); keys, grants and records go by it"
        if wrong
        else "",
    )


def _runners(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    needed: dict[str, list[str]] = {}
    for server in settings.servers:
        if server.enabled and server.transport == "stdio" and server.command in _RUNNERS:
            needed.setdefault(server.command, []).append(server.id)
    for program, users in needed.items():
        path = shutil.which(program, path=environ.get("PATH"))
        yield Finding(
            check="environment",
            subject=program,
            level="ok" if path else "problem",
            what=path or f"{program} is not on PATH",
            why=f"needed by {', '.join(users)}",
            fix="" if path else _RUNNERS[program],
        )


def _said(problem: Problem, *, level_problem: bool) -> Finding:
    key = f": {problem.key}" if problem.key else ""
    return Finding(
        check="config",
        subject=f"{problem.origin}{key}",
        level="problem" if level_problem else "warning",
        what=problem.what,
        fix=problem.instead,
    )
