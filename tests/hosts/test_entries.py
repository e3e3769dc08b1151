"""Entries as each host spells them; written out whole, as its documentation shows them."""

from typing import Any

import pytest

from gatewright.hosts.entries import local_entry, remote_entry
from gatewright.hosts.host_table import HOSTS

URL = "http://127.0.0.1:8420/mcp"
PROGRAM = ["/opt/gw", "bridge"]
LOCAL: dict[str, Any] = {"command": "/opt/gw", "args": ["bridge"]}

REMOTE: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "http", "url": URL},
    "vscode": {"type": "http", "url": URL},
    "cursor": {"url": URL},
    "windsurf": {"serverUrl": URL},
    "gemini": {"httpUrl": URL},
    "antigravity": {"serverUrl": URL},
    "codex": {"url": URL},
    "opencode": {"type": "remote", "url": URL},
    "zed": {"url": URL},
    "goose": {
        "name": "gw",
        "type": "streamable_http",
        "enabled": True,
        "timeout": 300,
        "uri": URL,
    },
    "continue": {"name": "gw", "type": "streamable-http", "url": URL},
    "lm-studio": {"url": URL},
    "copilot": {"type": "http", "tools": ["*"], "url": URL},
    "kiro": {"url": URL},
    "amp": {"url": URL},
    "cline": {"type": "streamableHttp", "url": URL},
    "roo": {"type": "streamable-http", "url": URL},
    "inspector": {"type": "streamable-http", "url": URL},
}
STDIO = {"type": "stdio", **LOCAL}
STARTED: dict[str, dict[str, Any]] = {
    **dict.fromkeys(
        ("claude-desktop", "cursor", "windsurf", "gemini", "antigravity", "codex"), LOCAL
    ),
    **dict.fromkeys(("lm-studio", "kiro", "amp", "cline", "roo"), LOCAL),
    **dict.fromkeys(("claude-code", "vscode", "inspector"), STDIO),
    "opencode": {"type": "local", "command": PROGRAM},
    "zed": {"source": "custom", **LOCAL},
    "goose": {
        "name": "gw",
        "type": "stdio",
        "enabled": True,
        "timeout": 300,
        "cmd": "/opt/gw",
        "args": ["bridge"],
    },
    "continue": {"name": "gw", "type": "stdio", **LOCAL},
    "copilot": {"type": "local", "tools": ["*"], **LOCAL},
}


def test_every_host_spells_a_url_in_its_own_way() -> None:
    spelled = {
        host.id: remote_entry(host, "gw", URL) for host in HOSTS.values() if host.remote is not None
    }
    assert spelled == REMOTE


def test_every_host_spells_a_program_in_its_own_way() -> None:
    assert {host.id: local_entry(host, "gw", PROGRAM) for host in HOSTS.values()} == STARTED


def test_environment_is_called_what_the_host_calls_it() -> None:
    spelled = {
        id: local_entry(HOSTS[id], "gw", PROGRAM, {"A": "1"}) for id in ("goose", "opencode")
    }
    assert spelled["goose"]["envs"] == spelled["opencode"]["environment"] == {"A": "1"}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("cursor", {"headers": {"Authorization": "Bearer k"}}),
        ("codex", {"http_headers": {"Authorization": "Bearer k"}}),
        ("continue", {"requestOptions": {"headers": {"Authorization": "Bearer k"}}}),
    ],
)
def test_a_key_goes_where_the_host_looks_for_headers(host: str, expected: dict[str, Any]) -> None:
    assert remote_entry(HOSTS[host], "gw", URL, key="k") == {**REMOTE[host], **expected}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("claude-code", {"headers": {"Authorization": "Bearer ${TOKEN}"}}),
        ("vscode", {"headers": {"Authorization": "Bearer ${env:TOKEN}"}}),
        ("opencode", {"headers": {"Authorization": "Bearer {env:TOKEN}"}}),
        ("codex", {"bearer_token_env_var": "TOKEN"}),
    ],
)
def test_a_variable_is_named_as_the_host_reads_it(host: str, expected: dict[str, Any]) -> None:
    assert remote_entry(HOSTS[host], "gw", URL, variable="TOKEN") == {**REMOTE[host], **expected}


def test_what_a_host_cannot_do_is_refused() -> None:
    with pytest.raises(ValueError, match="Claude Desktop starts programs only"):
        remote_entry(HOSTS["claude-desktop"], "gw", URL)
    with pytest.raises(ValueError, match="Zed takes no environment variable"):
        remote_entry(HOSTS["zed"], "gw", URL, variable="TOKEN")
