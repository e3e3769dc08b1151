"""Making a connection to a real child of each era, and to one that cannot bear the question."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import pytest

from gatewright.call import Answer, Failure
from gatewright.mcp.client.authorization import Authorizer
from gatewright.mcp.client.connect import Around, connect
from gatewright.mcp.client.link import Link, LinkClosed, ServerFailed
from gatewright.mcp.protocol.negotiate import Face
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import DEADLINE, INFO, FakeBack, ask, python, running, said, within
from tests.servers.scripted import Ear
from tests.servers.web import http, site, web

FRAGILE = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "server/discover":
        os._exit(7)
    if message["method"] == "initialize":
        result = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


class Leaving:
    """Collects links that came to nothing."""

    def __init__(self, authorizer: Authorizer | None = None) -> None:
        self._authorizer = authorizer
        self.links: list[Link] = []
        self.stderr: list[str] = []

    async def connect(self, spec: ServerSpec) -> Link:
        """Connect, with everything collected here."""
        try:
            around = Around(
                INFO, Ear(), lambda: self.stderr.append, self.links.append, self._authorizer
            )
            found: Link = await within(connect(spec, around))
            return found
        finally:
            for link in self.links:
                await within(link.stop(1.0))


@pytest.mark.parametrize(
    ("server", "era", "revision"),
    [
        ("asker", "auto", "2025-11-25"),
        ("asker", "legacy", "2025-11-25"),
        ("modern_asker", "auto", "2026-07-28"),
        ("modern_asker", "modern", "2026-07-28"),
    ],
)
async def test_a_server_is_met_in_its_own_era(server: str, era: str, revision: str) -> None:
    link = await Leaving().connect(python(server, era=era))
    try:
        assert link.hello is not None
        assert link.hello.revision == revision
        assert await within(link.fetch("tools/list", {}, DEADLINE))
    finally:
        await within(link.stop(1.0))


async def test_a_server_that_ends_on_the_probe_gets_a_second_life() -> None:
    leaving = Leaving()
    spec = ServerSpec(id="fragile", command=sys.executable, args=("-c", FRAGILE))
    link = await leaving.connect(spec)
    assert link.hello is not None
    assert link.hello.revision == "2024-11-05"
    assert len(leaving.links) == 1
    await within(link.stop(1.0))


@pytest.mark.parametrize(("server", "era"), [("asker", "modern"), ("modern_asker", "legacy")])
async def test_a_configured_era_that_the_server_does_not_speak_is_an_error(
    server: str, era: str
) -> None:
    leaving = Leaving()
    with pytest.raises(LinkClosed):
        await leaving.connect(python(server, era=era))
    assert len(leaving.links) == 1


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_of_2024_is_met_at_its_event_stream(transport: str) -> None:
    async with web("asker") as url:
        spec = http("s", url.replace("/mcp", "/sse"), transport=transport)
        async with running(spec) as supervisor:
            back = FakeBack(elicitation={"action": "accept", "content": {}})
            outcome = await ask(supervisor, "s/ask_elicitation", back=back)
            assert said(outcome) == {"action": "accept", "content": {}}
            failed = await ask(supervisor, "s/fail")
            assert isinstance(failed, Failure)
            assert failed.error is not None


async def test_an_event_stream_that_is_lost_is_opened_again() -> None:
    async with web("asker") as url:
        port = int(url.split(":")[2].partition("/")[0])
        spec = http("s", url.replace("/mcp", "/sse"), transport="sse")
        supervisor = Supervisor([spec], info=INFO, startup_wait_s=DEADLINE)
        supervisor.start()
        await within(supervisor.settled())
        assert isinstance(await ask(supervisor, "s/structured", {"a": 1}), Answer)
    try:
        async with web("asker", port=port), asyncio.timeout(DEADLINE):
            while not isinstance(await ask(supervisor, "s/structured", {"a": 1}), Answer):
                await asyncio.sleep(0.05)
            assert supervisor.states == {"s": "connected"}
    finally:
        await within(supervisor.close(1.0))


class Token:
    """Has one token, and gives it when asked for."""

    def __init__(self) -> None:
        self.value: str | None = None

    async def authorization(self) -> str | None:
        """Nothing until it was challenged."""
        return self.value

    async def challenged(
        self, turn: int, status: int, challenges: Sequence[str], used: str | None
    ) -> bool:
        """Now there is one, once."""
        self.value = "Bearer t"
        return turn == 0 and status == 401


async def test_an_event_stream_takes_a_token_too() -> None:
    async with site() as server:
        spec = http("s", server.url, transport="sse")
        connecting = asyncio.ensure_future(Leaving(Token()).connect(spec))
        (await server.next("GET")).say(401)
        second = await server.next("GET")
        assert second.headers["authorization"] == "Bearer t"
        second.say(403)
        with pytest.raises(ServerFailed, match="403"):
            await within(connecting)


async def test_a_url_that_speaks_neither_way_is_told_both() -> None:
    async with site() as server:
        connecting = asyncio.ensure_future(Leaving().connect(http("s", server.url)))
        (await server.next("server/discover")).say(404)
        (await server.next("initialize")).say(404)
        (await server.next("GET")).say(404)
        with pytest.raises(ServerFailed, match=r"not HTTP\+SSE either"):
            await within(connecting)


async def test_a_url_that_is_none_is_refused() -> None:
    for transport in ("http", "sse"):
        with pytest.raises(ServerFailed, match="http"):
            await Leaving().connect(http("s", "ftp://x", transport=transport))


async def test_a_program_that_cannot_be_started_is_named() -> None:
    with pytest.raises(ServerFailed, match="no-such-program"):
        await Leaving().connect(ServerSpec(id="s", command="no-such-program"))


async def test_a_connection_that_takes_too_long_leaves_nothing_behind() -> None:
    leaving = Leaving()
    with pytest.raises(TimeoutError):
        await within(leaving.connect(python("bad", "hang")), 0.5)
    assert len(leaving.links) == 1


async def test_mgp_15_2_4_a_server_without_an_mgp_section_hears_nothing_of_mgp() -> None:
    for face, words in ((None, False), (Face(("audit",)), True)):
        link = await Leaving().connect(python("extras", face=face))
        try:
            seen = await within(
                link.fetch("tools/call", {"name": "hello_seen", "arguments": {}}, DEADLINE)
            )
            assert (b"mgp" in seen) is words
        finally:
            await within(link.stop(1.0))
