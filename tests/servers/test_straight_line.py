"""The way of prepared calls to a server: what is plain, and what it may not be used for any more."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gatewright.servers.straight_line import StraightLine
from tests.prepared_house import PreparedHouse, prepared_house

TELL = "obedient__tell"


def _line(house: PreparedHouse) -> StraightLine:
    found: StraightLine = next(iter(house.prepared.known.values())).line
    return found


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        (b'{"content":[]}', True),
        ('{"content":[{"type":"text","text":"gr\u00fc\u00dfe"}]}'.encode(), True),
        (b'{"content":[{"type":"text","text":"a/b_c"}]}', True),
        (b'["content"]', False),
        (b'{"content":[],"isError":true}', False),
        (b'{"content":[],"\\u0069sError":true}', False),
        (b'{"content":[],"_meta":{}}', False),
        (b'{"content":[],"_mgp":{}}', False),
        (b'{"resultType":"input_required"}', False),
        (b'{"content":[{"text":"\xff"}]}', False),
    ],
)
async def test_what_is_plain(tmp_path: Path, raw: bytes, plain: bool) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        assert _line(house).is_plain(raw) is plain
        client.close()


async def test_a_server_that_has_as_many_calls_as_it_may_gets_no_further_one(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        link: Any = _line(house)._link
        before, link.spec = link.spec, _Full()
        said, prepared = await house.served(client, TELL, "so")
        link.spec = before
        assert (said, prepared) == ("resource_exhausted", False)
        assert await house.served(client, TELL, "so") == ("so", True)
        client.close()


async def test_a_server_is_asked_for_its_tool_by_the_name_that_it_gave_it(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        link: Any = _line(house)._link
        sent, soon = list[bytes](), link._send_soon

        def heard(frame: bytes, most: int) -> bool:
            sent.append(frame)
            found: bool = soon(frame, most)
            return found

        link._send_soon = heard
        assert await house.served(client, TELL, "so") == ("so", True)
        (frame,) = sent
        assert json.loads(frame)["params"] == {"name": "tell", "arguments": {"text": "so"}}
        client.close()


class _Full:
    id, in_flight = "obedient", 0


@pytest.mark.parametrize("what", ["late", "link", "open", "quiet", "listing", "count"])
async def test_what_a_way_rests_on(tmp_path: Path, what: str) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        held = next(iter(house.prepared.known.values()))
        server: Any = house.gateway.supervisor.fleet.owners["obedient"]
        owner = {
            "late": server._main,
            "link": server._main,
            "open": server._main.link,
            "quiet": server.life,
            "listing": server,
            "count": server._relisting,
        }[what]
        before = getattr(owner, what)
        setattr(owner, what, object())
        assert not held.holds()
        setattr(owner, what, before)
        assert held.holds()
        client.close()


async def test_what_comes_in_the_turn_in_which_a_call_becomes_ordinary_is_not_lost(
    tmp_path: Path,
) -> None:
    """A log line and the answer right behind it, of a client that hears log lines of its own call."""
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        arguments = {"text": "so", "how": "log"}
        client.send(
            {"id": 9, "method": "tools/call", "params": {"name": TELL, "arguments": arguments}}
        )
        async with asyncio.timeout(5):
            headers, body = await client.receive()
        assert headers["status"] == "200"
        assert b"so" in body
        assert house.gateway.kernel.in_flight == 0
        client.close()


async def test_a_prepared_call_that_is_not_answered_in_time_ends(tmp_path: Path) -> None:
    """Also where no other call was sent for so long that nobody looks at a clock any more."""
    limit_s = 0.2
    async with prepared_house(tmp_path, limits={"call_timeout_s": limit_s}) as house:
        client = await house.client()
        await house.warm(client)
        link: Any = _line(house)._link
        async with asyncio.timeout(5):
            while link._clock._timer is not None:
                await asyncio.sleep(limit_s / 4)
            assert await house.served(client, TELL, "so", "never") == ("upstream_timeout", True)
        assert house.gateway.kernel.in_flight == 0
        assert not link._pending
        client.close()
