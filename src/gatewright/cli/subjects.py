"""What a name means that a command was given: a server, or a tool by any of its names; and what to say where there is none.

A tool is called as lists show it (`files__read`), or `SERVER/TOOL`, or `SERVER.TOOL`, in every command alike. A gateway that runs
knows which tools there are, and is asked; without one the configuration says which servers there are, and no more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gatewright.call import KERNEL, SHIPPED, Target
from gatewright.cli.ask import ask, ask_all
from gatewright.cli.habits import HABITS
from gatewright.cli.held import unseen
from gatewright.cli.output import CliError, Exit, note
from gatewright.cli.running import Endpoint, endpoint, read_running
from gatewright.commands import to_type
from gatewright.patterns import Pattern
from gatewright.settings import Settings, SettingsError, load
from gatewright.stores.pins import DATABASE as PINS
from gatewright.stores.pins import Pins
from gatewright.validators.nearest import closest

__all__ = [
    "Subject",
    "absent",
    "known_prefixes",
    "listed",
    "no_server",
    "own_name",
    "prefixes_of",
    "seen_subject",
    "servers_of",
    "spelled",
    "split",
    "subject_of",
]

_MARKS = ("/", "__", ".")
_FOREIGN = Pattern(r"[^A-Za-z0-9_-]")
_BUDGET = 46
"""Characters of a name as lists show it (`upstream.names.BUDGET`, which is not imported to print one)."""
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
    """The ids of all servers that can be named: those of the configuration, and the gateway's own two."""
    return [*(one.id for one in settings.servers), SHIPPED, KERNEL]


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
    names = servers_of(settings)
    if text in names:
        return Subject(text)
    prefixes = [(one, one) for one in names]
    prefixes += [(one.tool_prefix, one.id) for one in settings.servers if one.tool_prefix]
    for prefix, server in sorted(prefixes, key=lambda one: -len(one[0])):
        for mark in _MARKS:
            begin, found, tool = text.partition(prefix + mark)
            if found and not begin and tool:
                return Subject(server, tool)
    return None


def spelled(server: str, tool: str | None, settings: Settings | None = None) -> str:
    """How every command shows a tool, or a server alone: as lists of tools do. Where lists show another name (cut, mapped, with a
    prefix of the `settings`), and for the gateway's own, as they are called like methods, which is taken everywhere."""
    if tool is None:
        return server
    shown = f"{server}__{tool}"
    known = None if settings is None else settings.server(server)
    prefixed = known is not None and known.tool_prefix not in {None, server}
    plain = len(shown) <= _BUDGET and _FOREIGN.search(shown) is None
    return shown if plain and not prefixed and server != KERNEL else f"{server}/{tool}"


def seen_subject(settings: Settings, text: str) -> Subject | None:
    """The same as `split`, and a tool by the server's own name for it also where lists show another: one that hosts take
    (`café` as `caf_`, a long one cut). Which tools there are say the pins; without a gateway, and of tools that are gone, too."""
    found = split(settings, text)
    if found is not None and found.tool is None:
        return found
    owners = _bare(settings) if found is None else [found.server]
    seen = {one: tools for one in owners if (tools := _seen(settings, one))}
    if not seen or (found is not None and found.tool in seen[found.server]):
        return found
    # Only a name that is nobody's own pays for the table.
    from gatewright.transport.slices import whole  # noqa: PLC0415
    from gatewright.upstream.names import expose_names  # noqa: PLC0415

    targets = [Target(server, one) for server, tools in seen.items() for one in tools]
    names = whole(expose_names(targets, prefixes=prefixes_of(settings), bare=_bare(settings)))
    target = names.find(text)
    return found if target is None else Subject(target.server, target.name)


def listed(
    tools: Sequence[Mapping[str, Any]], text: str, prefixes: Mapping[str, str]
) -> Mapping[str, Any] | None:
    """The tool that a name means, of those that a gateway lists; None where it is none of them. `prefixes` are those of servers that
    have another than their id."""
    known = {str(one.get("name")): one for one in tools}
    if text in known:
        return known[text]
    # Only a name that no list has pays for the rules of names.
    from gatewright.upstream.names import spellings  # noqa: PLC0415

    for mark in _MARKS:
        at = text.find(mark)
        while at > 0:
            server, own = text[:at], text[at + len(mark) :]
            shown = spellings(Target(server, own), prefixes.get(server))
            found = next((known[one] for one in shown if own and one in known), None)
            if found is not None:
                return found
            at = text.find(mark, at + 1)
    return None


def prefixes_of(settings: Settings) -> dict[str, str]:
    """The servers whose tools begin with something else than their id."""
    return {one.id: one.tool_prefix for one in settings.servers if one.tool_prefix}


def known_prefixes(config: Path | None) -> dict[str, str]:
    """The same as far as a configuration is at hand: a gateway elsewhere is asked without one."""
    try:
        return prefixes_of(load(config))
    except (CliError, SettingsError, OSError):
        return {}


def _bare(settings: Settings) -> list[str]:
    """The servers whose tools are shown by their own names alone, in any profile."""
    every = [one.id for one in settings.servers]
    shown: list[tuple[Sequence[str], bool]] = [(every, settings.gateway.unprefixed)]
    shown += [(one.servers or every, one.unprefixed) for one in settings.profiles.values()]
    return sorted({servers[0] for servers, unprefixed in shown if unprefixed and len(servers) == 1})


def _seen(settings: Settings, server: str) -> set[str]:
    path = settings.storage.path / PINS
    if not path.exists():
        return set()
    pins = Pins(path, clock=time.time)
    try:
        return {one.tool for one in pins.of(server)}
    finally:
        pins.close()


def subject_of(settings: Settings, text: str, config: Path | None) -> Subject:
    """What a name means. Raises `CliError` (exit code 2) where nothing is called so, with the names that come close."""
    found = split(settings, text)
    if found is not None and found.tool is None:
        return found
    where = _running(config)
    if where is None:
        if found is None:
            raise _nothing(settings, text)
        note(
            f"no gateway runs here, so it is not known whether {found.server} has a tool {found.tool!r}"
        )
        return found
    said = _asked(where, text)
    if found is not None and not said.get("tool_name"):
        said = _asked(where, f"{found.server}/{found.tool}")  # the one spelling that every tool has
    if said.get("tool_name"):
        return Subject(str(said["server_id"]), str(said["tool_name"]))
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
    text, patience_s = f"{meant.server}/{meant.tool}", HABITS.patience(_SOON_S)
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
