"""Resolves a command's server or tool name by configuration, pins or running gateway; `spelled`: its name in lists; suggests similar ones.

A tool is called as lists show it (`files__read`), or `SERVER/TOOL`, or `SERVER.TOOL`, in every command alike. A gateway that runs
knows which tools there are, and is asked; without one the configuration says which servers there are, and no more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gatewright.call import KERNEL, SHIPPED, Target
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.gateway_client import ask, ask_all
from gatewright.cli.global_options import OUTPUT_OPTIONS
from gatewright.cli.output import note
from gatewright.cli.running import Endpoint, endpoint, read_running
from gatewright.cli.state_access import seen
from gatewright.command_text import to_type
from gatewright.config import Settings, SettingsError, load
from gatewright.patterns import Pattern
from gatewright.pins.store import Pins
from gatewright.registration.store import KeptServers
from gatewright.schemas.nearest import closest
from gatewright.servers.commands.held_tools import unseen
from gatewright.storage.errors import StoreError

__all__ = [
    "Shown",
    "Subject",
    "absent",
    "listed",
    "no_server",
    "own_name",
    "prefixes_of",
    "registered_ids",
    "seen_subject",
    "servers_of",
    "shown_by",
    "spelled",
    "split",
    "subject_of",
]

_MARKS = ("/", "__", ".")
_FOREIGN = Pattern(r"[^A-Za-z0-9_-]")
_BUDGET = 46
"""Characters of a name as lists show it (`servers.names.BUDGET`, which is not imported to print one)."""
_LATER = frozenset({"upstream_unavailable", "server_not_ready", "restarting", "draining"})
"""Reasons for which a tool is missing that may yet appear."""
_MISSING = frozenset({"tool_not_found", "access_denied"})
"""Reasons for which a tool is missing that there may not be; the second is what sounds alike to who may not use everything."""
_SOON_S = 5.0
"""How long an edit of a file waits for what it can do without."""


class Subject(NamedTuple):
    """A server, or one tool by the server's own name for it."""

    server: str
    tool: str | None = None


def servers_of(settings: Settings) -> list[str]:
    """The ids of all servers that can be named: those of the configuration, those that were registered while a gateway ran, and
    the gateway's own two."""
    return [*{one.id: None for one in settings.servers} | registered_ids(settings), SHIPPED, KERNEL]


def registered_ids(settings: Settings) -> dict[str, None]:
    """The ids that were registered while a gateway ran, there now or not; none where the state cannot be read."""
    try:
        with seen(settings.storage.path) as state:
            return dict.fromkeys(KeptServers(state).named())
    except StoreError:
        return {}


def no_server(settings: Settings, name: str) -> CliError:
    """There is no such server; these come close."""
    near = closest(name, servers_of(settings), 3)
    known = ", ".join(sorted(one.id for one in settings.servers)) or "there are none"
    return CliError(
        f"no server {name!r} in the configuration",
        code="not_found",
        exit_code=Exit.USAGE,
        hint=f"did you mean {' or '.join(near)}?" if near else f"servers: {known}",
    )


def absent(where: Endpoint, name: str) -> str:
    """What to say where a running gateway knows no server of this name: those that come close."""
    listed = ask(where, "mgp/discovery/list").get("servers")
    ids = [str(one.get("id")) for one in listed] if isinstance(listed, list) else []
    near = closest(name, ids)
    return (
        f"did you mean {' or '.join(near)}?"
        if near
        else f"`{to_type('server list')}` shows what there is"
    )


def split(settings: Settings, text: str) -> Subject | None:
    """Server and tool of `files/read`, `files__read` or `files.read`, or a server alone; the longest id that fits. None
    where no server is called so."""
    return next(iter(_readings(settings, text)), None)


def _readings(settings: Settings, text: str) -> list[Subject]:
    """All that a text can mean, longest id first. More than one where ids begin alike: `a__b__c` is a tool of `a` or of `a__b`; with
    a slash it is one alone, as no id has any."""
    names = servers_of(settings)
    # An id may have `.` or `__` in it.
    if text in names:
        return [Subject(text)]
    prefixes = [(one, one) for one in names]
    prefixes += [(one.tool_prefix, one.id) for one in settings.servers if one.tool_prefix]
    found: dict[Subject, str] = {}
    # Longest first: `a__b__c` is looked for at `a__b` before `a`.
    for prefix, server in sorted(prefixes, key=lambda one: -len(one[0])):
        for mark in _MARKS:
            begin, between, tool = text.partition(prefix + mark)
            if between and not begin and tool:
                found.setdefault(Subject(server, tool), mark)
    by_mark = ([one for one, each in found.items() if each == mark] for mark in _MARKS)
    return next((some for some in by_mark if some), [])


def _two_meanings(text: str, found: Iterable[Subject]) -> CliError:
    meant = " or ".join(f"{one.server}/{one.tool}" for one in found)
    return CliError(
        f"{text!r} can mean {meant}",
        code="ambiguous",
        exit_code=Exit.USAGE,
        hint="write SERVER/TOOL: that is one tool alone",
    )


def spelled(server: str, tool: str | None, settings: Settings | None = None) -> str:
    """How every command shows a tool, or a server alone: as lists of tools do. Where lists show another name (cut, mapped, with a
    prefix of the `settings` or none), and for the gateway's own, as they are called like methods, which is taken everywhere."""
    if tool is None:
        return server
    shown = f"{server}__{tool}"
    known = None if settings is None else settings.server(server)
    prefixed = known is not None and known.tool_prefix not in {None, server}
    prefixed |= settings is not None and server in _bare(settings)
    # With a second `__`, lists may show another name and ids that begin alike may claim it.
    one_mark = shown.find("__") == shown.rfind("__")
    plain = one_mark and len(shown) <= _BUDGET and _FOREIGN.search(shown) is None
    return shown if plain and not prefixed and server != KERNEL else f"{server}/{tool}"


def seen_subject(settings: Settings, text: str) -> Subject | None:
    """The same as `split`, and a tool by the server's own name for it also where lists show another: one that hosts take
    (`café` as `caf_`, a long one cut). Which tools there are say the pins; without a gateway, and of tools that are gone, too.
    Raises `CliError` (exit code 2) where two tools can be meant."""
    found = _readings(settings, text)
    if found and found[0].tool is None:
        return found[0]
    bare = _bare(settings)
    owners = [*(one.server for one in found), *bare]
    seen = {one: tools for one in owners if (tools := _seen(settings, one))}
    own = [Subject(one, text) for one in bare if text in seen.get(one, ())]
    if own and settings.gateway.unprefixed:
        return own[0]
    known = [*own, *(one for one in found if one.tool in seen.get(one.server, ()))]
    if len(known) == 1:
        return known[0]
    if seen and not known and (target := _exposed(settings, seen, text)) is not None:
        return target
    if len(found) > 1:
        raise _two_meanings(text, known or found)
    return found[0] if found else None


def _exposed(settings: Settings, seen: Mapping[str, set[str]], text: str) -> Subject | None:
    """The tool that lists show under this name."""
    # Only a name that is nobody's own pays for the table.
    from gatewright.servers.names import expose_names  # noqa: PLC0415
    from gatewright.transport.slices import whole  # noqa: PLC0415

    targets = [Target(server, one) for server, tools in seen.items() for one in tools]
    names = whole(expose_names(targets, prefixes=prefixes_of(settings), bare=_bare(settings)))
    target = names.find(text)
    return None if target is None else Subject(target.server, target.name)


class Shown(NamedTuple):
    """How lists show tools of servers that are not shown by their id: with which prefix, and whose have none."""

    prefixes: Mapping[str, str] = {}
    bare: Sequence[str] = ()


def listed(tools: Sequence[Mapping[str, Any]], text: str, shown: Shown) -> Mapping[str, Any] | None:
    """The tool that a name means, of those that a gateway lists; None where it is none of them."""
    known = {str(one.get("name")): one for one in tools}
    if text in known:
        return known[text]
    # Only a name that no list has pays for the rules of names.
    from gatewright.servers.names import spellings  # noqa: PLC0415

    for mark in _MARKS:
        at = text.find(mark)
        while at > 0:
            server, own = text[:at], text[at + len(mark) :]
            names = [own] if server in shown.bare else []
            names += spellings(Target(server, own), shown.prefixes.get(server))
            found = next((known[one] for one in names if own and one in known), None)
            if found is not None:
                return found
            at = text.find(mark, at + 1)
    return None


def prefixes_of(settings: Settings) -> dict[str, str]:
    """The servers whose tools begin with something else than their id."""
    return {one.id: one.tool_prefix for one in settings.servers if one.tool_prefix}


def shown_by(config: Path | None) -> Shown:
    """How lists show tools as far as a configuration is at hand: a gateway elsewhere is asked without one."""
    try:
        settings = load(config)
    except (CliError, SettingsError, OSError):
        return Shown()
    return Shown(prefixes_of(settings), _bare(settings))


def _bare(settings: Settings) -> list[str]:
    """The servers whose tools are shown by their own names alone, in any profile."""
    every = [one.id for one in settings.servers]
    shown: list[tuple[Sequence[str], bool]] = [(every, settings.gateway.unprefixed)]
    shown += [(one.servers or every, one.unprefixed) for one in settings.profiles.values()]
    return sorted({servers[0] for servers, unprefixed in shown if unprefixed and len(servers) == 1})


def _seen(settings: Settings, server: str) -> set[str]:
    with seen(settings.storage.path) as state:
        return {one.tool for one in Pins(state, clock=time.time).of(server)}


def subject_of(settings: Settings, text: str, config: Path | None) -> Subject:
    """What a name means. Raises `CliError` (exit code 2) where nothing is called so, with the names that come close, or two are."""
    readings = _readings(settings, text)
    found = next(iter(readings), None)
    if found is not None and found.tool is None:
        return found
    where = _running(config)
    if where is None:
        if found is None:
            raise _nothing(settings, text)
        if len(readings) > 1:
            raise _two_meanings(text, readings)
        note(
            f"no gateway runs here, so it is not known whether {found.server} has a tool {found.tool!r}"
        )
        return found
    said = _asked(where, text)
    if said.get("tool_name"):
        return Subject(str(said["server_id"]), str(said["tool_name"]))
    # `SERVER/TOOL` is the one spelling that every tool has.
    again = {one: _asked(where, f"{one.server}/{one.tool}") for one in readings}
    there = [one for one in again.values() if one.get("tool_name")]
    if len(there) == 1:
        return Subject(str(there[0]["server_id"]), str(there[0]["tool_name"]))
    if len(readings) > 1:
        raise _two_meanings(text, readings)
    return _not_there(settings, text, found, where, again.get(found, {}) if found else {})


def _not_there(
    settings: Settings, text: str, found: Subject | None, where: Endpoint, said: dict[str, Any]
) -> Subject:
    """A tool that the gateway does not have now, as it was written, with a note where it may have it later. Raises `CliError`."""
    if found is not None and _reason(said) in _LATER:
        note(
            f"{found.server} is not connected, so it is not known whether it has a tool {found.tool!r}"
        )
        return found
    if found is not None and (why := _left_out(where, found)):
        note(f"{spelled(*found)} is {why}: no list shows it")
        return found
    raise _no_tool(settings, text, found, where)


def own_name(settings: Settings, meant: Subject, file: Path) -> str:
    """The server's own name for a tool about which a file is to say something. Raises `CliError` (exit code 2) only where the
    gateway that follows this file says that the server is connected and has no such tool: whatever else keeps it from being
    found out, the name is taken as it was written, and a note says so."""
    try:
        found = _found_out(settings, meant, file)
    except CliError as problem:
        found = problem.message
    if isinstance(found, CliError):
        raise found
    if isinstance(found, Subject):
        return str(found.tool)
    note(f"{found}, so it is not known whether {meant.server} has a tool {meant.tool!r}")
    return str(meant.tool)


def _found_out(settings: Settings, meant: Subject, file: Path) -> Subject | CliError | str:
    """The tool, that there is none, or why that is not known. Raises `CliError` where the gateway does not answer."""
    running = read_running(settings.storage.path)
    if running.uses(file) is False:
        return f"the gateway at {running.url} uses another file"
    if not running.operator_token:
        return f"the gateway at {running.url} tells only who has an operator's key"
    where = Endpoint(running.url, running.operator_token, running.pid)
    text, patience_s = f"{meant.server}/{meant.tool}", OUTPUT_OPTIONS.patience(_SOON_S)
    said = _asked(where, text, patience_s)
    if said.get("tool_name") and said.get("server_id") == meant.server:
        return Subject(meant.server, str(said["tool_name"]))
    if _reason(said) in _MISSING and _lists_all(where, meant.server, str(meant.tool), patience_s):
        return _no_tool(settings, text, meant, where, patience_s)
    return f"{meant.server} is not connected, may not be used or shows not all its tools"


def _lists_all(where: Endpoint, server: str, tool: str, patience_s: float) -> bool:
    """Whether the server is connected, and the tool none of those that it lists and nobody sees."""
    entry = _entry(where, server, patience_s)
    return entry.get("status") == "connected" and all(
        count == len(tools) and tool not in dict(tools) for _, count, tools in unseen(entry)
    )


def _left_out(where: Endpoint, meant: Subject) -> str:
    """As what the server has the tool that no list shows; empty where it has none, or none that is named."""
    kinds = ((kind, tools) for kind, _, tools in unseen(_entry(where, meant.server)))
    return next((kind.replace("_", " ") for kind, tools in kinds if meant.tool in dict(tools)), "")


def _entry(where: Endpoint, server: str, patience_s: float | None = None) -> dict[str, Any]:
    """What the gateway tells of one server; nothing of one that it does not know."""
    listed = ask(where, "mgp/discovery/list", timeout_s=patience_s).get("servers")
    entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return next((one for one in entries if one.get("id") == server), {})


def _running(config: Path | None) -> Endpoint | None:
    try:
        return endpoint(config, role="operator")
    except CliError:
        return None


def _asked(where: Endpoint, text: str, patience_s: float | None = None) -> dict[str, Any]:
    """What the gateway takes a tool's name for."""
    params = {"agent": "local", "tool": text}
    return ask(where, "gatewright/policy/explain", params, timeout_s=patience_s)


def _reason(said: dict[str, Any]) -> str:
    gates: Iterable[dict[str, Any]] = said.get("gates", ())
    return next((str(one["reason"]) for one in gates if one.get("gate") == "resolve"), "")


def _nothing(settings: Settings, text: str) -> CliError:
    for mark in _MARKS:
        server, found, _ = text.partition(mark)
        if found and server:
            return no_server(settings, server)
    return no_server(settings, text)


def _no_tool(
    settings: Settings,
    text: str,
    found: Subject | None,
    where: Endpoint,
    patience_s: float | None = None,
) -> CliError:
    if found is None:
        return _nothing(settings, text)
    tools = ask_all(where, "tools/list", "tools", timeout_s=patience_s)
    near = closest(text, [str(one.get("name")) for one in tools], 3)
    return CliError(
        f"server {found.server} has no tool {found.tool!r}",
        code="not_found",
        exit_code=Exit.USAGE,
        hint=f"did you mean {' or '.join(near)}?"
        if near
        else f"`{to_type('tool list')}` shows what there is",
    )
