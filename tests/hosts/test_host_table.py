"""The table of hosts: every path on every platform, and what is left for the name of a tool."""

from pathlib import PurePath, PurePosixPath, PureWindowsPath

import pytest

from gatewright.hosts.host_table import HOSTS, PLATFORMS, Platform, find_host, user_files

HOMES: dict[Platform, str] = {
    "linux": "/home/ada",
    "darwin": "/Users/ada",
    "win32": "C:\\Users\\ada",
}
FIRST = {
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        "Library/Application Support/Claude/claude_desktop_config.json",
        "AppData/Roaming/Claude/claude_desktop_config.json",
    ),
    "claude-code": (".claude.json",) * 3,
    "vscode": (
        ".config/Code/User/mcp.json",
        "Library/Application Support/Code/User/mcp.json",
        "AppData/Roaming/Code/User/mcp.json",
    ),
    "cursor": (".cursor/mcp.json",) * 3,
    "windsurf": (".codeium/windsurf/mcp_config.json",) * 3,
    "gemini": (".gemini/settings.json",) * 3,
    "antigravity": (".gemini/antigravity/mcp_config.json",) * 3,
    "codex": (".codex/config.toml",) * 3,
    "opencode": (".config/opencode/opencode.json",) * 3,
    "zed": (
        ".config/zed/settings.json",
        ".config/zed/settings.json",
        "AppData/Roaming/Zed/settings.json",
    ),
    "goose": (
        ".config/goose/config.yaml",
        ".config/goose/config.yaml",
        "AppData/Roaming/Block/goose/config/config.yaml",
    ),
    "continue": (".continue/config.yaml",) * 3,
    "lm-studio": (".lmstudio/mcp.json",) * 3,
    "copilot": (".copilot/mcp-config.json",) * 3,
    "kiro": (".kiro/settings/mcp.json",) * 3,
    "amp": (".config/amp/settings.json",) * 3,
    "cline": tuple(
        f"{root}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
        for root in (".config", "Library/Application Support", "AppData/Roaming")
    ),
    "roo": tuple(
        f"{root}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
        for root in (".config", "Library/Application Support", "AppData/Roaming")
    ),
    "inspector": (".mcp-inspector/mcp.json",) * 3,
}


def files(host: str, platform: Platform, **environ: str) -> list[PurePath]:
    return user_files(HOSTS[host], home=HOMES[platform], environ=environ, platform=platform)


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_has_its_file_on_every_platform(host: str) -> None:
    expected: list[PurePath] = [
        PurePosixPath("/home/ada", FIRST[host][0]),
        PurePosixPath("/Users/ada", FIRST[host][1]),
        PureWindowsPath("C:\\Users\\ada", FIRST[host][2]),
    ]
    assert [files(host, platform)[0] for platform in PLATFORMS] == expected


@pytest.mark.parametrize(
    ("host", "platform", "variable", "value", "expected"),
    [
        ("claude-code", "linux", "CLAUDE_CONFIG_DIR", "/etc/ada", "/etc/ada/.claude.json"),
        ("codex", "linux", "CODEX_HOME", "/opt/codex", "/opt/codex/config.toml"),
        ("copilot", "darwin", "COPILOT_HOME", "/opt/c", "/opt/c/mcp-config.json"),
        ("goose", "linux", "XDG_CONFIG_HOME", "/x", "/x/goose/config.yaml"),
        ("vscode", "win32", "APPDATA", "D:\\R", "D:\\R\\Code\\User\\mcp.json"),
        ("vscode", "linux", "APPDATA", "D:\\R", "/home/ada/.config/Code/User/mcp.json"),
        ("goose", "linux", "XDG_CONFIG_HOME", "relative", "/home/ada/.config/goose/config.yaml"),
        ("goose", "linux", "XDG_CONFIG_HOME", "", "/home/ada/.config/goose/config.yaml"),
    ],
)
def test_a_variable_moves_the_folder_where_it_is_absolute(
    host: str, platform: Platform, variable: str, value: str, expected: str
) -> None:
    assert str(files(host, platform, **{variable: value})[0]) == expected


def test_a_brace_in_the_home_folder_is_a_character() -> None:
    found = user_files(HOSTS["cursor"], home="/home/{config}", environ={}, platform="linux")
    assert [str(path) for path in found] == ["/home/{config}/.cursor/mcp.json"]


def test_hosts_are_found_by_the_names_people_use() -> None:
    names = ("claude", "Claude-Desktop", "vs_code", "lmstudio", "gemini-cli", "codex")
    found = [host.id if (host := find_host(name)) else None for name in names]
    assert found == ["claude-desktop", "claude-desktop", "vscode", "lm-studio", "gemini", "codex"]
    assert find_host("emacs") is None


def test_what_is_left_for_a_tool_shrinks_with_the_name_of_the_entry() -> None:
    assert HOSTS["claude-code"].tool_chars("gatewright") == 47
    assert HOSTS["cursor"].tool_chars("gatewright") == 50
    assert all(host.tool_chars("gatewright") >= 46 for host in HOSTS.values())


def test_variables_in_headers_are_spelled_as_the_host_reads_them() -> None:
    spelled = {
        host.id: host.remote.variable.format("TOKEN")
        for host in HOSTS.values()
        if host.remote is not None and host.remote.variable
    }
    assert spelled == {
        "claude-code": "${TOKEN}",
        "vscode": "${env:TOKEN}",
        "cursor": "${env:TOKEN}",
        "windsurf": "${env:TOKEN}",
        "gemini": "${TOKEN}",
        "opencode": "{env:TOKEN}",
        "kiro": "${TOKEN}",
        "amp": "${TOKEN}",
        "roo": "${env:TOKEN}",
    }
