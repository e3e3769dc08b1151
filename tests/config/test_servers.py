"""`[[servers]]` and `[[grants]]`: the file of the specification, and every rule of ours over it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gatewright.config import Grant, Mgp, Origin, Restart, Server, Settings, SettingsError, ToolRule
from gatewright.config.build import build
from gatewright.config.documents import parse
from tests.config.specified import SPECIFIED

FILE = Path("/project/mgp.toml")
STATE = Path("/state")

"""The file of MGP §15.2, word for word."""


def settings(text: str, **variables: str) -> Settings:
    return build([parse(text, FILE)], variables, STATE)


def server(text: str, **variables: str) -> Server:
    (found,) = settings("[[servers]]\n" + text, **variables).servers
    return found


def problem(text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        settings(text)
    (found,) = caught.value.problems
    return str(found)


def test_the_file_of_the_specification_is_one_server_with_these_values() -> None:
    """MGP-15.2-2 MGP-15.2-3 MGP-11.5-4"""
    found = settings(SPECIFIED, CEREBRAS_API_KEY="k")
    assert found.warnings == ()
    assert found.servers == (
        Server(
            id="mind.cerebras",
            transport="stdio",
            command="python",
            args=("mcp-servers/cerebras/server.py",),
            cwd=Path("/project"),
            env={"CEREBRAS_API_KEY": "k"},
            restart=Restart(
                policy="on_failure",
                max_restarts=5,
                restart_window_secs=300,
                backoff_base_ms=1000,
                backoff_max_ms=30000,
            ),
            mgp=Mgp(
                extensions=("security", "lifecycle", "streaming"),
                permissions_required=("network.outbound",),
                trust_level="standard",
            ),
            written={"env.CEREBRAS_API_KEY": "${CEREBRAS_API_KEY}"},
            origin=Origin(FILE, 1),
        ),
    )


def test_an_undefined_variable_keeps_that_one_server_down_and_the_rest_loads() -> None:
    """MGP-15.2-3"""
    first, second = settings(SPECIFIED + '[[servers]]\nid = "two"\ncommand = "x"\n').servers
    assert str(first.problem) == (
        f"{FILE}:14: servers.mind.cerebras.env.CEREBRAS_API_KEY: "
        "the environment variable CEREBRAS_API_KEY is not set; "
        "set CEREBRAS_API_KEY, or write ${CEREBRAS_API_KEY:-default}"
    )
    assert (first.command, first.env) == ("", {})
    assert second.problem is None


def test_without_an_mgp_table_a_server_is_plain_mcp() -> None:
    """MGP-15.2-4"""
    found = server('id = "a"\ncommand = "x"\n')
    assert found.mgp is None
    assert found.restart == Restart()
    assert server('id = "a"\ncommand = "x"\n[servers.mgp]\n').mgp == Mgp()


@pytest.mark.parametrize(
    ("text", "transport"),
    [
        ('command = "x"', "stdio"),
        ('url = "http://h/mcp"', "http"),
        ('command = "x"\ntransport = "local"', "stdio"),
        ('url = "http://h/"\ntransport = "streamable-http"', "http"),
        ('url = "http://h/"\ntransport = "streamableHttp"', "http"),
        ('url = "http://h/"\ntransport = "streamable_http"', "http"),
        ('url = "http://h/"\ntransport = "remote"', "http"),
        ('url = "http://h/"\ntransport = "sse"', "sse"),
    ],
)
def test_the_transport_is_inferred_or_read_in_any_spelling_of_the_hosts(
    text: str, transport: str
) -> None:
    assert server(f'id = "a"\n{text}\n').transport == transport


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('id = "a"', 'servers.a: nothing says what this server is; write command = "python3" for'),
        (
            'id = "a"\ncommand = "x"\nurl = "http://h"',
            "servers.a: both command and url are given; add transport = ",
        ),
        (
            'id = "a"\ntransport = "python"',
            "servers.a: a python server needs a python; write python = ",
        ),
        (
            'id = "a"\npython = "p"\ncommand = "x"',
            "servers.a: both command and python are given; add transport = ",
        ),
        (
            'id = "a"\ntransport = "http"',
            "servers.a: a http server needs a url; write url = ",
        ),
        (
            'id = "a"\ntransport = "pigeon"\ncommand = "x"',
            'servers.a.transport: "pigeon" does not fit here; write one of "stdio", "http", "sse"',
        ),
        ('command = "x"', "servers.0.id: this key is missing; write letters, digits"),
        ('id = "a b"\ncommand = "x"', 'servers.a b.id: "a b" does not fit here; write letters'),
        ('id = "a/b"\ncommand = "x"', 'servers.a/b.id: "a/b" does not fit here; write letters'),
        ('id = "mgp"\ncommand = "x"', 'servers.mgp.id: "mgp" is the gateway itself; choose'),
        (
            'id = "a"\ncommand = "x"\nenv = { PORT = 1 }',
            (
                "servers.a.env.PORT: 1 does not fit here; write a text in quotes, "
                'for example PORT = "text"'
            ),
        ),
        (
            'id = "a"\ncommand = "x"\nenv = { "A=B" = "1" }',
            "servers.a.env.A=B: this is no name of an environment variable; use letters",
        ),
        (
            'id = "a"\nurl = "http://h"\nheaders = { "A B" = "1" }',
            "servers.a.headers.A B: this is no name of an HTTP header; use letters",
        ),
        (
            'id = "a"\ncommand = "x"\n[servers.mgp]\ntrust_level = "high"',
            (
                'servers.a.mgp.trust_level: "high" does not fit here; '
                'write one of "standard", "trusted", "sandboxed"'
            ),
        ),
        (
            'id = "a"\ncommand = "x"\n[servers.mgp]\npermissions_required = ["root"]',
            (
                'servers.a.mgp.permissions_required: "root" is not a permission; '
                "write one of filesystem.read,"
            ),
        ),
        (
            'id = "a"\ncommand = "x"\n[servers.mgp]\nrestart_policy = "often"',
            'servers.a.mgp.restart_policy: "often" does not fit here; write one of "on_failure"',
        ),
        (
            'id = "a"\ncommand = "x"\n[servers.mgp]\nbackoff_max_ms = 10',
            "servers.a.mgp.backoff_max_ms: 10 is less than backoff_base_ms = 1000; write a larger",
        ),
        (
            'id = "a"\ncommand = "x"\n[servers.tools.t]\nvalidator = "regex"',
            'servers.a.tools.t.validator: "regex" does not fit here; write one of "sandbox"',
        ),
        (
            'id = "a"\ncommand = "x"\n[servers.tools.t]\nrisk_level = "high"',
            'servers.a.tools.t.risk_level: "high" does not fit here; write one of "safe"',
        ),
        (
            'id = "a"\ncommand = "x"\nargs = "-v"',
            'servers.a.args: "-v" where a list belongs; write a list of texts in quotes',
        ),
    ],
)
def test_a_server_that_is_written_wrongly_is_refused_with_the_way_out(text: str, told: str) -> None:
    """MGP-2.3-3"""
    assert f" {told}" in problem(f"[[servers]]\n{text}\n")


def test_the_line_of_a_nested_mistake_is_its_own() -> None:
    found = problem(SPECIFIED.replace('trust_level = "standard"', 'trust_level = "high"'))
    assert found.startswith(f"{FILE}:10: servers.mind.cerebras.mgp.trust_level: ")


def test_restart_settings_stand_as_a_word_or_beside_it_or_in_a_table() -> None:
    """MGP-11.5-1 MGP-11.5-2 MGP-11.5-3: the three policies, each way of writing them (C-19)."""
    head = 'id = "a"\ncommand = "x"\n[servers.mgp]\n'
    assert server(head + 'restart_policy = "never"\n').restart == Restart(policy="never")
    beside = 'restart_policy = "always"\nmax_restarts = 2\nbackoff_max_ms = 5000\n'
    expected = Restart(policy="always", max_restarts=2, backoff_max_ms=5000)
    assert server(head + beside).restart == expected
    table = 'restart_policy = { policy = "always", max_restarts = 2, backoff_max_ms = 5000 }\n'
    assert server(head + table).restart == expected
    nested = table.replace("policy =", "restart_policy =", 2).replace("restart_restart", "restart")
    assert server(head + nested).restart == expected
    assert server(head + "restart_window_secs = 60\n").restart == Restart(restart_window_secs=60)


def test_shorthand_permissions_become_canonical_with_a_warning() -> None:
    """MGP-3.2-3 MGP-3.2-2"""
    found = settings(
        '[[servers]]\nid = "a"\ncommand = "x"\n[servers.mgp]\n'
        'permissions_required = ["shell", "network", "shell.execute", "com.example.custom"]\n'
    )
    (one,) = found.servers
    assert one.mgp is not None
    assert one.mgp.permissions_required == (
        "shell.execute",
        "network.outbound",
        "com.example.custom",
    )
    assert [str(warning) for warning in found.warnings] == [
        (
            f'{FILE}:5: servers.a.mgp.permissions_required: "shell" is shorthand; '
            'write "shell.execute"'
        ),
        (
            f'{FILE}:5: servers.a.mgp.permissions_required: "network" is shorthand; '
            'write "network.outbound"'
        ),
    ]


def test_tool_rules_say_only_what_was_written() -> None:
    found = server(
        'id = "a"\ncommand = "x"\n[servers.tools.run]\nrisk_level = "dangerous"\n'
        'permissions_required = ["shell"]\n[servers.tools."odd name"]\nenabled = false\n'
    )
    assert found.tools == {
        "run": ToolRule(risk_level="dangerous", permissions_required=("shell.execute",)),
        "odd name": ToolRule(enabled=False),
    }


def test_variables_are_replaced_in_every_text_that_starts_or_reaches_a_server() -> None:
    variables = {"X": "value", "HOST": "h", "HOME": "/root"}
    stdio = server(
        'id = "a"\ncommand = "${X}"\nargs = ["--key=${X}", "${NONE:-d}"]\ncwd = "${X}/w"\n'
        'env = { A = "${env:X}" }\n',
        **variables,
    )
    assert (stdio.command, stdio.args, stdio.cwd, stdio.env) == (
        "value",
        ("--key=value", "d"),
        Path("/project/value/w"),
        {"A": "value"},
    )
    http = server(
        'id = "a"\nurl = "https://${HOST}:9/mcp"\nheaders = { Authorization = "Bearer ${X}" }\n',
        **variables,
    )
    assert (http.url, http.headers) == ("https://h:9/mcp", {"Authorization": "Bearer value"})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('url = "${U}"', "servers.a.url: this is not an HTTP URL"),
        ('url = "ftp://h/x"', "servers.a.url: this is not an HTTP URL"),
        ('url = "http://h/ x"', "servers.a.url: this is not an HTTP URL"),
        ('url = "http://h:99999/"', "servers.a.url: the port of this URL is none; write a number"),
        ('url = "http://["', "servers.a.url: this is not an HTTP URL"),
        (
            'url = "http://h"\nheaders = { A = "${BREAK}" }',
            "servers.a.headers.A: the header value has a control character",
        ),
        ('command = "${cmd:id}"', "servers.a.command: ${cmd:id} is not a substitution"),
        ('command = "x"\ncwd = "~nobody-here/x"', "servers.a.cwd: ~ cannot be resolved here"),
    ],
)
def test_what_only_the_variables_show_keeps_the_server_down(text: str, told: str) -> None:
    found = server(f'id = "a"\n{text}\n', U="not a url", BREAK="x\r\nHost: evil")
    assert found.problem is not None
    assert told in str(found.problem)


def test_a_deprecated_or_useless_line_is_a_warning() -> None:
    found = settings(
        '[[servers]]\nid = "a"\ntransport = "sse"\nurl = "http://h"\n'
        '[[servers]]\nid = "b"\ntransport = "stdio"\ncommand = "x"\nurl = "http://h"\n'
    )
    assert [str(warning) for warning in found.warnings] == [
        (
            f"{FILE}:3: servers.a.transport: this transport is deprecated since 2025; "
            'write transport = "http" if the server speaks Streamable HTTP'
        ),
        f"{FILE}:9: servers.b.url: a stdio server does not use it; remove this line",
    ]


def test_a_grant_says_who_may_use_what_until_when() -> None:
    found = settings(
        '[[servers]]\nid = "files"\ncommand = "x"\n'
        '[[grants]]\nagent = "*"\nserver = "files"\n'
        '[[grants]]\nagent = "bot"\nserver = "files"\ntool = "write"\npermission = "deny"\n'
        'expires_at = 2030-01-02T03:04:05Z\njustification = "no"\n'
        '[[grants]]\nagent = "bot"\nserver = "files"\npermissions = ["shell"]\n'
        'expires_at = "2030-01-02T03:04:05+00:00"\n'
    )
    when = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert found.grants == (
        Grant(agent="*", server="files", origin=Origin(FILE, 4)),
        Grant(
            agent="bot",
            server="files",
            tool="write",
            permission="deny",
            expires_at=when,
            justification="no",
            origin=Origin(FILE, 7),
        ),
        Grant(
            agent="bot",
            server="files",
            permissions=("shell.execute",),
            expires_at=when,
            origin=Origin(FILE, 14),
        ),
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('server = "s"', "grants.0.agent: this key is missing; write a text in quotes"),
        ('agent = "a"', "grants.0.server: this key is missing; write letters"),
        (
            'agent = "a"\nserver = "s"\npermission = "ask"',
            'grants.0.permission: "ask" does not fit here; write one of "allow", "deny"',
        ),
        (
            'agent = "a"\nserver = "s"\nexpires_at = 2030-01-01T00:00:00',
            (
                "grants.0.expires_at: 2030-01-01 00:00:00 does not fit here; "
                "write a date and time with its offset, "
                "for example expires_at = 2030-12-31T23:59:59Z"
            ),
        ),
        (
            'agent = "a"\nserver = "s"\nexpires_at = 2030-01-01',
            "grants.0.expires_at: 2030-01-01 does not fit here; write a date and time",
        ),
        (
            'agent = "a"\nserver = "s"\npermission = "deny"\npermissions = ["camera"]',
            "grants.0.permissions: a deny gives no permissions; remove this line",
        ),
        (
            'agent = "a"\nserver = "s"\npermissions = ["root"]',
            'grants.0.permissions: "root" is not a permission; write one of',
        ),
    ],
)
def test_a_grant_that_is_written_wrongly_is_refused(text: str, told: str) -> None:
    assert f" {told}" in problem(f"[[grants]]\n{text}\n")


def test_python_tools_are_a_server_with_its_own_trust_gateway() -> None:
    found = server('id = "a"\npython = "${PKG}.mcp_tools"\ntrust_gateway = "trusted"', PKG="mine")
    assert (found.transport, found.python, found.trust_gateway) == (
        "python",
        "mine.mcp_tools",
        "trusted",
    )
    assert found.cwd == FILE.parent
    assert server('id = "a"\npython = "./tools"').trust_gateway == "untrusted"
