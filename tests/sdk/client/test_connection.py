"""Connections: which way a target is reached, and what happens when one is lost."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gatewright.call import Failure
from gatewright.mcp.client.link import Link
from gatewright.sdk import Context, Server
from gatewright.sdk.client import Client, Options, connection
from gatewright.sdk.client.connection import Connection
from gatewright.sdk.errors import TransportError
from tests.sdk.client.scripted import Scripted, text, within
from tests.servers.rig import SERVERS

ANSWERS: dict[str, Any] = {"tools_call": lambda params: text(params["name"])}


@pytest.mark.parametrize("target", ["", "ftp://x", "server.py", [], [1], [b"x"]])
def test_a_target_that_is_none_is_refused_at_once(target: Any) -> None:
    with pytest.raises(ValueError, match="command"):
        Client(target)


async def test_a_lost_connection_is_made_again_for_the_next_call() -> None:
    server = Scripted(**ANSWERS)
    async with Client(server) as client:
        assert (await within(client.call_tool("one"))).text == "one"
        assert server.pipe is not None
        server.pipe.close()
        await asyncio.sleep(0)
        assert (await within(client.call_tool("two"))).text == "two"
    assert server.hellos == 2


async def test_a_call_that_was_on_its_way_when_the_connection_broke_is_not_repeated() -> None:
    """What may have had its effect is done once."""
    server = Scripted()

    def leave(params: dict[str, Any]) -> None:
        assert server.pipe is not None
        server.pipe.close()

    server.on["tools/call"] = leave
    async with Client(server) as client:
        with pytest.raises(TransportError, match="outcome is unknown"):
            await within(client.call_tool("pay"))
    assert len(server.params("tools/call")) == 1


async def test_a_closed_client_says_so_and_may_be_closed_again() -> None:
    client = Client(Scripted(**ANSWERS))
    await client.connect()
    await client.close()
    await client.close()
    with pytest.raises(TransportError, match="closed"):
        await within(client.call_tool("t"))


async def test_a_server_that_says_nothing_is_given_up_in_time() -> None:
    """CDM-err-1."""
    client = Client([sys.executable, "-c", "import sys; sys.stdin.read()"], Options(connect_s=0.3))
    with pytest.raises(TransportError, match=r"did not say hello within 0\.3 s"):
        await within(client.connect())
    await within(client.close())


async def test_a_port_where_nobody_listens_is_named() -> None:
    """CDM-err-1: a refused connection."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens: every connection is refused
        client = Client(f"http://127.0.0.1:{taken.getsockname()[1]}/mcp", Options(connect_s=20))
        with pytest.raises(TransportError):
            await within(client.connect())
        await within(client.close())


@pytest.mark.parametrize(
    "said", ['{"jsonrpc":"2.0","id":1,"result":7}', '{"jsonrpc":"2.0","id":1,"result":{}}']
)
async def test_a_hello_that_is_none_is_named(said: str) -> None:
    """CDM-err-1: a malformed response, though it answers what was asked."""
    code = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        f"    answer = json.loads({said!r})\n"
        "    print(json.dumps({**answer, 'id': asked.get('id')}), flush=True)\n"
    )
    client = Client([sys.executable, "-c", code], Options(connect_s=20))
    with pytest.raises(TransportError):
        await within(client.connect())
    await within(client.close())


async def test_the_log_of_a_child_and_its_environment_are_the_programs() -> None:
    lines: asyncio.Queue[str] = asyncio.Queue()
    code = (
        "import os, sys; print(os.environ['MINE'], file=sys.stderr, flush=True); sys.stdin.read()"
    )
    options = Options(env={"MINE": "here"}, on_stderr=lines.put_nowait)
    client = Client([sys.executable, "-c", code], options)
    connecting = asyncio.create_task(client.connect())
    assert await within(lines.get()) == "here"
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    await within(client.close())


@pytest.mark.parametrize(("era", "revision"), [("legacy", "2025-11-25"), ("modern", "2026-07-28")])
async def test_only_the_era_that_is_asked_for_is_spoken(era: Any, revision: str) -> None:
    name = "modern_asker" if era == "modern" else "asker"
    command = [sys.executable, str(SERVERS / f"{name}.py")]
    async with Client(command, Options(era=era)) as client:
        assert client.hello is not None
        assert client.hello.revision == revision


class Pass:
    """Gets in with the second token that it tries (`mcp.client.authorization.Authorizer`)."""

    def __init__(self) -> None:
        self.turns: list[int] = []

    async def authorization(self) -> str | None:
        """What the next request carries."""
        return "Bearer right" if self.turns else "Bearer wrong"

    async def challenged(
        self, turn: int, status: int, challenges: Sequence[str], used: str | None
    ) -> bool:
        """A refusal: try once more."""
        self.turns.append(status)
        return turn == 0


async def test_who_gets_into_protected_servers_may_be_given() -> None:
    server = Server("s", tokens={"right": "ann"})

    @server.tool
    def who(context: Context) -> str:
        return context.caller

    served = await server.serve_http()
    authorizer = Pass()
    try:
        async with Client(served.url, Options(authorizer=authorizer)) as client:
            assert (await within(client.call_tool("who"))).text == "ann"
    finally:
        await served.stop()
    assert authorizer.turns == [401]


class Retired:
    """A link of no more use, whose calls go on until they are given up."""

    def __init__(self) -> None:
        self.spec = SimpleNamespace(id="s")
        self.patient = False
        self.why: Failure | None = None
        self.stopping = asyncio.Event()
        self._over = asyncio.Event()

    async def stop(self, grace_s: float) -> None:
        """Wait for its calls, for as long as they may take where that is wanted."""
        self.stopping.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if self.patient else grace_s):
                await self._over.wait()

    def give_up(self, why: Failure) -> None:
        """End them."""
        self.why = why
        self._over.set()


async def test_calls_of_a_link_that_is_left_go_on_until_the_client_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They were cut five seconds after the next call, and the session deleted."""
    monkeypatch.setattr(connection, "_CLOSE_S", 0.01)
    link, made = Retired(), Connection("http://127.0.0.1:1/mcp", Options(), lambda *_: None)
    made._leave(cast("Link", link))
    await within(link.stopping.wait())
    await asyncio.sleep(0.1)
    assert len(made._leaving) == 1
    await within(made.close())
    assert not made._leaving
    assert link.why is not None
    assert link.why.details == {"sent": True}
    assert "the client is closed" in link.why.message


async def test_a_link_that_is_left_while_the_client_closes_has_no_more_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_CLOSE_S", 0.01)
    link, made = Retired(), Connection("http://127.0.0.1:1/mcp", Options(), lambda *_: None)
    await within(made.close())
    made._leave(cast("Link", link))
    await within(made.close())
    assert link.stopping.is_set()
    assert not made._leaving
