"""People and programs in rooms, from a terminal: real commands beside a real gateway."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.mcpx.payload import Operation, Proposed
from gatewright.rooms.commands import room
from gatewright.rooms.commands.room import _each, _fulfilled
from tests import fork_server
from tests.cli.gateways import EXAMPLES, serving
from tests.cli.shell import DEADLINE_S, Shell

TOKENS = {name: f"token-of-{name}-0123456789" for name in ("ana", "eve", "tools", "desk", "looker")}
CONFIG = f"""\
[gateway]
port = 0
anonymous = "deny"
[[servers]]
id = "demo"
command = "python3"
args = [{json.dumps(str(EXAMPLES / "demo_server.py"))}]
[[grants]]
agent = "*"
server = "demo"
[rooms.kernel]
topics = ["deploys"]
[rooms.orchestrator]
topics = ["deploys"]
people = ["ana"]
[[rooms.participants]]
id = "ana"
token = "{TOKENS["ana"]}"
profile = "full"
[[rooms.participants]]
id = "eve"
token = "{TOKENS["eve"]}"
[[rooms.participants]]
id = "looker"
token = "{TOKENS["looker"]}"
[[rooms.participants]]
id = "tools"
token = "{TOKENS["tools"]}"
profile = "full"
[[rooms.participants]]
id = "desk"
token = "{TOKENS["desk"]}"
profile = "full"
"""
SUM = ("demo__add", "a:=2", "b:=3")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A gateway with a room, and a shell beside it."""
    shell = Shell(tmp_path_factory.mktemp("rooms"))
    shell.write("mgp.toml", CONFIG)
    with serving(shell):
        yield shell


def words(name: str, *rest: str, topic: str = "deploys") -> list[str]:
    """A room command of somebody."""
    command, *more = rest
    return ["room", command, topic, *more, "--key", TOKENS[name]]


@contextmanager
def beside(shell: Shell, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs while something else happens."""
    process = fork_server.Popen(
        shell.command(*arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=shell.environ(),
        cwd=shell.folder,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=DEADLINE_S)


def present(shell: Shell, name: str) -> None:
    """Wait until somebody is in the room."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        found = shell.run(*words("looker", "who"), "--json").document
        if any(one["id"] == name for one in found["participants"]):
            return
    raise AssertionError(f"{name} never came")


def test_who_is_there_and_what_is_said_can_be_seen(table: Shell) -> None:
    """MCPX-9.3-1 for a monitor at a terminal."""
    found = table.run(*words("eve", "who"), "--json")
    assert found.code == 0, found.err
    names = [one["id"] for one in found.document["participants"]]
    assert found.document["you"]["id"] == "eve"
    assert {"gatewright", "orchestrator"} <= set(names)
    with beside(table, *words("ana", "watch", "--json", "--seconds", "40")) as watching:
        assert watching.stdout is not None
        present(table, "ana")
        said = table.run(*words("eve", "post", "ready?"), "--json")
        assert said.code == 0, said.err
        for line in watching.stdout:
            envelope = json.loads(line)
            if envelope["kind"] == "chat":
                break
        assert (envelope["from"], envelope["payload"]["text"]) == ("eve", "ready?")
        assert envelope["id"] == said.document["id"]


def test_a_proposal_at_one_terminal_is_fulfilled_at_another(table: Shell) -> None:
    """MCPX-9.1-1, MCPX-9.4-1: by hand in `room join`, and through the orchestrator by its id."""
    with beside(table, *words("eve", "propose", "gatewright", *SUM, "--json")) as proposing:
        assert proposing.stderr is not None
        told = (line for line in proposing.stderr if "list" not in line)  # not of the key in `ps`
        id = next(told).split()[-1]
        done = table.run(*words("ana", "fulfil", id), "--json")
        assert done.code == 0, done.err
        assert done.document["result"]["content"][0]["text"] == "5"
        out, _ = proposing.communicate(timeout=DEADLINE_S)
        assert json.loads(out) == done.document
    again = table.run(*words("ana", "fulfil", id))
    assert (again.code, again.error["code"]) == (5, "tool_error")


def test_somebody_who_sits_in_a_room_chats_proposes_and_rejects(table: Shell) -> None:
    with beside(table, *words("ana", "join")) as sitting:
        assert sitting.stdin is not None
        assert sitting.stdout is not None
        present(table, "ana")
        with beside(table, *words("eve", "propose", "gatewright", *SUM)) as proposing:
            for line in sitting.stdout:
                if "proposes" in line:
                    break
            id = line.split()[0]
            sitting.stdin.write(f"/who\n/nonsense\n/fulfil\nlet me think\n/reject {id} not now\n")
            sitting.stdin.flush()
            _, err = proposing.communicate(timeout=DEADLINE_S)
            assert proposing.returncode == 2
            assert "ana rejected the proposal: not now" in err
        out, err = sitting.communicate("/quit\n", timeout=DEADLINE_S)
        assert "orchestrator" in out
        assert "write /fulfil ID [TARGET]" in err


def test_a_place_that_is_lost_ends_the_command_with_a_reason(table: Shell) -> None:
    """A participant has one place: whoever comes later with the same token takes it."""
    with beside(table, *words("ana", "watch")) as watching:
        present(table, "ana")
        assert table.run(*words("ana", "who")).code == 0
        _, err = watching.communicate(timeout=DEADLINE_S)
        assert watching.returncode == 4
        assert "replaced by a newer connection" in err


def test_a_tool_server_and_a_host_sit_in_a_room_through_their_pipes(table: Shell) -> None:
    """MCPX-9.5-1, MCPX-2.1-3: `room serve` and `room bridge`, and MCP between them."""
    server = ("python3", str(EXAMPLES / "demo_server.py"))
    serve = [*words("tools", "serve")[:3], "--key", TOKENS["tools"], "--", *server]
    with beside(table, *serve):
        present(table, "tools")
        with beside(table, *words("desk", "bridge", "tools")) as host:
            assert host.stdin is not None
            assert host.stdout is not None

            def ask(ident: int, method: str, params: Any) -> Any:
                body = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
                host.stdin.write(json.dumps(body) + "\n")  # type: ignore[union-attr]
                host.stdin.flush()  # type: ignore[union-attr]
                return json.loads(host.stdout.readline())["result"]  # type: ignore[union-attr]

            info = {"name": "host", "version": "1"}
            opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
            assert ask(1, "initialize", opening)["protocolVersion"] == "2025-06-18"
            assert "add" in [tool["name"] for tool in ask(2, "tools/list", {})["tools"]]
            called = ask(3, "tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}})
            assert called["content"][0]["text"] == "5"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("room", "who", "deploys", "--key", "nobodys-token-at-all"), 3, "auth_failed"),
        (("room", "who", "deploys", "--url", "http://127.0.0.1:9/mcp"), 4, "gateway_unreachable"),
        (("room", "fulfil", "deploys"), 2, "usage"),
        (tuple(words("ana", "fulfil", "x", topic="elsewhere")), 2, "not_found"),
        (tuple(words("eve", "fulfil", "x")), 6, "permission_denied"),
    ],
)
def test_what_cannot_be_done_is_a_named_error(
    table: Shell, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = table.run(*arguments)
    assert (done.code, done.error["code"]) == (code, said), done.err


def test_a_server_that_cannot_start_says_so(table: Shell) -> None:
    done = table.run(
        "room", "serve", "deploys", "--key", TOKENS["tools"], "--", "no-such-program-x"
    )
    assert (done.code, done.error["code"]) == (2, "usage")


def test_the_page_of_rooms_is_there_for_all_this() -> None:
    page = Path(EXAMPLES.parent / "docs" / "rooms.md").read_text()
    assert "room bridge TOPIC NAME" in page


@pytest.mark.parametrize(
    ("said", "result"),
    [
        ({"structuredContent": {"a": 1}, "content": []}, {"a": 1}),
        ({"structuredContent": {"a": 1}, "isError": True}, None),
        ([1], None),
        ("done", None),
        (None, None),
    ],
)
def test_whatever_the_orchestrator_answers_is_shown(said: Any, result: Any) -> None:
    assert _fulfilled(said) == (said if result is None else result)


class Sitting:
    """A participant to whom two proposals come as soon as somebody watches."""

    id = "me"

    def __init__(self) -> None:
        self.decided: list[str] = []
        self.watchers = self

    def append(self, watcher: Any) -> None:
        for id in ("p1", "p2"):
            proposed = Proposed(Operation("tools/call", {"name": "x"}))
            envelope = SimpleNamespace(id=id, sender="other")
            watcher(SimpleNamespace(content=proposed, envelope=envelope))

    async def until_lost(self) -> None:
        await asyncio.Event().wait()

    async def fulfil(self, id: str, *, to: str | None) -> Any:
        self.decided.append(f"yes to {id}")
        return {}

    def decline(self, id: str) -> None:
        self.decided.append(f"no to {id}")


@pytest.mark.parametrize(
    ("typed", "decided"),
    [(b"", []), (b"y\n", ["yes to p1"]), (b"\n", ["no to p1"]), (b"n\nYES\n", None)],
)
async def test_the_end_of_what_is_typed_ends_the_questions_and_decides_on_nothing(
    typed: bytes, decided: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lines() -> asyncio.StreamReader:
        reader = asyncio.StreamReader()
        reader.feed_data(typed)
        reader.feed_eof()
        return reader

    monkeypatch.setattr(room, "_typed", lines)
    monkeypatch.setattr(room, "_show", lambda heard, *, json: None)
    me: Any = Sitting()
    each = asyncio.ensure_future(_each(me, None))
    try:
        # Both proposals are answered, and it waits for a third; else it ends by itself.
        async with asyncio.timeout(10):
            while not each.done() and len(me.decided) < 2:
                await asyncio.sleep(0)
    finally:
        each.cancel()
    assert me.decided == (["no to p1", "yes to p2"] if decided is None else decided)
