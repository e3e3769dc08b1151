"""`gatewright doctor`: checks the installation, starts each server, prints cause and fix, repairs (`--fix`); `examined`: for the console."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import DATABASE
from gatewright.cli.checks import (
    Finding,
    check_anchors,
    check_audit,
    check_clock,
    check_config,
    check_environment,
    check_folder,
    check_gateway,
    check_hosts,
    check_identity,
    check_isolation,
    check_operators,
    check_pins,
    check_protocol,
    check_servers,
    check_store,
    key_names,
)
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import Config, Json, group
from gatewright.cli.output import is_terminal, note, print_document, print_line, silence_logs
from gatewright.cli.progress import Progress
from gatewright.cli.running import read_running
from gatewright.config import Problem, Settings, SettingsError, load
from gatewright.config.lookup import state_directory
from gatewright.config.model import Storage
from gatewright.discovery.doctor import check_context, check_embedder
from gatewright.hosts.commands.host_files import records
from gatewright.storage.errors import StoreError

__all__ = ["app", "doctor", "examined"]

app = group("Look for everything that can be wrong, and say what to do.")


@app.command()
def doctor(
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what is safe to mend: modes, stale files.")
    ] = False,
    servers: Annotated[
        bool, typer.Option("--servers/--no-servers", help="Start, list and time each server.")
    ] = True,
    config: Config = None,
    json: Json = False,
) -> None:
    """Look for everything that can be wrong, and say what to do.

    Looks at the configuration, Python and the programs that servers need, the port, the state folder,
    the keys, who else is known and by whom, the hosts that are connected, the record, the clock and each server. Exit code 8 if there is a problem.
    """
    silence_logs()
    settings, problems = _read(config)
    with Progress("looking around") as progress:
        found = []
        for one in _all(settings, problems, progress, servers=servers):
            known = _mended(one) if fix and one.mend is not None else one
            found.append(known)
            if not json:
                # Each at once: a later check may take long.
                with progress.aside():
                    _print(known)
    wrong = sum(one.level == "problem" for one in found)
    if json:
        print_document({"ok": not wrong, "findings": [one.document() for one in found]})
    if wrong:
        raise CliError(
            "1 problem was found" if wrong == 1 else f"{wrong} problems were found",
            code="problems",
            exit_code=Exit.PROBLEMS,
            hint="each finding says what to do",
        )
    if not json:
        note("no problem was found")


def _read(config: Path | None) -> tuple[Settings, tuple[Problem, ...]]:
    """The settings; where the file is wrong, the defaults and what is wrong."""
    try:
        return load(config), ()
    except SettingsError as wrong:
        return Settings(storage=Storage(path=state_directory(os.environ))), tuple(wrong.problems)


def _all(
    settings: Settings, problems: tuple[Problem, ...], progress: Progress, *, servers: bool
) -> Iterator[Finding]:
    folder = settings.storage.path
    told: set[str] = set()
    yield from _around(settings, problems, told)
    progress.say("reading the whole record")
    yield from _each(
        folder,
        told,
        lambda: check_audit(folder),
        lambda: check_anchors(folder),
        lambda: check_clock(_newest(folder), time.time()),
    )
    if servers:
        yield from _each(
            folder, told, lambda: check_isolation(settings), lambda: check_embedder(settings)
        )
    if servers and settings.servers:
        yield from _each(folder, told, lambda: _servers(settings, progress))


def examined(config: Path | None) -> Iterator[Finding]:
    """What can be found out around a gateway that runs: its servers run already, and the record is verified when somebody asks."""
    settings, problems = _read(config)
    folder = settings.storage.path
    told: set[str] = set()
    yield from _around(settings, problems, told)
    yield from _each(
        folder,
        told,
        lambda: check_clock(_newest(folder), time.time()),
        lambda: check_isolation(settings),
        lambda: check_embedder(settings),
    )


def _around(settings: Settings, problems: tuple[Problem, ...], told: set[str]) -> Iterator[Finding]:
    """Everything but the record and the servers."""
    folder = settings.storage.path
    yield from _each(
        folder,
        told,
        lambda: check_config(settings, problems, os.environ),
        lambda: check_environment(settings, os.environ),
        lambda: check_gateway(settings),
        lambda: check_protocol(settings),
        lambda: _features(settings),
        lambda: check_folder(folder),
        lambda: check_store(folder),
        lambda: check_pins(settings),
        lambda: check_identity(settings, key_names(folder) if settings.agents else ()),
        lambda: check_operators(settings),
        lambda: check_hosts(records().all(), _url(settings)),
    )


def _each(
    folder: Path, told: set[str], *checks: Callable[[], Iterable[Finding]]
) -> Iterator[Finding]:
    """What each check finds. That one cannot look is a finding, `told` once, and keeps no other from looking."""
    for check in checks:
        try:
            yield from check()
        except OSError as problem:
            if str(problem.strerror) not in told:
                yield Finding(
                    check="state",
                    subject=str(folder),
                    level="problem",
                    what="cannot be looked at",
                    why=str(problem),
                    fix="run this as the user who runs the gateway, or choose another folder: [storage] path",
                )
            told.add(str(problem.strerror))
        except CliError as problem:
            yield _broken(problem.message, problem.hint)
        # Whatever is wrong with what it looks at: who calls the doctor gets all other findings.
        except Exception as problem:  # noqa: BLE001 - said, as one more finding
            yield _broken(f"{type(problem).__name__}: {problem}")


def _broken(why: str, fix: str = "") -> Finding:
    """A check could not look to the end."""
    return Finding(
        check="doctor",
        subject="a check",
        level="problem",
        what="broke off",
        why=why,
        fix=fix or "mend what it names; if it names nothing of yours, report it",
    )


def _servers(settings: Settings, progress: Progress) -> Iterable[Finding]:
    # Starting servers takes the upstream half: who only looks around does not pay for it.
    from gatewright.servers.preflight import Found, preflight  # noqa: PLC0415

    waiting = {one.id for one in settings.servers}

    def done(found: Found) -> None:
        waiting.discard(found.id)
        progress.say(f"waiting for {', '.join(sorted(waiting))}")

    progress.say(f"starting {', '.join(sorted(waiting))}")
    tried = asyncio.run(preflight(settings, settings.servers, done=done))
    for found, server in zip(tried, settings.servers, strict=True):
        yield from check_servers(found, server)
    yield from check_context(settings, [tool for one in tried for tool in one.shelf.tools])


def _features(settings: Settings) -> Iterable[Finding]:
    # The list of features takes the whole gateway, which no other command pays for.
    from gatewright.app.features import FEATURES  # noqa: PLC0415
    from gatewright.cli.checks.features import check_features  # noqa: PLC0415
    from gatewright.missing import absent  # noqa: PLC0415

    return check_features(settings, absent({one.name for one in FEATURES}))


def _url(settings: Settings) -> str:
    """Where the gateway is, or would be; empty where only a running one could say."""
    try:
        return read_running(settings.storage.path).url
    except CliError:
        gateway = settings.gateway
        return f"http://{gateway.host}:{gateway.port}/mcp" if gateway.port else ""


def _newest(folder: Path) -> str | None:
    """The time of the last record, if there is one that can be read."""
    try:
        if not (folder / DATABASE).exists():
            return None
        return next((str(one.get("time")) for one in AuditReader(folder).tail(1)), None)
    except (OSError, StoreError):  # others say so
        return None


def _mended(found: Finding) -> Finding:
    mend = found.mend
    if mend is None:
        return found
    try:
        mend()
    except OSError as problem:
        return msgspec.structs.replace(found, why=f"--fix could not mend it: {problem}")
    return msgspec.structs.replace(found, level="ok", fixed=True, mend=None)


def _print(found: Finding) -> None:
    """One row; on a terminal cause and fix below it."""
    word = "fixed" if found.fixed else found.level
    if not is_terminal(1):
        print_line((word, found.check, found.subject, found.what, found.why, found.fix))
        return
    subject = found.subject.replace(str(Path.home()), "~", 1)
    print_line((word, found.check, subject, found.what), widths=(8, 11, 16))
    if found.level != "ok":
        for name, text in (("why", found.why), ("fix", found.fix)):
            if text:
                print_line(("", f"{name}: {text}"), widths=(8,))
