"""Mistakes of a first hour, made on the real command line: each message says what happened and names what mends it; a command
that is named whole is run as it stands, from another folder and with nothing in its environment."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.behaviour.gateway import ROOT
from tests.behaviour.test_hints import at_a_terminal
from tests.cli.gateways import Served, serving
from tests.cli.shell import Shell

DEMO = ROOT / "examples" / "demo_server.py"
_SHOWN = re.compile(r"`([^`]*gatewright [^`]*)`")
_STAYS = re.compile(
    r"gatewright (serve( |$)|server (start|restart|stop|login|add|rm)|secret set|key (create|revoke)|approve|grant add)"
)
"""What goes on for ever, and what changes what the other tests see."""
_PLACE = re.compile(r"(?<![=/\w])[A-Z]{2,}(?:/[A-Z]+)?(?![=\w])")


class House(NamedTuple):
    """A gateway that runs, and the shell of whoever started it."""

    shell: Shell
    served: Served
    keys: dict[str, str]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    shell = Shell(tmp_path_factory.mktemp("first"))
    shell.write(
        "mgp.toml",
        f"""[[servers]]
id = "demo"
command = {str(sys.executable)!r}
args = [{str(DEMO)!r}]

[[servers]]
id = "files"
command = "npx-is-not-installed"
args = ["-y", "something"]
""",
    )
    with serving(shell) as served:
        yield House(shell, served, keys_of(shell))


def keys_of(shell: Shell) -> dict[str, str]:
    """A key of each kind, made as a person makes them."""
    made = {"operator": "op --operator", "agent": "bot", "expired": "past --expires 1s"}
    return {
        name: at_a_terminal(shell.typed(f"key create {words}")).split()[0]
        for name, words in made.items()
    }


class Mistake(NamedTuple):
    """What is typed, how it ends, and what is said of it: what happened, and what to do."""

    typed: str
    code: int
    happened: str
    mends: str


MISTAKES = (
    Mistake(
        "tool call demo__ad a=2 b=3", 2, "no tool 'demo__ad'; did you mean demo__add", "tool list"
    ),
    Mistake("tool call demo__add a=2", 2, "'b' is missing", "tool show demo__add"),
    Mistake("tool call demo__add a=two b=3", 2, "a=two is not JSON", "a takes a number, like 2.5"),
    Mistake("tool call demo__add 2 3", 2, "'2' is not KEY=VALUE", 'write it like text="hello"'),
    Mistake("tool call files__read path=x", 4, "server files is not connected", "server list"),
    Mistake("tool show demo__ad", 2, "no tool 'demo__ad'", "tool list"),
    Mistake("tool list --key gw_none_such", 3, "the credential is not valid", "key list"),
    Mistake(
        "tool list --url {url}", 3, "authentication is required", "--key-file or GATEWRIGHT_KEY"
    ),
    Mistake("tool list --url http://127.0.0.1:1/mcp", 4, "cannot be reached", "gatewright serve"),
    Mistake(
        "tool list --url {tls}", 4, "cannot be reached", "no TLS is spoken there: write http://"
    ),
    Mistake("tool list --url {base}", 4, "no MCP endpoint", "ends in /mcp"),
    Mistake("tool list --url localhost:1/mcp", 2, "not an HTTP URL", "http://127.0.0.1:8420/mcp"),
    Mistake("tool list --profile nobody", 4, "no MCP endpoint", "/mcp/PROFILE"),
    Mistake("serve --port 0", 1, "another gateway (process", "server list"),
    Mistake("serve --port 99999", 2, "'--port'", "serve --help"),
    Mistake("server show dmo", 2, "no server 'dmo'", "did you mean demo?"),
    Mistake("server restart dmo", 2, "no server 'dmo'", "did you mean demo?"),
    Mistake("server logs dmo", 2, "no server 'dmo'", "did you mean demo?"),
    Mistake("server rm dmo", 2, "no server 'dmo'", "did you mean demo?"),
    Mistake("server disable dmo", 2, "no server 'dmo'", "did you mean demo?"),
    Mistake("server login dmo", 2, "no server 'dmo'", "demo"),
    Mistake("server check dmo", 2, "'dmo'", "demo"),
    Mistake("server pin dmo", 2, "'dmo'", "demo"),
    Mistake("server permit dmo camera --key {operator}", 2, "'dmo'", "demo"),
    Mistake("server export dmo", 2, "'dmo'", "demo"),
    Mistake("server inspect dmo", 2, "'dmo'", "demo"),
    Mistake("server add demo -- x", 2, "there is a server of this id", "--replace"),
    Mistake("server add x", 2, "a command or a URL", "server add NAME -- COMMAND ARGS"),
    Mistake("server login demo", 2, "a program, not an HTTP server", "env"),
    Mistake("tool disable demo__addd", 2, "has no tool 'addd'", "did you mean demo__add"),
    Mistake("tool disable nothing", 2, "no server of the configuration", "demo"),
    Mistake("grant add bot demo__addd", 2, "has no tool 'addd'", "did you mean demo__add"),
    Mistake("grant add bot dmo", 2, "no server 'dmo'", "did you mean demo?"),
    Mistake("grant revoke bot demo --key {operator}", 2, "", "grant list"),
    Mistake("key revoke nobody --key {operator}", 2, "no key 'nobody'", "key list"),
    Mistake("key rotate nobody --key {operator}", 2, "no key 'nobody'", "key list"),
    Mistake("approve ap_none --key {operator}", 2, "no request ap_none", "gatewright approve"),
    Mistake("deny ap_none --key {operator}", 2, "no request ap_none", "gatewright approve"),
    Mistake("connect curser", 2, "no host is called 'curser'", "did you mean cursor"),
    Mistake("import nothing.json", 2, "there is no such file", "check the path"),
    Mistake("audit show none", 2, "no record of trace 'none'", "audit query --json"),
    Mistake("audit query --since tomorow", 2, "'tomorow' is not a moment", "write 30s, 10m"),
    Mistake("srver list", 2, "No such command 'srver'. Did you mean 'server'", "--help"),
    Mistake("server lst", 2, "No such command 'lst'. Did you mean 'list'", "--help"),
    Mistake("tool list --jsn", 2, "No such option", "--help"),
    Mistake("key create", 2, "Missing argument 'NAME'", "key create --help"),
    Mistake("key create bot --operator", 6, "without a terminal", "pass it in GATEWRIGHT_KEY"),
    Mistake(
        "policy explain bot demo__add --key gw_none", 6, "not the key of an operator", "key create"
    ),
    Mistake("tool call demo__add a=1 b=2 --key {agent}", 6, "`", "grant add bot demo__add"),
    Mistake("tool call demo__add a=1 b=2 --key {expired}", 3, "has expired", "key create"),
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.typed)
def test_each_mistake_says_what_happened_and_what_mends_it(house: House, mistake: Mistake) -> None:
    url = house.served.url
    places = {"url": url, "tls": url.replace("http", "https"), "base": url.removesuffix("/mcp")}
    places |= house.keys
    done = house.shell.run(*mistake.typed.format(**places).split())
    assert done.code == mistake.code, done.err
    error = done.error
    assert mistake.happened in error["message"]
    assert mistake.mends in f"{error['hint']} {error['message']}"
    assert error["hint"] or _SHOWN.search(error["message"])
    for command in whole(f"{error['message']} {error['hint']}"):
        at_a_terminal(command)


def whole(text: str) -> list[str]:
    """The commands that are named with nothing left to fill in, and only look."""
    return [
        one
        for one in _SHOWN.findall(text)
        if not _PLACE.search(one.partition("gatewright ")[2]) and not _STAYS.search(one)
    ]


def test_a_message_says_one_command_once(house: House) -> None:
    """The hint of a refusal that names the whole command itself would be the same with less in it."""
    done = house.shell.run("tool", "call", "demo__add", "a=1", "b=2", "--key", house.keys["agent"])
    assert done.error["hint"] == ""
    assert len(_SHOWN.findall(done.error["message"])) == 1


def test_a_key_is_ended_by_the_name_of_its_agent_where_it_has_one(house: House) -> None:
    at_a_terminal(house.shell.typed("key create once"))
    operator = ("--key", house.keys["operator"])
    assert house.shell.run("key", "revoke", "once", *operator).code == 0
    for _ in range(2):
        at_a_terminal(house.shell.typed("key create twice --another"))
    done = house.shell.run("key", "revoke", "twice", *operator)
    assert done.code == 2
    assert "twice has 2 keys in force" in done.error["message"]
    at_a_terminal(done.error["hint"].partition(": ")[2])
    assert house.shell.run("key", "revoke", "twice", *operator).code == 0


def test_a_server_whose_program_is_missing_is_added_with_a_word_about_it(
    house: House,
) -> None:
    done = house.shell.run("server", "add", "later", "--", "npx-is-not-installed", "-y", "x")
    assert done.code == 0
    assert "npx-is-not-installed is no program that is found here" in done.err
    at_a_terminal(_SHOWN.findall(done.err)[-1])
    assert "is no program" not in house.shell.run("server", "add", "here", "--", "sh").err
    assert house.shell.run("server", "rm", "here").code == 0


def test_a_tool_that_is_hidden_can_be_hidden_again_and_shown(house: House) -> None:
    for words in ("disable demo__now", "disable demo/now", "enable demo__now"):
        assert house.shell.run("tool", *words.split()).code == 0
