"""`server list`: the method, the token, the filter, and the three forms of the answer."""

from typing import Any

from tests.cli.endpoints import Endpoint
from tests.cli.shell import Shell

SERVERS: list[dict[str, Any]] = [
    {
        "id": "files",
        "status": "connected",
        "mgp_version": "0.2.0",
        "extensions": ["security", "audit"],
        "tools": ["read", "write"],
        "trust_level": "standard",
    },
    {
        "id": "web",
        "status": "error",
        "mgp_version": None,
        "extensions": [],
        "tools": [],
        "trust_level": "standard",
    },
]


def test_servers_are_listed_as_rows_with_the_operators_token(
    shell: Shell, endpoint: Endpoint
) -> None:
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": SERVERS}
    done = shell.run("server", "list")
    assert (done.code, done.err) == (0, "")
    assert done.rows == [
        ["files", "connected", "2", "", "0.2.0", "standard", "security,audit"],
        ["web", "error", "0", "", "", "standard", ""],
    ]
    assert endpoint.headers[0]["Authorization"] == "Bearer operator-token"


def test_why_a_server_is_not_connected_stands_beside_the_rows(
    shell: Shell, endpoint: Endpoint
) -> None:
    down = {**SERVERS[1], "reason": "a login is wanted; run: gatewright server login web"}
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": [SERVERS[0], down]}
    done = shell.run("server", "list")
    assert len(done.rows) == 2
    assert done.err == f"web: {down['reason']}\n"


def test_tools_that_nobody_sees_are_said_with_the_command_that_goes_on(
    shell: Shell, endpoint: Endpoint
) -> None:
    held = {"count": 1, "tools": [{"name": "wipe", "why": "its definition has changed"}]}
    out = {"count": 2, "tools": [{"name": "big", "why": "is long"}, {"name": "b2", "why": "too"}]}
    one = {**SERVERS[0], "held_back": held, "left_out": out}
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": [one, SERVERS[1]]}
    lines = shell.run("server", "list").err.splitlines()
    assert lines == [
        (
            f"files: 1 tool is held back: wipe; `{shell.typed('server pin files')}` lists them, "
            f"`{shell.typed('server pin files TOOL')}` shows one and how to accept it"
        ),
        f"files: 2 tools are left out: big, b2; `{shell.typed('server show files')}` says why",
    ]


def test_what_tools_cost_stands_in_the_row_and_what_would_save_below(
    shell: Shell, endpoint: Endpoint
) -> None:
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": SERVERS}
    servers = [{"server_id": "files", "tools": 2, "tokens": 9000}]
    told = {
        "servers": servers,
        "tokens": 9000,
        "meta_tokens": 400,
        "pinned_tokens": 0,
        "answer_tokens": 600,
        "pays": True,
    }
    endpoint.replies["gatewright/tools/tokens"] = lambda _: told
    done = shell.run("server", "list")
    assert [row[3] for row in done.rows] == ["9000", ""]
    assert 'expose = "discover"' in done.err
    assert shell.run("server", "list", "--json").document[0]["tokens"] == 9000


def test_the_filter_goes_to_the_gateway(shell: Shell, endpoint: Endpoint) -> None:
    endpoint.replies["mgp/discovery/list"] = lambda message: {
        "servers": [
            one for one in SERVERS if one["status"] == message["params"]["filter"]["status"]
        ]
    }
    done = shell.run("server", "list", "--status", "error", "--json")
    assert done.document == [SERVERS[1]]


def test_on_a_terminal_there_is_a_table(shell: Shell, endpoint: Endpoint) -> None:
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": SERVERS}
    done = shell.run_at_terminal("server", "list")
    heading, first, *_ = done.out.splitlines()
    columns = "ID STATUS TOOLS TOKENS MGP_VERSION TRUST_LEVEL EXTENSIONS"
    assert heading.split() == columns.split()
    assert first.split()[:3] == ["files", "connected", "2"]


def test_no_server_is_an_empty_answer_with_a_word_about_what_to_do(
    shell: Shell, endpoint: Endpoint
) -> None:
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": []}
    done = shell.run("server", "list")
    assert (done.code, done.out) == (0, "")
    assert "[[servers]]" in done.err
    assert shell.run("server", "list", "--json").document == []


def test_an_answer_of_another_shape_breaks_nothing(shell: Shell, endpoint: Endpoint) -> None:
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": [5, {"id": None}, "x"]}
    assert shell.run("server", "list").rows == [[""] * 7]
