"""A screen by itself has nothing; and what the screens of a whole gateway offer to copy works where it is pasted."""

from __future__ import annotations

import html
import os
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import pytest

from gatewright.cli.running import read_running
from gatewright.console.operations import Asking
from gatewright.console.people import Person
from gatewright.console.screen import Page, Screen, View, posted
from tests.console.asking import Api
from tests.console.client import Visitor
from tests.console.running import DEMO, Console, eventually, running

ROOMS = """
[rooms]
"""
_ENDLESS = ("audit tail --follow", "top")
"""They run until somebody ends them."""


def test_a_screen_of_which_nothing_is_said_shows_no_badge() -> None:
    screen = Screen()
    assert (screen.pages, screen.operations) == ((), ())
    assert screen.badge(Person("v", "viewer", "key")) is None


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_names_its_power(method: Literal["GET", "POST"]) -> None:
    async def run(asking: Asking) -> View:
        return View("")

    with pytest.raises(TypeError, match="power"):
        Page(path="/x", run=run, method=method)  # type: ignore[call-arg]
    assert posted("/x", run).power == "change"


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A gateway with something on every screen: calls, one that waits, a run, a host of this machine."""
    folder = tmp_path_factory.mktemp("copies")
    (folder / "home/.cursor").mkdir(parents=True)
    (folder / "home/.cursor/mcp.json").write_text('{"mcpServers": {}}')
    with ExitStack() as stack:
        console = stack.enter_context(running(folder, DEMO + ROOMS))
        console.command("tool", "call", "demo__echo", "text=x")
        stack.enter_context(console.calling("demo__delete_all_notes"))
        eventually(lambda: bool(Api(console).get("/approvals")["approvals"]))
        yield console


@pytest.fixture(scope="module")
def visitor(busy: Console) -> Visitor:
    found = Visitor(busy)
    assert found.open(busy.new_url().partition("#")[2]).status == 200
    return found


SCREENS = (
    "/inbox?risk=moderate",
    "/live",
    "/live?agent=local&sort=ms",
    "/live/running",
    "/sessions?sort=agent",
    "/sessions/run?agent=local",
    "/servers?sort=tools",
    "/servers/demo",
    "/tools?server=demo&sort=tokens",
    "/tools?q=delete+notes",
    "/tools/one?server=demo&tool=echo",
    "/access",
    "/access?open_agent=*&open_server=demo&open_tool=echo",
    "/rooms",
    "/audit?agent=local&since=1h",
    "/audit/1",
    "/limits",
    "/connect",
    "/health",
)


def copies(page: str) -> tuple[str, str]:
    """The command and the call of the API that a page offers."""
    foot = page.rpartition("<footer")[2]
    command, call = re.findall(r'data-copy="([^"]*)"', foot)
    return html.unescape(command), html.unescape(call)


@pytest.mark.parametrize("path", SCREENS)
def test_what_a_screen_copies_as_a_command_runs(busy: Console, visitor: Visitor, path: str) -> None:
    """As it is, in another folder, by an operator of this machine."""
    said = visitor.get(path)
    assert said.status == 200
    command, _ = copies(said.text)
    if command.endswith(_ENDLESS):
        with pytest.raises(subprocess.TimeoutExpired):
            typed(busy, command, 4)
        return
    done = typed(busy, command)
    # 8: `doctor` has found something to do.
    assert done.returncode in ((0, 8) if path == "/health" else (0,)), (command, done.stderr)
    assert done.stdout or done.stderr, command


@pytest.mark.parametrize("path", SCREENS)
def test_what_a_screen_copies_as_a_call_of_the_api_is_answered(
    busy: Console, visitor: Visitor, path: str
) -> None:
    """`curl`, the key of an operator in its variable."""
    _, call = copies(visitor.get(path).text)
    status, body = pasted(busy, call)
    assert status == 200, body


def test_what_the_inbox_copies_decides_on_what_was_looked_at(
    busy: Console, visitor: Visitor
) -> None:
    """Both ways: the one that was shown, with the arguments that were shown, runs."""
    with busy.calling("demo__write_note", name="a", text="b") as calling:
        (one,) = asked(busy, "write_note")
        command, call = copies(visitor.get(f"/inbox/{one}").text)
        wrong = typed(busy, command.replace("--digest ", "--digest 0"))
        assert wrong.returncode != 0
        done = typed(busy, command)
        assert done.returncode == 0, done.stderr
        assert "written" in calling.communicate(timeout=20)[0]
        assert pasted(busy, call)[0] == 409  # somebody was faster
    with busy.calling("demo__write_note", name="a", text="c") as calling:
        (one,) = asked(busy, "write_note")
        assert pasted(busy, copies(visitor.get(f"/inbox/{one}").text)[1])[0] == 200
        assert "written" in calling.communicate(timeout=20)[0]


def asked(console: Console, tool: str) -> list[str]:
    """The requests that wait for a tool, once there is one."""
    api = Api(console)

    def waiting() -> list[str]:
        return [one["id"] for one in api.get("/approvals")["approvals"] if one["tool"] == tool]

    eventually(lambda: bool(waiting()))
    return waiting()


def typed(console: Console, command: str, wait_s: float = 60) -> subprocess.CompletedProcess[str]:
    """What comes of a command that is pasted into a shell as it is."""
    folder = console.config.parent
    search = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    key = read_running(folder / "state").operator_token
    environ = {"PATH": search, "HOME": str(folder / "home"), "GATEWRIGHT_KEY": key}
    return subprocess.run(
        ["sh", "-c", f"exec env {command}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder / "home",
        env={**os.environ, **environ},
        timeout=wait_s,
    )


def pasted(console: Console, call: str) -> tuple[int, str]:
    """What is answered to a `curl` command as it is."""
    words = shlex.split(call)
    assert words.pop(0) == "curl"
    token = read_running(console.config.parent / "state").operator_token
    method, body, headers, urls = "GET", None, dict[str, str](), list[str]()
    while words:
        word = words.pop(0)
        if word == "-X":
            method = words.pop(0)
        elif word == "-d":
            body = words.pop(0).encode()
        elif word == "-H":
            name, _, value = words.pop(0).partition(": ")
            headers[name] = value.replace("$GATEWRIGHT_KEY", token)
        else:
            urls.append(word)
    (url,) = urls
    assert url.startswith(f"{console.url}/api/v1/")
    request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310 - our own address
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as problem:
        with problem:
            return problem.code, problem.read().decode()
