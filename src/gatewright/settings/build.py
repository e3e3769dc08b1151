"""Files to `Settings`: which value wins, and the rules that hold between tables.

Documents come highest first. In the plain tables the first document that has a key decides; servers
and profiles are merged by name, a whole entry at a time; grants add up (decision C-18).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gatewright.settings.check import Report, Table, read_list, read_table
from gatewright.settings.documents import Document, KeyPath
from gatewright.settings.model import (
    Audit,
    Gateway,
    Grant,
    Limits,
    Profile,
    Server,
    Settings,
    Storage,
)
from gatewright.settings.problems import Origin, Problem, SettingsError
from gatewright.settings.servers import build_grant, build_server
from gatewright.settings.shapes import StorageTable

__all__ = ["build", "is_loopback", "override"]

_PLAIN: dict[str, type[msgspec.Struct]] = {
    "gateway": Gateway,
    "storage": StorageTable,
    "limits": Limits,
    "audit": Audit,
}
_PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KNOWN = {*_PLAIN, "servers", "grants", "profiles"}


def build(documents: Sequence[Document], variables: Mapping[str, str], state: Path) -> Settings:
    """Everything the documents say, over the defaults.

    `state` is the directory used where no `[storage] path` is written. Raises `SettingsError` with
    every problem of every document.
    """
    reports = [Report(document) for document in documents]
    tables = _plain(reports)
    settings = Settings(
        storage=_storage(reports, tables["storage"], state),
        gateway=Gateway(**tables["gateway"]),
        limits=Limits(**tables["limits"]),
        audit=Audit(**tables["audit"]),
        servers=_servers(reports, variables),
        grants=_grants(reports),
        profiles=_profiles(reports),
        files=tuple(document.path for document in documents),
        origins=dict(_origins(reports)),
    )
    errors = [problem for report in reports for problem in sorted(report.errors, key=_line)]
    errors += _across(settings)
    if errors:
        raise SettingsError(errors)
    warnings = [problem for report in reports for problem in sorted(report.warnings, key=_line)]
    warnings += _odd(settings)
    return msgspec.structs.replace(settings, warnings=tuple(warnings))


def override(settings: Settings, *, host: str | None = None, port: int | None = None) -> Settings:
    """The settings with what the command line says. Raises `SettingsError` when that cannot be."""
    given = {"host": host, "port": port}
    gateway = msgspec.structs.replace(
        settings.gateway, **{key: value for key, value in given.items() if value is not None}
    )
    found = msgspec.structs.replace(settings, gateway=gateway)
    if errors := _across(found):
        raise SettingsError(errors)
    return found


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches an address. A name other than localhost may be anybody."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _line(problem: Problem) -> tuple[int, str]:
    return problem.origin.line, problem.key


def _plain(reports: Sequence[Report]) -> dict[str, Table]:
    found: dict[str, Table] = {name: {} for name in _PLAIN}
    for report in reports:
        data = report.document.data
        for name in data.keys() - _KNOWN:
            report.warn((name,), "this table is not known and has no effect", "remove it")
        for name, shape in _PLAIN.items():
            if name in data:
                read = read_table(data[name], shape, (name,), report) or {}
                found[name] = {**read, **found[name]}
    return found


def _storage(reports: Sequence[Report], table: Table, state: Path) -> Storage:
    written = table.get("path")
    if written is None:
        return Storage(path=state)
    report = next(
        one
        for one in reports
        if isinstance(held := one.document.data.get("storage"), dict)
        and held.get("path") == written
    )
    try:
        path = Path(written).expanduser()
    except RuntimeError:
        report.error(("storage", "path"), "~ cannot be resolved here", "write the whole path")
        return Storage(path=state)
    return Storage(path=report.document.path.absolute().parent / path)


def _servers(reports: Sequence[Report], variables: Mapping[str, str]) -> tuple[Server, ...]:
    found: dict[str, Server] = {}
    for report in reports:
        here: dict[str, KeyPath] = {}
        for number, value in enumerate(_elements(report, "servers")):
            path: KeyPath = ("servers", number)
            server = build_server(value, path, report, variables)
            if server is None:
                continue
            if server.id in here:
                line = report.document.origin(here[server.id]).line
                report.error(
                    (*path, "id"), f"line {line} has a server of this id", "choose another id"
                )
                continue
            here[server.id] = path
            found.setdefault(server.id, server)
    return tuple(found.values())


def _grants(reports: Sequence[Report]) -> tuple[Grant, ...]:
    built = [
        build_grant(value, ("grants", number), report)
        for report in reports
        for number, value in enumerate(_elements(report, "grants"))
    ]
    return tuple(grant for grant in built if grant is not None)


def _profiles(reports: Sequence[Report]) -> dict[str, Profile]:
    found: dict[str, Profile] = {}
    for report in reports:
        tables = report.document.data.get("profiles", {})
        if not isinstance(tables, dict):
            report.error(("profiles",), "profiles are tables", "write [profiles.NAME]")
            continue
        for name, value in tables.items():
            path = ("profiles", name)
            if not _PROFILE.fullmatch(name):
                report.error(path, "a profile's name is part of a URL", "use letters, digits and -")
            table = read_table(value, Profile, path, report)
            found.setdefault(name, Profile(**(table or {})))
    return found


def _elements(report: Report, name: str) -> list[Any]:
    value = report.document.data.get(name)
    return [] if value is None else read_list(value, name, report)


def _origins(reports: Sequence[Report]) -> Iterable[tuple[str, Origin]]:
    """(dotted key, place) of everything written, the deciding document last so that it stays."""
    for report in reversed(reports):
        for path in report.document.lines:
            yield report.label(path), report.document.origin(path)


def _across(settings: Settings) -> list[Problem]:
    """What no table can say about itself."""
    found: list[Problem] = []
    gateway = settings.gateway
    if gateway.anonymous == "allow" and not is_loopback(gateway.host):
        found.append(
            _problem(
                settings,
                "gateway.anonymous",
                f"callers without a key cannot be let in on {gateway.host}",
                'write anonymous = "deny" and make keys with `gatewright key create`, '
                'or host = "127.0.0.1"',
            )
        )
    shown = [server for server in settings.servers if server.enabled]
    if gateway.unprefixed and len(shown) > 1:
        found.append(
            _problem(
                settings,
                "gateway.unprefixed",
                f"{len(shown)} servers cannot all go without a prefix",
                "write unprefixed = false, or use a profile of one server",
            )
        )
    for name, profile in settings.profiles.items():
        count = len(profile.servers) or len(shown)
        if profile.unprefixed and count > 1:
            found.append(
                _problem(
                    settings,
                    f"profiles.{name}.unprefixed",
                    f"{count} servers cannot all go without a prefix",
                    'write servers = ["ID"] with one server, or unprefixed = false',
                )
            )
    return found


def _odd(settings: Settings) -> list[Problem]:
    """What is right but does nothing."""
    ids = {server.id for server in settings.servers}
    missing = "no server has this id, so it has no effect"
    found = [
        Problem(grant.origin, f"grants.{grant.agent}", f'"{grant.server}": {missing}', _known(ids))
        for grant in settings.grants
        if grant.server not in ids
    ]
    for name, profile in settings.profiles.items():
        key = f"profiles.{name}.servers"
        found += [
            _problem(settings, key, f'"{server}": {missing}', _known(ids))
            for server in profile.servers
            if server not in ids
        ]
    return found


def _known(ids: set[str]) -> str:
    return f"write one of {', '.join(sorted(ids))}" if ids else "add the server"


def _problem(settings: Settings, key: str, what: str, instead: str) -> Problem:
    origin = settings.origins.get(key)
    if origin is None:
        origin = Origin(settings.files[0] if settings.files else Path("the command line"))
    return Problem(origin, key, what, instead)
