"""Every command of the tree is run with `--json` beside a real gateway, and its schema holds.

`Shell.run` compares what is printed with the schema of the command; here it is seen that no command
is left out.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from gatewright.approvals.request import Asked
from tests.approvals.voting import Voting
from tests.cli.gateways import DEMO, serving
from tests.cli.schemas import commands
from tests.cli.shell import Done, Shell
from tests.storage.parts import state_in

CONFIG = f"""\
[gateway]
port = 0
{DEMO}[[servers]]
id = "absent"
command = "no-such-program-here"
[[grants]]
agent = "*"
server = "demo"
"""

ALONE = ("config check", "config show", "config path", "config schema", "config diff", "version")
"""Commands that need neither an argument nor a gateway."""

Run = Callable[..., Done]

ELSEWHERE = {
    "room who": "tests/rooms/commands/test_room.py, in a room",
    "room post": "tests/rooms/commands/test_room.py, in a room",
    "room propose": "tests/rooms/commands/test_room.py, in a room",
    "room fulfil": "tests/rooms/commands/test_room.py, in a room",
    "room watch": "tests/rooms/commands/test_room.py, in a room",
    "server register": "tests/registration/test_commands.py, with a command line behind it",
    "server deregister": "tests/registration/test_commands.py, of a server that was registered",
    "server logs": "tests/servers/commands/test_control.py, with a server that has something to say",
    "server login": "tests/servers/commands/test_login.py, with a server that wants a login",
}
"""Commands whose output is held against its schema in another test, and in which."""


def test_every_command_that_answers_in_json_answers_by_its_schema(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG)
    seen: set[tuple[str, ...]] = set()

    def run(*words: str, code: int = 0, given: str = "") -> Done:
        done = shell.run(*words, "--json", given=given)
        assert done.code == code, (words, done.err)
        assert done.out, words
        seen.update(path for path in commands() if words[: len(path)] == path)
        return done

    operator = run("key", "create", "root", "--operator").document["key"]
    with serving(shell):
        _with_a_gateway(run, operator, shell.state)
    _without(run)
    wanted = {path for path, one in commands().items() if any(p.name == "json" for p in one.params)}
    missing = {" ".join(path) for path in wanted - seen} - set(ELSEWHERE)
    assert not missing, f"run them in this file with --json: {sorted(missing)}"
    assert not set(ELSEWHERE) & {" ".join(path) for path in seen}


def _waiting(state: Path) -> str:
    """A request for approval of the gateway of this state folder."""
    queue = Voting(state_in(state), clock=time.time, random=os.urandom)
    asked = Asked("bot", "demo", "add", "a", "d", "p")
    made = queue.ask(asked, arguments="{}", risk="dangerous", reason="", quorum=1, lasts_s=60)
    queue.close()
    assert made is not None
    return made.id


def _with_a_gateway(run: Run, operator: str, state: Path) -> None:
    made = run("key", "create", "bot", "--key", operator).document
    run("key", "list")
    run("session", "list", "--key", operator)
    made = run("key", "rotate", made["id"], "--key", operator).document
    run("key", "revoke", made["id"], "--key", operator)
    for words in (("list",), ("show", "demo"), ("logout", "demo"), ("pin", "demo", "--all")):
        run("server", *words)
    run("server", "permit", "demo", "system.info", "--for", "1h", "--key", operator)
    for word in ("restart", "drain", "stop", "start"):
        run("server", word, "demo")
    _tools(run)
    run("top", "--once")
    run("console", "--no-open")
    run("audit", "tail")
    run("audit", "query")
    trace = run("audit", "query", "-n", "1").document["trace_id"]
    run("audit", "show", trace)
    run("audit", "query", "--mgp")
    run("audit", "verify")
    run("audit", "accept", "--key", operator)
    run("doctor", code=8)
    run("grant", "add", "bot", "demo/add", "--expires", "1h", "--key", operator)
    run("grant", "list")
    run("grant", "show", "bot", "demo/add")
    run("policy", "explain", "bot", "demo__add", "a=1", "b=2", "--key", operator)
    run("policy", "simulate", "mgp.toml", "--key", operator)
    run("grant", "revoke", "bot", "demo/add", "--key", operator)
    run("approve", "--key", operator)
    run("deny", _waiting(state), "--key", operator)


def _tools(run: Run) -> None:
    run("tool", "list")
    run("tool", "show", "demo__add")
    run("tool", "search", "add numbers")
    run("tool", "tokens")
    run("tool", "index", "demo__add")
    run("tool", "export", "demo__add", "--form", "tool")
    run("tool", "call", "demo__add", "a=1", "b=2")


def _without(run: Run) -> None:
    assert all(step["ok"] for step in run("demo").document)
    run("server", "check", code=8)
    run("server", "inspect", "demo")
    for words in ALONE:
        run(*words.split())
    run("config", "trust", "mgp.toml")
    run("config", "untrust", "mgp.toml")
    run("init", "--config", "other.toml")
    run("connect", "cursor", "--yes")
    run("disconnect", "cursor", "--yes")
    run("secret", "set", "token", given="hunter2")
    run("secret", "list")
    run("secret", "allow", "token", "--config", "mgp.toml")
    run("secret", "test")
    run("secret", "rm", "token")
    run("policy", "try", "--validator", "sandbox", given='{"id": 1, "input": "ls"}\nx\n', code=2)
    run("server", "export")
    run("server", "export", "demo")
    run("server", "add", "more", "--url", "http://127.0.0.1:9/mcp")
    run("server", "isolate", "demo", "none")
    run("server", "disable", "more")
    run("server", "enable", "more")
    run("tool", "disable", "more/one")
    run("tool", "enable", "more/one")
    run("server", "rm", "more")
    run("import", "-", given='{"mcpServers": {"found": {"url": "http://127.0.0.1:9/mcp"}}}')
