"""What a host keeps beside the gateway: every kind of file, every switch, every form of an entry that leads to a gateway."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from gatewright.hosts.edit import add_entry
from gatewright.hosts.entries import local_entry
from gatewright.hosts.host_table import HOSTS
from gatewright.hosts.other_servers import Beside, State, beside
from tests.costs import grows

URLS = ["http://127.0.0.1:8420/mcp"]
SWITCHES: dict[str, dict[str, Any]] = {
    "cline": {"disabled": True},
    "roo": {"disabled": True},
    "windsurf": {"disabled": True},
    "antigravity": {"disabled": True},
    "kiro": {"disabled": True},
    "codex": {"enabled": False},
    "opencode": {"enabled": False},
    "goose": {"enabled": False},
    "zed": {"enabled": False},
}
ANY_SWITCH: list[dict[str, Any]] = [{"disabled": True}, {"enabled": False}]


def text_of(host: str, **entries: dict[str, Any]) -> str:
    text = ""
    for name, entry in entries.items():
        named = {**entry, "name": name} if HOSTS[host].named else entry
        text = add_entry(HOSTS[host], text, name, named)
    return text


def local(host: str, *command: str, **more: Any) -> dict[str, Any]:
    return {**local_entry(HOSTS[host], "x", list(command)), **more}


@pytest.mark.parametrize("host", HOSTS)
def test_every_server_of_every_host_but_ours_is_named(host: str) -> None:
    text = text_of(
        host,
        ours=local(host, "anything"),
        one=local(host, "/bin/one", "-x"),
        two=local(host, "npx", "-y", "gatewright-like", "bridge"),
    )
    found = beside(HOSTS[host], text, ["ours"], URLS)
    assert sorted(found, key=lambda one: one.name) == [
        Beside(name="one", state="on"),
        Beside(name="two", state="on"),
    ]
    assert beside(HOSTS[host], "", [], URLS) == []


@pytest.mark.parametrize("host", HOSTS)
def test_a_switch_counts_where_the_host_heeds_it_and_nowhere_else(host: str) -> None:
    for said in [*ANY_SWITCH, {"disabled": "true"}, {"enabled": "no"}, {"enabled": None}]:
        if None in said.values() and HOSTS[host].syntax == "toml":
            continue  # TOML has no word for it
        text = text_of(host, one=local(host, "/bin/one", **said))
        state: State = "off" if said == SWITCHES.get(host) else "on"
        assert beside(HOSTS[host], text, [], URLS) == [Beside(name="one", state=state)], said


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    ("command", "state"),
    [
        (["/opt/bin/gatewright", "bridge"], "gateway"),
        (["gatewright", "serve", "--stdio"], "gateway"),
        (["C:\\tools\\gatewright.exe", "bridge"], "gateway"),
        (["/venv/bin/python3", "-m", "gatewright", "bridge"], "gateway"),
        (["/venv/bin/python3", "-P", "-m", "gatewright", "bridge"], "gateway"),
        (["/venv/bin/python3", "-P", "-m", "evil", "bridge"], "on"),
        (["/bin/evil", "gatewright", "bridge"], "on"),
        (["/bin/evil", "/opt/bin/gatewright", "serve"], "on"),
        (["/bin/evil", "-m", "gatewright", "bridge"], "on"),
        (["gatewright-not", "bridge"], "on"),
        (["gatewright", "--help"], "on"),
        (["gatewright"], "on"),
    ],
)
def test_an_entry_is_a_gateway_by_its_program_and_not_by_its_arguments(
    host: str, command: list[str], state: Any
) -> None:
    text = text_of(host, gatewright=local(host, *command))
    assert beside(HOSTS[host], text, [], URLS) == [Beside(name="gatewright", state=state)]


@pytest.mark.parametrize(
    ("url", "state"),
    [
        ("http://127.0.0.1:8420/mcp", "gateway"),
        ("http://127.0.0.1:8420/mcp/", "gateway"),
        ("http://127.0.0.1:8420/mcp/work", "gateway"),
        ("http://127.0.0.1:8420/mcpx", "on"),
        ("http://127.0.0.1:8421/mcp", "on"),
        ("http://127.0.0.1:8420@evil.example/mcp", "on"),
        ("https://example.com/mcp", "on"),
    ],
)
def test_a_url_is_ours_where_it_leads_to_our_gateway(url: str, state: Any) -> None:
    text = text_of("cursor", x={"url": url})
    assert beside(HOSTS["cursor"], text, [], URLS) == [Beside(name="x", state=state)]


def test_lists_of_gemini_switch_off_and_those_of_others_do_not() -> None:
    servers = {"a": {"command": "a"}, "b": {"command": "b"}}
    text = json.dumps({"mcpServers": servers, "mcp": {"excluded": ["a"]}})
    allowed = json.dumps({"mcpServers": servers, "mcp": {"allowed": ["b"]}})
    off = [Beside(name="a", state="off"), Beside(name="b", state="on")]
    assert [beside(HOSTS["gemini"], one, [], URLS) for one in (text, allowed)] == [off, off]
    assert {one.state for one in beside(HOSTS["cursor"], text, [], URLS)} == {"on"}


def test_servers_of_single_folders_in_the_file_of_claude_code_are_named_with_the_folder() -> None:
    """Our name is ours in the user's part alone: an entry of that name in a project is somebody else's."""
    project = {
        "mcpServers": {"gatewright": {"command": "b"}, "c": {"command": "c"}},
        "disabledMcpServers": ["c"],
    }
    text = json.dumps({"mcpServers": {"gatewright": {"command": "a"}}, "projects": {"/p": project}})
    assert beside(HOSTS["claude-code"], text, ["gatewright"], URLS) == [
        Beside(name="gatewright", state="on", folder="/p"),
        Beside(name="c", state="off", folder="/p"),
    ]


def test_entries_of_a_list_without_a_name_or_with_that_of_another_are_not_lost() -> None:
    text = "mcpServers:\n  - command: a\n  - name: gatewright\n    command: b\n  - name: gatewright\n    command: c\n"
    assert beside(HOSTS["continue"], text, ["gatewright"], URLS) == [
        Beside(name="#1", state="on"),
        Beside(name="gatewright#3", state="on"),
    ]


@pytest.mark.parametrize("text", ["{", '{"mcpServers": ['])
def test_a_file_that_cannot_be_read_is_unknown_and_not_empty(text: str) -> None:
    assert beside(HOSTS["cursor"], text, [], URLS) == [Beside(name="", state="unknown")]


@pytest.mark.parametrize("entry", [None, 3, [], "x", {}, {"command": 3}, {"command": ["x", 1]}])
def test_an_entry_of_an_odd_form_is_named_all_the_same(entry: Any) -> None:
    text = json.dumps({"mcpServers": {"odd": entry}})
    assert beside(HOSTS["cursor"], text, [], URLS) == [Beside(name="odd", state="on")]


@pytest.mark.parametrize("host", ["gemini", "claude-code"])
def test_long_lists_of_names_cost_what_they_are_long(host: str) -> None:
    def work(count: int) -> Callable[[], object]:
        servers = {f"s{n}": {"command": "x"} for n in range(count)}
        names = [*servers]
        if host == "gemini":
            data: dict[str, Any] = {"mcpServers": servers, "mcp": {"allowed": names}}
        else:
            data = {"projects": {"/a": {"mcpServers": servers, "disabledMcpServers": names}}}
        text = json.dumps(data)
        beside(HOSTS[host], text, [], [])  # parsed once, and kept
        return lambda: beside(HOSTS[host], text, [], [])

    # Sixteen where it is linear, 64 for n√n, 256 where each name is looked for among all; fresh memory alone adds some.
    assert grows(work(1000), work(16000)) < 48
