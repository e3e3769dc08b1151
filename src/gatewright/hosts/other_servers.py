"""Lists the other servers in a host's configuration file: whether each is on (bypasses the gateway), off, or leads to a gateway.

A switch counts where the host is known to heed it; a word that it does not know switches nothing off. An
entry counts as a gateway's where its program is ours, whatever it is called, and a URL where it is one of ours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePath
from typing import Any, Literal

import msgspec

from gatewright.hosts.edit import document, entries
from gatewright.hosts.host_table import Host
from gatewright.hosts.model import CannotRead
from gatewright.hosts.whole_file import Unreadable

__all__ = ["Beside", "State", "beside", "beside_in"]

State = Literal["on", "off", "gateway", "unknown"]
"""`off` is switched off in the host, `gateway` leads to a gateway; `unknown`: the file cannot be read."""

_SWITCH: Mapping[str, tuple[str, bool]] = {
    **dict.fromkeys(("cline", "roo", "windsurf", "antigravity", "kiro"), ("disabled", True)),
    **dict.fromkeys(("codex", "opencode", "goose", "zed"), ("enabled", False)),
}
"""Host → the word in an entry that switches it off there."""
_WAYS_IN = frozenset({"bridge", "serve", "run"})


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """One entry that is not the gateway's own. `folder` is the project whose servers stand in a file of the user."""

    name: str
    state: State
    folder: str = ""


def beside(host: Host, text: str, ours: Collection[str], urls: Collection[str]) -> list[Beside]:
    """Every server of a host's file but those called `ours`; `urls` are where our gateway is."""
    try:
        whole = document(host, text)
        named = [(str(name), one, "") for name, one in entries(host, text).items()]
    except (CannotRead, Unreadable):
        return [Beside(name="", state="unknown")]
    off = _off(host, whole)
    found = [
        Beside(name=name, state=_state(host, one, name in off, urls), folder=folder)
        for name, one, folder in [*named, *_nameless(host, whole)]
        if name not in ours
    ]
    for name, one, folder, switched in _of_projects(host, whole):
        found.append(Beside(name=name, state=_state(host, one, switched, urls), folder=folder))
    return found


def beside_in(
    host: Host, whole: Any, named: Mapping[str, Any], urls: Collection[str]
) -> list[Beside]:
    """Servers that stand in another document than the host's own (`further_places`), all of which count."""
    off = _off(host, whole) if isinstance(whole, Mapping) else frozenset()
    return [
        Beside(name=name, state=_state(host, one, name in off, urls)) for name, one in named.items()
    ]


def _state(host: Host, entry: Any, off: bool, urls: Collection[str]) -> State:
    said = entry if isinstance(entry, Mapping) else {}
    if host.id in _SWITCH:
        word, value = _SWITCH[host.id]
        # `is`: a host may not heed a 0 or a "false" (see above), and a server that is on must not be shown as off.
        off = off or said.get(word) is value
    if off:
        return "off"
    return "gateway" if _leads_to_us(host, said, urls) else "on"


def _leads_to_us(host: Host, entry: Mapping[str, Any], urls: Collection[str]) -> bool:
    """Whether an entry is a gateway's: the program itself is looked at, never what else stands in its arguments."""
    command, args = entry.get(host.local.command), entry.get(host.local.args or "args", [])
    words = [*(command if isinstance(command, list) else [command] if command else [])]
    words += args if isinstance(args, list) else []
    if not words:
        url = entry.get(host.remote.url if host.remote is not None else "url")
        ways = [one.rstrip("/") for one in urls]  # below it are its profiles
        return isinstance(url, str) and any(url == one or url.startswith(f"{one}/") for one in ways)
    if not all(isinstance(word, str) for word in words):
        return False
    # The path may be of Windows, wherever this runs.
    name = PurePath(words[0].replace("\\", "/")).name.removesuffix(".exe")
    if name.startswith("python"):
        words = [words[0], *words[2:]] if words[1:2] == ["-P"] else words
        if words[1:3] == ["-m", "gatewright"]:
            name, words = "gatewright", words[2:]
    return name == "gatewright" and len(words) > 1 and words[1] in _WAYS_IN


def _nameless(host: Host, whole: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Entries of a list that have no name, or that of another: the host may start them all the same."""
    inside: Any = whole
    for key in host.container:
        inside = inside.get(key) if isinstance(inside, Mapping) else None
    if not host.listed or not isinstance(inside, list):
        return
    seen: set[str] = set()
    for number, one in enumerate(inside, start=1):
        name = str(one.get("name", "")) if isinstance(one, Mapping) else ""
        if isinstance(one, Mapping) and (not name or name in seen):
            yield f"{name}#{number}", one, ""
        seen.add(name)


def _off(host: Host, whole: Mapping[str, Any]) -> frozenset[str]:
    """What Gemini's lists leave out of the names in its file."""
    if host.id != "gemini":
        return frozenset()
    rules = whole.get("mcp")
    rules = rules if isinstance(rules, Mapping) else {}
    out = [*_names(rules.get("excluded")), *_names(whole.get("excludeMCPServers"))]
    allowed = rules.get("allowed") or whole.get("allowMCPServers")
    servers = whole.get("mcpServers")
    if isinstance(allowed, list) and isinstance(servers, Mapping):
        out += servers.keys() - _names(allowed)
    return frozenset(out)


def _of_projects(host: Host, whole: Mapping[str, Any]) -> Iterator[tuple[str, Any, str, bool]]:
    """Claude Code's file of the user has servers of single folders as well."""
    projects = whole.get("projects") if host.id == "claude-code" else None
    for folder, project in projects.items() if isinstance(projects, Mapping) else ():
        inside = project.get("mcpServers") if isinstance(project, Mapping) else None
        if isinstance(inside, Mapping):
            off = _names(project.get("disabledMcpServers"))
            for name, one in inside.items():
                yield str(name), one, str(folder), name in off


def _names(value: Any) -> frozenset[str]:
    return (
        frozenset(one for one in value if isinstance(one, str))
        if isinstance(value, list)
        else frozenset()
    )
