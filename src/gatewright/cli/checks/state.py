"""`gatewright doctor` checks: state folder's mode and space, gateway answers or its ports are free, database version, audit trail verifies."""

from __future__ import annotations

import errno
import http.client
import os
import shutil
import socket
import stat
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import gatewright
from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import DATABASE
from gatewright.cli.checks.listeners import check_listeners, clear_text_finding
from gatewright.cli.errors import CliError
from gatewright.cli.finding import Finding, Level, broken_store
from gatewright.cli.running import Running, read_announced
from gatewright.cli.state_access import seen
from gatewright.command_text import to_type
from gatewright.config import Settings
from gatewright.identity.doctor import check_names
from gatewright.identity.keys import KeyStore
from gatewright.storage.errors import StoreError
from gatewright.storage.former_files import former_files
from gatewright.storage.opening import is_current
from gatewright.storage.sqlite import SQLITE
from gatewright.telemetry.doctor import check_stalls

__all__ = ["check_audit", "check_folder", "check_gateway", "check_store", "key_names"]

_MIB = 1 << 20
_SCARCE = 1024 * _MIB
_TOO_LITTLE = 50 * _MIB
_ANSWER_S = 3.0
_STOP_FIRST = "stop the program that uses it, or choose another in mgp.toml:"


def check_folder(folder: Path) -> Iterator[Finding]:
    """Owner, mode and space: keys and the record lie here, and nobody else may read them."""
    if not folder.exists():
        yield _folder(folder, "ok", f"is not there yet; `{to_type('serve')}` makes it")
        return
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        yield _folder(folder, "problem", "is not a folder", fix="move that file away")
        return
    if found.st_uid != os.getuid():
        why = f"it belongs to user {found.st_uid}, and you are {os.getuid()}"
        fix = f"run the gateway as that user, or: sudo chown -R $(id -u) {folder}"
        yield _folder(folder, "problem", "belongs to somebody else", why, fix)
        return
    yield from _modes(folder)
    yield from _space(folder)


def _modes(folder: Path) -> Iterator[Finding]:
    wide = [
        (path, found)
        for path in (folder, *sorted(folder.rglob("*")))
        if (found := _mode(path)) & 0o077
    ]
    for path, mode in wide:
        tight = mode & 0o700
        yield Finding(
            check="state",
            subject=str(path),
            level="problem",
            what=f"others may use it: mode {mode:o}",
            why="keys, tokens and the record are for the owner alone",
            fix=f"chmod {tight:o} {path}, or: {to_type('doctor --fix')}",
            mend=partial(path.chmod, tight),
        )
    if not wide:
        yield _folder(folder, "ok", "is yours alone")


def _mode(path: Path) -> int:
    """The permission bits; none of a link, and of what a running gateway has just removed."""
    try:
        return 0 if path.is_symlink() else path.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0


def _space(folder: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(folder).free
    if free >= _SCARCE:
        yield _folder(folder, "ok", f"{free // _MIB:,} MiB are free")
        return
    yield _folder(
        folder,
        "problem" if free < _TOO_LITTLE else "warning",
        f"only {free // _MIB} MiB are free",
        "a call that cannot be recorded is refused",
        "make room on this disk, or set [storage] path to another one",
    )


def check_gateway(settings: Settings) -> Iterator[Finding]:
    """Whether a gateway runs here and answers; where none does, whether its port is free."""
    folder = settings.storage.path
    file = folder / "gateway.json"
    if not file.exists():
        yield from _ports(settings)
        return
    try:
        running = read_announced(folder)
    except CliError as problem:
        yield _gateway(file, "problem", "cannot be read", problem.message, problem.hint)
        return
    if running.is_gone:
        why = f"process {running.pid} has ended without removing it"
        yield Finding(
            check="gateway",
            subject=str(file),
            level="warning",
            what="no gateway is running, though this file says so",
            why=why,
            fix=f"`{to_type('doctor --fix')}` removes it; so does the next `{to_type('serve')}`",
            mend=partial(file.unlink, missing_ok=True),
        )
        yield from _ports(settings)
        return
    yield from _answers(running)


def _answers(running: Running) -> Iterator[Finding]:
    try:
        answered, why = _is_live(running), "it answers, but not as a gateway"
    # A ValueError where the file names no URL, or no host that can be looked up.
    except (OSError, http.client.HTTPException, ValueError) as problem:
        answered, why = False, str(problem)
    if not answered:
        fix = f"look at its log; end it with `kill {running.pid}` and start it again"
        yield _gateway(running.url, "problem", f"process {running.pid} does not answer", why, fix)
        return
    yield _gateway(running.url, "ok", f"runs as process {running.pid}")
    yield from (clear_text_finding(address) for address in running.clear_text)
    yield from check_stalls(running)
    ours = gatewright.__version__
    if running.version != ours:
        what = f"it is of version {running.version}, this command of {ours}"
        yield _gateway(running.url, "warning", what, fix=f"restart `{to_type('serve')}`")


def _is_live(running: Running) -> bool:
    parts = urlsplit(running.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_ANSWER_S)
    try:
        connection.request("GET", "/livez")
        return connection.getresponse().status == 200
    finally:
        connection.close()


def _ports(settings: Settings) -> Iterator[Finding]:
    """Whether each address that a gateway would listen on is free, and whether others would reach it in clear text."""
    yield from check_listeners(settings)
    yield from _port(settings.gateway.host, settings.gateway.port, "[gateway]")
    if settings.protocol is not None:
        transport = settings.protocol.transport
        yield from _port(transport.host, transport.port, "[mcp.protocol.transport]")


def _port(host: str, port: int, table: str) -> Iterator[Finding]:
    where = f"{host}:{port}"
    if port == 0:
        yield _gateway(where, "ok", "no gateway is running; it will take any free port")
        return
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family[0], socket.SOCK_STREAM) as probe:
            # As the listener does: connections of a former run in TIME_WAIT take no port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(family[4])
    # A UnicodeError where no host can be called so.
    except (OSError, UnicodeError) as problem:
        taken = isinstance(problem, OSError) and problem.errno == errno.EADDRINUSE
        what = "another program listens here" if taken else "cannot be listened on"
        yield _gateway(where, "problem", what, str(problem), f"{_STOP_FIRST} {table} port")
        return
    yield _gateway(where, "ok", "no gateway is running; the port is free")


def check_store(folder: Path) -> Iterator[Finding]:
    """The state database: readable, of this version's form, and what keys it has."""
    path = folder / SQLITE.file
    try:
        if (former := former_files(folder)) and not is_current(folder):
            yield _former(path, former)
        with seen(folder) as state:
            keys = KeyStore(state, clock=time.time, random=os.urandom).keys()
    except StoreError as problem:
        yield broken_store(path, problem)
        return
    if not keys:
        yield Finding(check="store", subject=str(path), level="ok", what="no key was made yet")
        return
    now = time.time()
    live = [
        one for one in keys if one.revoked is None and (one.expires is None or one.expires > now)
    ]
    what = f"{len(keys)} keys, {len(live)} of them in force"
    yield Finding(check="store", subject=str(path), level="ok", what=what)
    yield from check_names([one.name for one in live])


def _former(path: Path, files: Sequence[Path]) -> Finding:
    names = ", ".join(one.name for one in files)
    if path.exists():
        what = f"files of a former version lie beside it: {names}"
        why = "they are taken over where they are what they were, and refused where they have been written since"
    else:
        what = f"the state is of a former version: {names}"
        why = f"it becomes {path.name} when the gateway of this version starts, or with the first command that changes something"
    level: Level = "warning" if path.exists() else "ok"
    return Finding(check="store", subject=str(path.parent), level=level, what=what, why=why)


def key_names(folder: Path) -> frozenset[str]:
    """Whom keys were made for; nobody where that cannot be read, which `check_store` says."""
    try:
        with seen(folder) as state:
            keys = KeyStore(state, clock=time.time, random=os.urandom).keys()
    except StoreError:
        return frozenset()
    return frozenset(one.name for one in keys)


def check_audit(folder: Path) -> Iterator[Finding]:
    """The record, proven from its first line to its last."""
    if not (folder / DATABASE).exists():
        yield Finding(check="audit", subject=str(folder), level="ok", what="no record yet")
        return
    try:
        found = AuditReader(folder).verify()
    except StoreError as problem:
        why, what = str(problem), "the record cannot be read"
    else:
        if found.problem is None:
            what = f"{found.records} records, unbroken"
            yield Finding(check="audit", subject=str(folder), level="ok", what=what)
            return
        what = f"the record is broken at {found.problem.place}"
        record = f"record {found.problem.seq} " if found.problem.seq else ""
        why = f"{record}{found.problem.what}"
    yield Finding(
        check="audit",
        subject=str(folder),
        level="problem",
        what=what,
        why=why,
        fix="keep the folder as evidence and give the gateway another one: [storage] path",
    )


def _folder(folder: Path, level: Level, what: str, why: str = "", fix: str = "") -> Finding:
    return Finding(check="state", subject=str(folder), level=level, what=what, why=why, fix=fix)


def _gateway(subject: object, level: Level, what: str, why: str = "", fix: str = "") -> Finding:
    return Finding(check="gateway", subject=str(subject), level=level, what=what, why=why, fix=fix)
