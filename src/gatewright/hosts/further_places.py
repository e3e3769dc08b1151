"""Files besides its own in which an MCP host finds servers: editor settings, profiles, dev containers, managed files, extensions. Read only.

`connect` edits one file of a host. The host may start servers of others as well, which are governed by nobody: so they are looked at
wherever it is said what stays beside the gateway. A file of an organisation (`/etc`) is among them; who wants those servers behind the
gateway asks whoever administers the machine.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from gatewright.hosts.host_table import EDITIONS, Host, Platform, editor_files, everywhere, filled
from gatewright.hosts.model import CannotRead
from gatewright.hosts.other_servers import Beside, beside_in
from gatewright.hosts.parse import parse
from gatewright.hosts.whole_file import read_bytes

__all__ = ["FURTHER", "Further", "Place", "further_beside", "further_places"]

_MOST = 100
"""So many files of one pattern are looked at."""
_SERVERS = ("mcpServers",)
_SETTINGS = ("mcp", "servers")
_CONTAINER = ("customizations", "vscode", "mcp", "servers")


class Further(NamedTuple):
    """One pattern of files, `*` for any name in one folder, and the path of keys to the servers in each."""

    container: tuple[str, ...]
    files: Mapping[Platform, tuple[str, ...]] = {}
    project: tuple[str, ...] = ()
    """Relative to a project's folder."""


class Place(NamedTuple):
    """One file that is there, and the path of keys to its servers."""

    file: Path
    container: tuple[str, ...]


def _managed(linux: str, darwin: str, *win32: str) -> dict[Platform, tuple[str, ...]]:
    return {
        "linux": (f"/etc/{linux}",),
        "darwin": (f"/Library/Application Support/{darwin}",),
        "win32": win32,
    }


FURTHER: Mapping[str, tuple[Further, ...]] = {
    "vscode": (
        Further(
            _SETTINGS,
            {
                platform: (*one, *editor_files("profiles/*/settings.json", *EDITIONS)[platform])
                for platform, one in editor_files("settings.json", *EDITIONS).items()
            },
            (".vscode/settings.json",),
        ),
        Further(("servers",), editor_files("profiles/*/mcp.json", *EDITIONS)),
        Further(_CONTAINER, {}, (".devcontainer/devcontainer.json", ".devcontainer.json")),
        Further(_CONTAINER, {}, (".devcontainer/*/devcontainer.json",)),
        Further(_SERVERS, everywhere("{copilot}/mcp-config.json"), (".mcp.json",)),
    ),
    "claude-code": (
        Further(
            _SERVERS,
            _managed(
                "claude-code/managed-mcp.json",
                "ClaudeCode/managed-mcp.json",
                "C:/Program Files/ClaudeCode/managed-mcp.json",
                "C:/ProgramData/ClaudeCode/managed-mcp.json",
            ),
        ),
    ),
    "gemini": (
        Further(
            _SERVERS,
            _managed(
                "gemini-cli/settings.json",
                "GeminiCli/settings.json",
                "C:/ProgramData/gemini-cli/settings.json",
            ),
        ),
        Further(
            _SERVERS,
            _managed(
                "gemini-cli/system-defaults.json",
                "GeminiCli/system-defaults.json",
                "C:/ProgramData/gemini-cli/system-defaults.json",
            ),
        ),
        Further(_SERVERS, everywhere("{home}/.gemini/extensions/*/gemini-extension.json")),
    ),
    "codex": (
        Further(
            ("mcp_servers",),
            {
                "linux": ("/etc/codex/config.toml", "/etc/codex/managed_config.toml"),
                "darwin": ("/etc/codex/config.toml", "/etc/codex/managed_config.toml"),
                "win32": ("{codex}/managed_config.toml",),
            },
        ),
        Further(("mcp_servers",), everywhere("{codex}/*.config.toml")),
    ),
    "opencode": (Further(("mcp",), {}, ("opencode.jsonc", ".opencode/opencode.json")),),
    "continue": tuple(
        Further(
            _SERVERS,
            everywhere(f"{{home}}/.continue/mcpServers/*.{ending}"),
            (f".continue/mcpServers/*.{ending}",),
        )
        for ending in ("yaml", "yml", "json")
    ),
    "amp": (
        Further(
            ("amp.mcpServers",),
            _managed(
                "ampcode/managed-settings.json",
                "ampcode/managed-settings.json",
                "C:/ProgramData/ampcode/managed-settings.json",
            ),
        ),
    ),
}
"""Host → where it finds servers besides its own file."""


def further_places(
    host: Host,
    *,
    home: str,
    environ: Mapping[str, str],
    platform: Platform,
    projects: Collection[Path] = (),
) -> list[Place]:
    """The files that are there: of the user and the machine, and of these folders of projects."""
    found: dict[Place, None] = {}
    for one in FURTHER.get(host.id, ()):
        whole = filled(one.files.get(platform, ()), home=home, environ=environ, platform=platform)
        files = [
            *map(Path, whole),
            *(folder / below for folder in projects for below in one.project),
        ]
        for file in files:
            found.update((Place(path, one.container), None) for path in _there(file))
    return list(found)


def _there(pattern: Path) -> Iterator[Path]:
    parts = pattern.parts
    first = next((n for n, part in enumerate(parts) if "*" in part), len(parts))
    if first == len(parts):
        yield from (pattern,) if os.path.exists(pattern) else ()  # noqa: PTH110 - of a folder that nobody may search it raises nothing
        return
    base = Path(*parts[:first])
    try:
        found = sorted(islice(base.glob("/".join(parts[first:])), _MOST))
    except OSError:  # a folder that nobody may list
        return
    yield from (one for one in found if os.path.isfile(one))  # noqa: PTH113 - likewise


def further_beside(host: Host, place: Place, urls: Collection[str]) -> list[Beside]:
    """The servers in one of these files; `urls` are where our gateway is."""
    try:
        content = read_bytes(place.file)
        inside = whole = parse(content) if content.strip() else None
    except CannotRead:
        return [Beside(name="", state="unknown")]
    for key in place.container:
        inside = inside.get(key) if isinstance(inside, Mapping) else None
    return beside_in(host, whole, _named(inside), urls)


def _named(inside: Any) -> dict[str, Any]:
    """A map of servers, or a list of such that have a `name`."""
    if isinstance(inside, list):
        return {
            str(one.get("name") or f"#{number}"): one
            for number, one in enumerate(inside, start=1)
            if isinstance(one, Mapping)
        }
    return {str(name): one for name, one in inside.items()} if isinstance(inside, Mapping) else {}
