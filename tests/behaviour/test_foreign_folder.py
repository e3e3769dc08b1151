"""In a folder with somebody else's configuration no command starts, imports or sends anything of it (issue 14, point 5).

The commands are those of the real tree: a new one is in the walk by itself, and fails until it is refused or stands in
`KNOWN` with the reason why it takes nothing from the file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.cli.errors import Exit
from tests.behaviour.foreign_folder import DANGERS, Runner, Tripwires, tripwires
from tests.cli.schemas import commands

ARGUMENTS = {
    "run": ["--", sys.executable, "-c", ""],
    "import": ["other.json"],
    "connect": ["cursor", "--yes"],
    "disconnect": ["cursor", "--yes"],
    "server permit": ["x", "network.outbound"],
    "server add": ["new", "--", "true"],
    "server pin": ["x"],
    "server register": ["x", "--", "true"],
    "tool call": ["x__y"],
    "tool search": ["x"],
    "grant show": ["me", "x"],
    "grant add": ["me", "x"],
    "grant revoke": ["me", "x"],
    "room who": ["t"],
    "room post": ["t", "hello"],
    "room propose": ["t", "p", "tool"],
    "room fulfil": ["t", "1"],
    "room watch": ["t"],
    "room join": ["t"],
    "room serve": ["t", "--", "true"],
    "room bridge": ["t", "x"],
    "policy explain": ["me", "x__y"],
    "policy simulate": ["mgp.toml"],
    "policy try": ["--validator", "readonly", "--help"],
    "audit show": ["00000000-0000-7000-8000-000000000000"],
    "secret set": ["mine"],
    "completion": ["bash"],
    "serve": ["--port", "0"],
    "demo": ["--help"],
}
"""What a command is called with where one word does not do."""

KNOWN = {
    "init": "it writes a file and finds that there is one",
    "demo": "it makes a configuration of its own in a folder of its own",
    "run": "it runs what was typed, without a configuration",
    "disconnect": "it takes our entry out of hosts, wherever the gateway is",
    "completion": "it prints a script",
    "version": "it prints versions",
    "doctor": "it says what is in the file as a finding, and looks at the defaults",
    "config path": "it prints where files are",
    "config schema": "it prints the schema of every file",
    "config trust": "it accepts the file, which it shows; it starts nothing",
    "config untrust": "it takes an acceptance back",
    "room serve": "it starts what was typed, and looks for the gateway then",
    "policy try": "it asks a validator about words of the command line",
}
"""Commands that end otherwise than by the refusal, and why that takes nothing from the file."""

OF_THE_STATE = frozenset(
    "approve,bridge,console,deny,policy explain,room bridge,room fulfil,room join,room post,room propose,room watch,room who,"
    "server deregister,server drain,server list,server logs,server register,server restart,server start,server stop,"
    "session list,tool call,tool export,tool index,tool list,tool search,tool show,tool tokens,"
    "top".split(",")
)
"""Commands that need the state folder alone: they take the user's own, in which nothing runs, nothing waits and
the key of the environment is nobody's."""

ONLY_SERVED = frozenset({"sinks", "announcements", "protocol", "openapi file"})
"""Dangers that act while a gateway runs."""

ALL = sorted(" ".join(words) for words in commands())


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    found = Runner()
    yield found
    found.close()


@pytest.fixture
def wires(tmp_path: Path, runner: Runner) -> Iterator[Tripwires]:
    with tripwires(tmp_path) as found:
        environ = environment(found)
        found.place("nothing", "")
        own = found.folder / "own"
        own.mkdir()
        lines = [["init", "--config", "mgp.toml"], ["secret", "list"], ["key", "create", "me"]]
        assert [one.code for one in runner.run_all(lines, own, environ)][:2] == [0, 0]
        yield found


def environment(wires: Tripwires) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(wires.home),
        "GATEWRIGHT_KEY": "gw_mine",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def line_of(command: str, *more: str) -> list[str]:
    words = command.split()
    leaf = commands()[tuple(words)]
    needed = [one.name for one in leaf.params if one.required]
    given = ARGUMENTS.get(command, ["x" for _ in needed])
    return [*words, *more, *given]


EVERYTHING = "".join(text for kind, text in DANGERS.items() if not kind.endswith("state"))
SOME = "doctor,server check,server inspect,config check,config show,tool list,serve,bridge".split(
    ","
)


def numbered(text: str) -> str:
    """Several servers in one file: each with an id of its own."""
    parts = text.split('id = "x"')
    return "".join(f'{part}id = "x{number}"' for number, part in enumerate(parts[:-1])) + parts[-1]


@pytest.mark.parametrize("kind", ["everything", "foreign state"])
def test_no_command_acts_on_a_configuration_that_was_only_found(
    kind: str, wires: Tripwires, runner: Runner
) -> None:
    folder = wires.place(kind, numbered(EVERYTHING) if kind == "everything" else None)
    walk([one for one in ALL if one != "config trust"], folder, wires, runner)
    assert wires.acted() == []


@pytest.mark.parametrize("kind", DANGERS)
def test_no_kind_of_danger_acts_by_itself(kind: str, wires: Tripwires, runner: Runner) -> None:
    walk(SOME, wires.place(kind), wires, runner)
    assert wires.acted() == []


def walk(walked: list[str], folder: Path, wires: Tripwires, runner: Runner) -> None:
    environ, before = environment(wires), wires.state()
    for ended in runner.run_all([line_of(one) for one in walked], folder, environ):
        name = next(one for one in ALL if ended.words[: len(one.split())] == one.split())
        assert ended.code != -1, f"it ran on: {ended}"
        if name in {"approve", "deny"}:
            assert ended.error == "permission_denied", ended
        elif name in OF_THE_STATE:
            assert ended.error in {"gateway_unreachable", "not_found"}, ended
        elif name not in KNOWN:
            assert (ended.code, ended.error) == (Exit.DENIED, "config_not_accepted"), ended
        else:
            assert ended.error not in {"usage", "internal"}, ended
    assert wires.acted() == []
    assert wires.state() == before
    runner.run_all([["config", "trust", "--json"]], folder, environ)
    assert wires.acted() == []


@pytest.mark.parametrize("kind", sorted(DANGERS.keys() - ONLY_SERVED))
def test_each_danger_would_act_where_the_file_is_accepted(
    kind: str, wires: Tripwires, runner: Runner
) -> None:
    folder, environ = wires.place(kind), environment(wires)
    lines = [["config", "trust"], ["doctor"], ["server", "check"], ["tool", "list"]]
    lines += [["grant", "add", "me", "x"], ["audit", "accept"]]
    before = wires.state()
    runner.run_all(lines, folder, environ)
    now = wires.state()
    now.pop(".local/state/gatewright/trust.json")
    assert wires.acted() or now != before
