"""`server login` and `logout`: a real command, a browser that agrees, and what the gateway then may do."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from gatewright.servers.login_store import Logins
from tests.cli.shell import DEADLINE_S, Done, Shell
from tests.servers.guarded import AuthorizationServer, ProtectedServer, protected, user

Pair = tuple[ProtectedServer, AuthorizationServer]

BROWSER = """\
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=15).read()
"""


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with protected() as both:
        yield both


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def configure(shell: Shell, url: str, more: str = "") -> None:
    shell.write("mgp.toml", f'[[servers]]\nid = "files"\nurl = "{url}"\n{more}')


async def run(shell: Shell, *arguments: str, browser: Path | None = None) -> Done:
    command = f"{sys.executable} {browser} %s" if browser is not None else "false"
    return await asyncio.to_thread(shell.run, *arguments, environ={"BROWSER": command})


async def test_a_browser_that_agrees_is_all_it_takes(shell: Shell, pair: Pair) -> None:
    server, issuer = pair
    configure(shell, server.url)
    browser = shell.write("browser.py", BROWSER)
    done = await run(shell, "server", "login", "files", "--port", "0", browser=browser)
    assert done.code == 0, done.err
    name, where, scopes, ends = done.rows[0]
    assert (name, where, scopes) == ("files", issuer.issuer, "basic")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", ends)
    assert f"{issuer.issuer}/authorize?" in done.err
    grant = Logins(shell.state).load("files", server.url).grant
    assert grant is not None
    assert grant.access_token in issuer.tokens
    assert grant.access_token not in done.out + done.err


async def test_without_a_browser_the_url_is_printed_and_the_way_back_is_waited_for(
    shell: Shell, pair: Pair
) -> None:
    configure(shell, pair[0].url)
    arguments = ("server", "login", "files", "--no-browser", "--port", "0", "--json")
    process = await asyncio.create_subprocess_exec(
        *shell.command(*arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=shell.folder,
        env=shell.environ(),
    )
    async with asyncio.timeout(DEADLINE_S):
        assert process.stderr is not None
        url = ""
        while not url.startswith("http"):
            url = (await process.stderr.readline()).decode().strip()
        back = await user(url)
        async with aiohttp.ClientSession() as session, session.get(back) as answer:
            assert "Close this window" in await answer.text()
        out, _ = await process.communicate()
    done = Done(process.returncode or 0, out.decode(), "")
    assert done.document["server"] == "files"
    assert (done.document["scopes"], done.document["renewed"]) == (["basic"], True)


async def test_at_a_terminal_the_address_can_be_typed(shell: Shell, pair: Pair) -> None:
    configure(shell, pair[0].url)
    ours, theirs = os.openpty()
    arguments = ("server", "login", "files", "--no-browser", "--port", "0")
    process = await asyncio.create_subprocess_exec(
        *shell.command(*arguments),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=shell.folder,
        env=shell.environ(),
    )
    os.close(theirs)
    async with asyncio.timeout(DEADLINE_S):
        shown = ""
        while "press Enter" not in shown:
            shown += (await asyncio.to_thread(os.read, ours, 65536)).decode()
        found = re.search(r"(http\S+/authorize\S+)", shown)
        assert found is not None
        os.write(ours, f"\n{await user(found[1])}\n".encode())
        while said := await asyncio.to_thread(_read, ours):
            shown += said.decode(errors="replace")
        assert await process.wait() == 0, shown
    os.close(ours)
    assert Logins(shell.state).load("files", pair[0].url).grant is not None


def _read(descriptor: int) -> bytes:
    """What a terminal shows; nothing once nobody is left at its other end."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


@pytest.mark.parametrize("fixed", ["", "127.0.0.1", "[::1]", "localhost"])
async def test_who_registered_a_client_is_told_which_redirect_uri_it_needs(
    shell: Shell, pair: Pair, fixed: str
) -> None:
    """The issuer's own, unless another one is written as the registered one."""
    server, issuer = pair
    issuer.clients["ours"] = ""
    back = f"http://{fixed}:{free_port()}/back"
    more = f'[servers.auth]\nclient_id = "ours"\nissuer = "{issuer.issuer}"\n'
    configure(shell, server.url, more + (f'redirect_uri = "{back}"\n' if fixed else ""))
    browser = shell.write("browser.py", BROWSER)
    port = () if fixed else ("--port", "0")
    done = await run(shell, "server", "login", "files", *port, browser=browser)
    assert done.code == 0, done.err
    asked = issuer.asked("/authorize")["redirect_uri"]
    assert (asked == back) == bool(fixed)
    assert (
        f"the redirect URI of this issuer is {asked}; see that client ours has it" in done.err
    ) != bool(fixed)
    if fixed:
        other = await run(shell, "server", "login", "files", "--port", "1", browser=browser)
        assert (other.code, "leave --port out" in other.err) == (2, True)


async def test_a_refused_login_says_why(shell: Shell, pair: Pair) -> None:
    pair[1].response = {"error": "access_denied"}
    configure(shell, pair[0].url)
    browser = shell.write("browser.py", BROWSER)
    done = await run(shell, "server", "login", "files", "--port", "0", browser=browser)
    assert done.code == 3
    assert "access_denied" in done.error["message"]


async def test_nobody_who_logs_in_ends_the_wait(shell: Shell, pair: Pair) -> None:
    configure(shell, pair[0].url)
    done = await run(shell, "server", "login", "files", "--port", "0", "--timeout", "2")
    assert done.code == 3
    assert "nobody logged in within 2 s" in done.error["message"]


async def test_a_server_that_is_not_there_is_unreachable(shell: Shell) -> None:
    configure(shell, "http://127.0.0.1:9/mcp")
    done = await run(shell, "server", "login", "files", "--port", "0")
    assert done.code == 4
    assert "127.0.0.1:9" in done.error["message"]


async def test_a_port_in_use_can_be_chosen_otherwise(shell: Shell, pair: Pair) -> None:
    configure(shell, pair[0].url)
    taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = str(taken.sockets[0].getsockname()[1])
    async with taken:
        done = await run(shell, "server", "login", "files", "--port", port)
    assert done.code == 2
    assert port in done.error["message"]
    assert "--port" in done.error["hint"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('[servers.auth]\nbearer = "x"\n', "let in by its configuration"),
        ('headers = { Authorization = "x" }\n', "let in by its configuration"),
        ('[servers.auth]\nbearer = "${UNSET}"\n', "UNSET is not set"),
    ],
)
def test_a_login_that_means_nothing_is_refused(shell: Shell, more: str, told: str) -> None:
    configure(shell, "https://h.example/mcp", more)
    done = shell.run("server", "login", "files")
    assert done.code == 2
    assert told in done.error["message"]


def test_an_unknown_server_is_answered_with_those_there_are(shell: Shell) -> None:
    shell.write("mgp.toml", '[[servers]]\nid = "child"\ncommand = "x"\n')
    unknown = shell.run("server", "login", "files")
    assert (unknown.code, "child" in unknown.error["hint"]) == (2, True)
    program = shell.run("server", "login", "child")
    assert (program.code, "is a program" in program.error["message"]) == (2, True)


async def test_a_logout_forgets(shell: Shell, pair: Pair) -> None:
    configure(shell, pair[0].url)
    browser = shell.write("browser.py", BROWSER)
    await run(shell, "server", "login", "files", "--port", "0", browser=browser)
    first = await run(shell, "server", "logout", "files")
    assert (first.code, first.err) == (0, "files: logged out\n")
    again = await run(shell, "server", "logout", "files", "--json")
    assert again.document == {"server": "files", "forgotten": False}
    assert Logins(shell.state).load("files", pair[0].url).grant is None
