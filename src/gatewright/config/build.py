"""Builds `Settings` from documents and overrides: merges by precedence and name, resolves references and secrets, checks across tables.

Documents come highest first. In the plain tables the first document that has a key decides; servers
and profiles are merged by name, a whole entry at a time; grants add up (decision C-18).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from gatewright.call import SHIPPED
from gatewright.command_text import to_type
from gatewright.config.agents import build_agents
from gatewright.config.auth import shared_redirects
from gatewright.config.builtin import Builtin, resolved
from gatewright.config.check import Report, Table, meant, read_list, read_table
from gatewright.config.documents import Document
from gatewright.config.extras import lacking
from gatewright.config.file_tables import FileTable
from gatewright.config.groundhog_merge import flaws, joined
from gatewright.config.model import (
    Form,
    Grant,
    Profile,
    SecretsPlace,
    Server,
    Settings,
    Storage,
)
from gatewright.config.oauth import flaws_of
from gatewright.config.own_places import own_places
from gatewright.config.problems import Origin, Problem, SettingsError
from gatewright.config.redaction_rules import rules_of
from gatewright.config.rooms import Rooms, build_rooms
from gatewright.config.secrets import open_secrets
from gatewright.config.servers import build_grant, build_server
from gatewright.config.substitute import Sources, Undefined, substitute
from gatewright.config.toml_positions import KeyPath
from gatewright.patterns import Pattern

__all__ = ["build", "is_loopback", "override", "with_form"]

_PLAIN: dict[str, type[msgspec.Struct]] = {
    field.name: field.type
    for field in msgspec.structs.fields(FileTable)
    if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct)
}
_AS_WRITTEN: dict[str, type[Any]] = {
    name: shape
    for name, shape in _PLAIN.items()
    if shape is not Builtin and shape in {one.type for one in msgspec.structs.fields(Settings)}
}
"""The tables whose words are the settings, but for `builtin`, whose folders are made whole."""
_PROFILE = Pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_NO_HOME = ("~ cannot be resolved here", "write the whole path")
_KNOWN = set(FileTable.__struct_fields__)


def build(documents: Sequence[Document], variables: Mapping[str, str], state: Path) -> Settings:
    """Everything the documents say, over the defaults.

    `state` is the directory used where no `[storage] path` is written, or where `variables` name one.
    Raises `SettingsError` with every problem of every document.
    """
    reports = [Report(document) for document in documents]
    tables = _plain(reports)
    storage = _storage(reports, tables["storage"], state)
    # `state` comes from it by then: it goes over every file.
    if variables.get("GATEWRIGHT_STATE"):
        storage = Storage(path=state)
    secrets = _secrets(reports, tables["secrets"])
    sources = _sources(variables, storage, secrets)
    settings = Settings(
        storage=storage,
        **{name: shape(**tables[name]) for name, shape in _AS_WRITTEN.items()},
        redaction_rules=rules_of(reports, tables["redaction"]),
        secrets=secrets,
        servers=_servers(reports, sources),
        grants=_grants(reports),
        profiles=_profiles(reports),
        agents=build_agents(reports),
        rooms=_rooms(reports, sources),
        protocol=tables["mcp"].get("protocol"),
        builtin=_builtin(reports, tables["builtin"]),
        files=tuple(document.path for document in documents),
        origins=dict(_origins(reports)),
        own=own_places(variables, state),
    )
    # Before the rules across tables: the sinks and limits that it adds have to keep them as well.
    settings = joined(settings)
    errors = [problem for report in reports for problem in sorted(report.errors, key=_line)]
    errors += _across(settings)
    if errors:
        raise SettingsError(errors)
    warnings = [problem for report in reports for problem in sorted(report.warnings, key=_line)]
    warnings += _odd(settings)
    return msgspec.structs.replace(settings, warnings=tuple(warnings))


def with_form(settings: Settings, form: Form, variables: Mapping[str, str]) -> Settings:
    """The settings with what the form says beside them. Raises `SettingsError` for what is undefined."""
    sources = _sources(variables, settings.storage, settings.secrets)
    found: dict[str, str] = {}
    for key, label in (("domain", "domain"), ("key", "apiKey")):
        try:
            found[key] = substitute(getattr(form, key), sources, Path())
        except Undefined as problem:
            at = Problem(Origin(Path("-")), f"gateway.{label}", problem.what, problem.instead)
            raise SettingsError([at]) from None
    hosts = (*settings.gateway.allowed_hosts, found["domain"])
    gateway = msgspec.structs.replace(settings.gateway, allowed_hosts=hosts)
    return msgspec.structs.replace(settings, gateway=gateway, form=Form(**found))


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


def _sources(variables: Mapping[str, str], storage: Storage, place: SecretsPlace) -> Sources:
    # Once for all values, and only if one needs it: a keyring may ask its user.
    opened = cache(lambda: open_secrets(storage.path, place.store, key_file=place.key_file))
    return Sources(variables, opened, store=storage.path)


def _line(problem: Problem) -> tuple[int, str]:
    return problem.origin.line, problem.key


def _plain(reports: Sequence[Report]) -> dict[str, Table]:
    found: dict[str, Table] = {name: {} for name in _PLAIN}
    for report in reports:
        data = report.document.data
        for name in data.keys() - _KNOWN:
            report.warn((name,), "this table is not known and has no effect", meant(name, _KNOWN))
        for name, shape in _PLAIN.items():
            if name in data:
                read = read_table(data[name], shape, (name,), report) or {}
                # Highest first: what a former document said stays.
                found[name] = {**read, **found[name]}
    return found


def _storage(reports: Sequence[Report], table: Table, state: Path) -> Storage:
    return Storage(path=_placed(reports, ("storage", "path"), table) or state)


def _secrets(reports: Sequence[Report], table: Table) -> SecretsPlace:
    return SecretsPlace(**table | {"key_file": _placed(reports, ("secrets", "key_file"), table)})


def _builtin(reports: Sequence[Report], table: Table) -> Builtin:
    """The shipped tools, with folders from the folder of the document that wrote them."""
    said = table.get("directory_list")
    if said is not None:
        report = next(one for one in reports if "builtin" in one.document.data)
        try:
            return Builtin(directory_list=resolved(said, report.document.path.absolute().parent))
        except RuntimeError:
            report.error(("builtin", "directory_list", "roots"), *_NO_HOME)
    return Builtin()


def _placed(reports: Sequence[Report], key: tuple[str, str], table: Table) -> Path | None:
    """A path of the file, from the folder of the document that wrote it. None where there is none."""
    written = table.get(key[1])
    if written is None:
        return None
    report = next(
        one
        for one in reports
        if isinstance(held := one.document.data.get(key[0]), dict) and held.get(key[1]) == written
    )
    try:
        return report.document.path.absolute().parent / Path(written).expanduser()
    except RuntimeError:
        report.error(key, *_NO_HOME)
        return None


def _servers(reports: Sequence[Report], sources: Sources) -> tuple[Server, ...]:
    found: dict[str, Server] = {}
    for report in reports:
        here: dict[str, KeyPath] = {}
        for number, value in enumerate(_elements(report, "servers")):
            path: KeyPath = ("servers", number)
            server = build_server(value, path, report, sources)
            if server is None:
                continue
            if server.id in here:
                line = report.document.origin(here[server.id]).line
                what = f"line {line} has a server of this id"
                report.error((*path, "id"), what, "choose another id")
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


def _rooms(reports: Sequence[Report], sources: Sources) -> Rooms | None:
    """Of the first document that has them, as a whole."""
    report = next((one for one in reports if "rooms" in one.document.data), None)
    return None if report is None else build_rooms(report.document.data["rooms"], report, sources)


def _elements(report: Report, name: str) -> list[Any]:
    value = report.document.data.get(name)
    return [] if value is None else read_list(value, name, report)


def _origins(reports: Sequence[Report]) -> Iterable[tuple[str, Origin]]:
    """(dotted key, place) of everything written, the deciding document last so that it stays."""
    for report in reversed(reports):
        lines, tables = report.document.lines, report.document.data
        # The keys of an inline table have no line of their own.
        inside = ((n, k) for n, one in tables.items() if isinstance(one, dict) for k in one)
        for path in (*(one for one in inside if one not in lines), *lines):
            yield report.label(path), report.document.origin(path)


def _across(settings: Settings) -> list[Problem]:
    """What no table can say about itself."""
    found = [_problem(settings, *one) for one in lacking(settings)]
    gateway = settings.gateway
    for host, instead in _reached(settings):
        if gateway.anonymous == "allow":
            what = f"callers without a key cannot be let in on {host}"
            deny = (
                f'write anonymous = "deny" and make keys with `{to_type("key create NAME")}`, or '
            )
            found.append(_problem(settings, "gateway.anonymous", what, deny + instead))
        if settings.rooms is not None and settings.rooms.table.anonymous_profile:
            what = f"participants without a token cannot be let in on {host}"
            key = "rooms.anonymous_profile"
            found.append(_problem(settings, key, what, f"remove it, or write {instead}"))
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
    said = [*flaws_of(settings.oauth, gateway.host, gateway.port)]
    if settings.protocol is not None:
        said += flaws(settings.protocol, gateway.anonymous == "allow")
    found += [
        Problem(one.origin, f"servers.{one.id}.auth.redirect_uri", what, instead)
        for one, what, instead in shared_redirects(settings.servers)
    ]
    return [*found, *_sinks(settings), *(_problem(settings, *one) for one in said)]


def _reached(settings: Settings) -> Iterable[tuple[str, str]]:
    """Each address that others than this machine reach, and what to write instead. The whole gateway is served at
    each, whatever it was opened for."""
    if not is_loopback(settings.gateway.host):
        yield settings.gateway.host, 'host = "127.0.0.1"'
    protocol = settings.protocol
    if protocol is not None and not is_loopback(protocol.transport.host):
        yield protocol.transport.host, 'host = "localhost" in [mcp.protocol.transport]'


def _sinks(settings: Settings) -> Iterable[Problem]:
    """Names that stand twice, and sinks without the one thing that they need."""
    names = [sink.name for sink in settings.audit.sinks]
    needs = {
        "file": "path",
        "http": "url",
        "syslog": "address",
        "postgres": "dsn",
        "sqlite": "path",
        "mgp": "server",
        "alert": "name",
    }
    for sink in settings.audit.sinks:
        if names.count(sink.name) > 1:
            what = f"the name {sink.name} stands twice"
            yield _problem(settings, "audit.sinks", what, "give each sink a name of its own")
        if not getattr(sink, key := needs[sink.type]):
            what = f"the {sink.type} sink {sink.name} has no {key}"
            yield _problem(settings, "audit.sinks", what, f'write {key} = "…"')
        elif sink.type == "mgp" and settings.server(sink.server) is None:
            what = f"no server has the id {sink.server}"
            yield _problem(settings, "audit.sinks", what, "add the server, or correct the id")


def _odd(settings: Settings) -> list[Problem]:
    """What is right and yet worth a word: it does nothing, or too much."""
    ids = {server.id for server in settings.servers}
    if settings.protocol is not None or settings.builtin.directory_list.roots:
        ids.add(SHIPPED)
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
    return [*found, *_unasked(settings)]


def _unasked(settings: Settings) -> Iterable[Problem]:
    """Where servers get every permission that they name (MGP §3.3)."""
    what = "every permission that a server asks for is approved, and nobody is asked"
    instead = 'write "interactive" unless that is what you want'
    if settings.permissions.policy == "auto_approve":
        yield _problem(settings, "permissions.policy", what, instead)
    for server in settings.servers:
        if server.mgp is not None and server.mgp.permission_policy == "auto_approve":
            key = f"servers.{server.id}.mgp.permission_policy"
            yield Problem(server.origin, key, what, instead)


def _known(ids: set[str]) -> str:
    return f"write one of {', '.join(sorted(ids))}" if ids else "add the server"


def _problem(settings: Settings, key: str, what: str, instead: str) -> Problem:
    origin = settings.origins.get(key)
    if origin is None:
        origin = Origin(settings.files[0] if settings.files else Path("the command line"))
    return Problem(origin, key, what, instead)
