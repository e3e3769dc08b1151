"""Making a connection to a real child of each era, and to one that cannot bear the question."""

from __future__ import annotations

import sys

import pytest

from gatewright.protocol.negotiate import Face
from gatewright.upstream.connect import Around, connect
from gatewright.upstream.link import Link, LinkClosed, UpstreamFailed
from gatewright.upstream.spec import ServerSpec
from tests.upstream.rig import DEADLINE, INFO, python, within
from tests.upstream.scripted import Ear

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

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.stderr: list[str] = []

    async def connect(self, spec: ServerSpec) -> Link:
        """Connect, with everything collected here."""
        try:
            found: Link = await within(
                connect(spec, Around(INFO, Ear(), self.stderr.append, self.links.append))
            )
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


async def test_a_program_that_cannot_be_started_is_named() -> None:
    with pytest.raises(UpstreamFailed, match="no-such-program"):
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
