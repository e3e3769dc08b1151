"""Names behind a Tab: live ones first, quickly, and silence where there are none."""

from pathlib import Path

import pytest

from tests import fork_server
from tests.cli.endpoints import Endpoint
from tests.cli.shell import DEADLINE_S, Shell

CONFIG = '[[servers]]\nid = "written"\ncommand = "x"\n[[servers]]\nid = "other"\ncommand = "x"\n'


def tab(shell: Shell, line: str) -> list[str]:
    """What bash is told for a Tab at the end of the line."""
    done = fork_server.run(
        shell.command(),
        capture_output=True,
        text=True,
        env=shell.environ(
            {
                "_GATEWRIGHT_COMPLETE": "complete_bash",
                "COMP_WORDS": line,
                "COMP_CWORD": str(len(line.split(" ")) - 1),
            }
        ),
        cwd=shell.folder,
        timeout=DEADLINE_S,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_tools_of_the_running_gateway_are_named(shell: Shell, endpoint: Endpoint) -> None:
    endpoint.replies["tools/list"] = lambda _: {
        "tools": [{"name": "b__two"}, {"name": "a__one"}, {"name": 5}, {"name": "a__two"}]
    }
    assert tab(shell, "gatewright tool call a_") == ["a__one", "a__two"]


def test_servers_are_those_of_the_gateway_or_else_of_the_file(
    shell: Shell, endpoint: Endpoint
) -> None:
    shell.write("mgp.toml", CONFIG)
    assert tab(shell, "gatewright server show ") == ["other", "written"]
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": [{"id": "live"}]}
    assert tab(shell, "gatewright server inspect ") == ["live"]
    assert tab(shell, "gatewright server check l") == ["live"]


TOLD = {
    "a": ["a__b__read", "a__write"],
    "a__b": ["a__b__list"],
    "x.y": ["x_y__read"],
    "long": ["l__read", "l__long__read"],
}


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("a/", ["a/b__read", "a/write"]),
        ("a__b/", ["a__b/list"]),
        ("x.y/r", ["x.y/read"]),
        ("long/", ["long/long__read", "long/read"]),
        ("none/", []),
    ],
)
def test_tools_to_be_granted_are_those_of_the_server_by_its_own_names(
    shell: Shell, endpoint: Endpoint, typed: str, found: list[str]
) -> None:
    shell.write("mgp.toml", '[[servers]]\nid = "long"\ncommand = "x"\ntool_prefix = "l"\n')
    servers = [{"id": id, "tools": tools} for id, tools in TOLD.items()]
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": servers}
    tools = [{"name": one} for some in TOLD.values() for one in some]
    endpoint.replies["tools/list"] = lambda _: {"tools": tools}
    assert tab(shell, f"gatewright grant add bot {typed}") == found


def test_keys_in_force_are_named_by_their_id(shell: Shell) -> None:
    operator = shell.run("key", "create", "root", "--operator").out.strip()
    shell.run("key", "create", "bot", "--key", operator)
    root, bot = (row[0] for row in shell.run("key", "list").rows)
    shell.run("key", "revoke", root, "--key", operator)
    assert tab(shell, "gatewright key revoke ") == [bot]
    assert tab(shell, "gatewright audit query --agent b") == ["bot"]


def test_secrets_are_named_and_never_shown(shell: Shell) -> None:
    shell.run("secret", "set", "search-token", given="hunter2")
    assert tab(shell, "gatewright secret rm ") == ["search-token"]


def test_profiles_are_those_of_the_file(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG + '[profiles.small]\nservers = ["other"]\n')
    assert tab(shell, "gatewright tool list --profile s") == ["small"]


@pytest.mark.parametrize(
    "line", ["gatewright tool call ", "gatewright server show ", "gatewright key revoke "]
)
@pytest.mark.parametrize("text", ["", "[gateway\n"])
def test_a_completion_that_fails_is_silent(shell: Shell, line: str, text: str) -> None:
    shell.write("mgp.toml", text)
    assert tab(shell, line) == []


def test_completing_leaves_nothing_behind(shell: Shell) -> None:
    for line in ("gatewright key revoke ", "gatewright secret rm ", "gatewright tool call "):
        assert tab(shell, line) == []
    assert [*Path(shell.folder).iterdir()] == []
