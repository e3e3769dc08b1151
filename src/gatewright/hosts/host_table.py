"""`HOSTS`: table of supported MCP hosts: configuration file paths by platform, format of server entries, tool name limits; finds one by name.

Paths are templates over a few named folders (`{home}`, `{config}`, …) because hosts agree on those
and on little else. Nothing here reads a file, the environment or the platform: they are arguments,
so that the paths of Windows can be asked for on Linux.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any, Literal

import msgspec

__all__ = [
    "EDITIONS",
    "HOSTS",
    "PLATFORMS",
    "Host",
    "Local",
    "Platform",
    "Remote",
    "Syntax",
    "editor_files",
    "everywhere",
    "filled",
    "find_host",
    "user_files",
]

Platform = Literal["linux", "darwin", "win32"]
Syntax = Literal["json", "jsonc", "toml", "yaml"]

PLATFORMS: tuple[Platform, ...] = ("linux", "darwin", "win32")


class Remote(msgspec.Struct, frozen=True, kw_only=True):
    """How a host spells a server that it reaches by streamable HTTP."""

    url: str = "url"
    fixed: Mapping[str, Any] = {}
    """What else stands in every entry, in front of the URL."""
    headers: tuple[str, ...] = ("headers",)
    """Where the map of HTTP headers is; a path from the entry."""
    variable: str = ""
    """How a header value takes an environment variable, `{}` for its name; empty where it cannot."""
    bearer_variable: str = ""
    """The field that names the variable with the bearer token, where a host has one."""


class Local(msgspec.Struct, frozen=True, kw_only=True):
    """How a host spells a server that it starts itself."""

    command: str = "command"
    args: str = "args"
    """Empty: the command is a list that ends in the arguments."""
    env: str = "env"
    fixed: Mapping[str, Any] = {}


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """One program that uses MCP servers. `container` is the path of keys to its servers."""

    id: str
    title: str
    files: Mapping[Platform, tuple[str, ...]]
    """Templates of the user's file; the first that exists counts, else the first."""
    project: str = ""
    """The project's file, relative to the project's folder; empty where there is none."""
    syntax: Syntax = "json"
    container: tuple[str, ...] = ("mcpServers",)
    listed: bool = False
    """The container is an array whose entries have a `name`, not a map."""
    named: bool = False
    """Entries repeat their own name inside."""
    preface: Mapping[str, str] = {}
    """What a file has to begin with before the host reads it."""
    remote: Remote | None = Remote()
    """None: the file takes only programs to start."""
    local: Local = Local()
    name_chars: int = 64
    """How long a tool's name may be with the name of its server and what joins them."""
    joint_chars: int = len("mcp____")
    """How many characters this host adds to both."""

    def tool_chars(self, mount: str) -> int:
        """What is left for the name of a tool when the entry is called `mount`."""
        return self.name_chars - self.joint_chars - len(mount)


def everywhere(*templates: str) -> dict[Platform, tuple[str, ...]]:
    """The same places on every platform."""
    return dict.fromkeys(PLATFORMS, templates)


def editor_files(below: str, *editions: str) -> dict[Platform, tuple[str, ...]]:
    """A file in the user's folder of VS Code and its like."""
    roots: dict[Platform, str] = {"linux": "{config}", "darwin": "{support}", "win32": "{appdata}"}
    return {
        platform: tuple(f"{root}/{edition}/User/{below}" for edition in editions)
        for platform, root in roots.items()
    }


EDITIONS = ("Code", "Code - Insiders", "VSCodium")
"""Of VS Code: each has a folder of its own."""
_BRACED = "${{{}}}"
_ENV_BRACED = "${{env:{}}}"

_TABLE = (
    Host(
        id="claude-desktop",
        title="Claude Desktop",
        files={
            "linux": (
                "{config}/Claude/claude_desktop_config.json",
                "{config}/claude/claude_desktop_config.json",
            ),
            "darwin": ("{support}/Claude/claude_desktop_config.json",),
            "win32": ("{appdata}/Claude/claude_desktop_config.json",),
        },
        remote=None,
    ),
    Host(
        id="claude-code",
        title="Claude Code",
        files=everywhere("{claude}/.claude.json"),
        project=".mcp.json",
        remote=Remote(fixed={"type": "http"}, variable=_BRACED),
        local=Local(fixed={"type": "stdio"}),
    ),
    Host(
        id="vscode",
        title="VS Code",
        files=editor_files("mcp.json", *EDITIONS),
        project=".vscode/mcp.json",
        syntax="jsonc",
        container=("servers",),
        remote=Remote(fixed={"type": "http"}, variable=_ENV_BRACED),
        local=Local(fixed={"type": "stdio"}),
        joint_chars=len("mcp__"),
    ),
    Host(
        id="cursor",
        title="Cursor",
        files=everywhere("{home}/.cursor/mcp.json"),
        project=".cursor/mcp.json",
        remote=Remote(variable=_ENV_BRACED),
        name_chars=60,
        joint_chars=0,
    ),
    Host(
        id="windsurf",
        title="Windsurf",
        files=everywhere("{home}/.codeium/windsurf/mcp_config.json"),
        remote=Remote(url="serverUrl", variable=_ENV_BRACED),
    ),
    Host(
        id="gemini",
        title="Gemini CLI",
        files=everywhere("{home}/.gemini/settings.json"),
        project=".gemini/settings.json",
        syntax="jsonc",
        # Its `url` is the older SSE transport.
        remote=Remote(url="httpUrl", variable=_BRACED),
        name_chars=63,
        joint_chars=len("__"),
    ),
    Host(
        id="antigravity",
        title="Antigravity",
        files=everywhere("{home}/.gemini/antigravity/mcp_config.json"),
        remote=Remote(url="serverUrl"),
    ),
    Host(
        id="codex",
        title="Codex",
        files=everywhere("{codex}/config.toml"),
        project=".codex/config.toml",
        syntax="toml",
        container=("mcp_servers",),
        remote=Remote(headers=("http_headers",), bearer_variable="bearer_token_env_var"),
    ),
    Host(
        id="opencode",
        title="OpenCode",
        files=everywhere("{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"),
        project="opencode.json",
        syntax="jsonc",
        container=("mcp",),
        remote=Remote(fixed={"type": "remote"}, variable="{{env:{}}}"),
        local=Local(args="", env="environment", fixed={"type": "local"}),
        joint_chars=len("_"),
    ),
    Host(
        id="zed",
        title="Zed",
        files={
            "linux": ("{config}/zed/settings.json",),
            "darwin": ("{home}/.config/zed/settings.json",),
            "win32": ("{appdata}/Zed/settings.json",),
        },
        project=".zed/settings.json",
        syntax="jsonc",
        container=("context_servers",),
        local=Local(fixed={"source": "custom"}),
    ),
    Host(
        id="goose",
        title="Goose",
        files={
            "linux": ("{config}/goose/config.yaml",),
            "darwin": ("{home}/.config/goose/config.yaml",),
            "win32": ("{appdata}/Block/goose/config/config.yaml",),
        },
        syntax="yaml",
        container=("extensions",),
        named=True,
        remote=Remote(
            url="uri", fixed={"type": "streamable_http", "enabled": True, "timeout": 300}
        ),
        local=Local(
            command="cmd", env="envs", fixed={"type": "stdio", "enabled": True, "timeout": 300}
        ),
        joint_chars=len("__"),
    ),
    Host(
        id="continue",
        title="Continue",
        files=everywhere("{home}/.continue/config.yaml"),
        syntax="yaml",
        listed=True,
        named=True,
        preface={"name": "Local Config", "version": "1.0.0", "schema": "v1"},
        remote=Remote(fixed={"type": "streamable-http"}, headers=("requestOptions", "headers")),
        local=Local(fixed={"type": "stdio"}),
    ),
    Host(
        id="lm-studio",
        title="LM Studio",
        files=everywhere("{home}/.lmstudio/mcp.json"),
    ),
    Host(
        id="copilot",
        title="GitHub Copilot CLI",
        files=everywhere("{copilot}/mcp-config.json"),
        project=".github/mcp.json",
        remote=Remote(fixed={"type": "http", "tools": ["*"]}),
        local=Local(fixed={"type": "local", "tools": ["*"]}),
    ),
    Host(
        id="kiro",
        title="Kiro",
        files=everywhere("{home}/.kiro/settings/mcp.json"),
        project=".kiro/settings/mcp.json",
        remote=Remote(variable=_BRACED),
    ),
    Host(
        id="amp",
        title="Amp",
        files={
            "linux": ("{config}/amp/settings.json",),
            "darwin": ("{home}/.config/amp/settings.json",),
            "win32": ("{home}/.config/amp/settings.json", "{appdata}/amp/settings.json"),
        },
        project=".amp/settings.json",
        syntax="jsonc",
        # One key with a dot in it.
        container=("amp.mcpServers",),
        remote=Remote(variable=_BRACED),
    ),
    Host(
        id="cline",
        title="Cline",
        files=editor_files(
            "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", *EDITIONS
        ),
        remote=Remote(fixed={"type": "streamableHttp"}),
    ),
    Host(
        id="roo",
        title="Roo Code",
        files=editor_files(
            "globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", *EDITIONS
        ),
        project=".roo/mcp.json",
        remote=Remote(fixed={"type": "streamable-http"}, variable=_ENV_BRACED),
    ),
    Host(
        id="inspector",
        title="MCP Inspector",
        files=everywhere("{home}/.mcp-inspector/mcp.json"),
        remote=Remote(fixed={"type": "streamable-http"}),
        local=Local(fixed={"type": "stdio"}),
    ),
)

HOSTS: Mapping[str, Host] = {host.id: host for host in _TABLE}
"""Id → host, in the order in which they are listed to people."""

_OTHER_NAMES = {
    "claude": "claude-desktop",
    "gemini-cli": "gemini",
    "lmstudio": "lm-studio",
    "vs-code": "vscode",
    "code": "vscode",
    "copilot-cli": "copilot",
    "roo-code": "roo",
}


def find_host(name: str) -> Host | None:
    """The host of that id, or of another name that people give it."""
    plain = name.strip().lower().replace("_", "-")
    return HOSTS.get(_OTHER_NAMES.get(plain, plain))


def user_files(
    host: Host, *, home: str, environ: Mapping[str, str], platform: Platform
) -> list[PurePath]:
    """Where the user's file of this host may be, the most likely place first; the rest as for `filled`."""
    return filled(host.files[platform], home=home, environ=environ, platform=platform)


def filled(
    templates: Iterable[str], *, home: str, environ: Mapping[str, str], platform: Platform
) -> list[PurePath]:
    """Templates of files with the folders of this user.

    `home` is absolute. The result is a `PureWindowsPath` for `win32` and a `PurePosixPath`
    otherwise; variables that name a folder count only where they are absolute.
    """
    kind = PureWindowsPath if platform == "win32" else PurePosixPath

    def folder(variable: str, otherwise: str) -> str:
        named = environ.get(variable, "")
        return str(kind(named) if kind(named).is_absolute() else kind(home) / otherwise)

    folders = {
        "home": str(kind(home)),
        "config": folder("XDG_CONFIG_HOME", ".config"),
        "appdata": folder("APPDATA", "AppData/Roaming"),
        "support": str(kind(home) / "Library" / "Application Support"),
        "claude": folder("CLAUDE_CONFIG_DIR", ""),
        "codex": folder("CODEX_HOME", ".codex"),
        "copilot": folder("COPILOT_HOME", ".copilot"),
    }
    return [kind(template.format(**folders)) for template in templates]
