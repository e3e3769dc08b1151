"""A proposal that asks for more than a page shows: read to its end on pages of its own, and approved there alone."""

from __future__ import annotations

import asyncio
import re
import threading
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from gatewright.console.whole_texts import MOST_CHARS
from gatewright.mcp.wire import jsonrpc
from gatewright.rooms.hub import Hub
from gatewright.rooms.in_process import Inside
from gatewright.rooms.participants.tool_responder import Tools
from tests.console.hostile import look_at
from tests.console.in_process import Client, Within, within

_NEXT = re.compile(r'<a rel="next" href="([^"]+)"')
_WHOLE = re.compile(r'name="whole" value="([^"]*)"')
LONG = "x" * MOST_CHARS + " and its end"
HIDES = "\u200b\u200c" * 300 + " and its end"
ESCAPES = "\x01\x02" * 300 + " and its end"


async def _proposed(console: Within, person: Client, said: str) -> dict[str, Any]:
    await person.api("POST", "/rooms/join", {"topic": "deploys"})
    hub = console.parts.ground.of(Hub)
    assert hub is not None
    bot = Inside(hub, topic="deploys", name="bot", responder=Tools("bot"))
    bot.sit()
    await bot.participant.welcomed()
    params = {"name": "demo__echo", "arguments": {"text": said}}
    bot.participant.propose("tools/call", params, to=["bot"])
    async with asyncio.timeout(20):
        while not (talk := (await person.api("GET", "/rooms/talk?topic=deploys")).json())[
            "proposals"
        ]:
            await asyncio.sleep(0.02)
    one: dict[str, Any] = talk["proposals"][0]
    return one


@pytest.mark.parametrize("said", [LONG, HIDES, ESCAPES])
async def test_it_is_read_to_its_end_and_approved_there(tmp_path: Path, said: str) -> None:
    async with within(tmp_path, "[rooms]\n") as console:
        boss = await console.person("operator", "boss")
        one = await _proposed(console, boss, said)
        assert not one["whole"]
        room = (await boss.get("/rooms?topic=deploys")).text
        assert 'value="approve"' not in room
        decision = {"topic": "deploys", "proposal": one["id"], "do": "approve"}
        decision["digest"] = one["digest"]
        refused = await boss.api("POST", "/rooms/proposals", decision)
        assert (refused.status, refused.json()["code"]) == (409, "not_shown")
        found = re.search(r'href="(/rooms/proposal\?[^"]+)"', room)
        way, shown = unescape(found[1]) if found else "", list[str]()
        while way:
            page = (await boss.get(way)).text
            assert look_at(page).wrong == []
            shown.append(page.partition("<pre>")[2].partition("</pre>")[0])
            following = _NEXT.search(page)
            way = unescape(following[1]) if following else ""
            assert ('value="approve"' in page) == (not way)
        assert " and its end" in "".join(shown)
        assert "are not named" not in "".join(shown)
        proof = _WHOLE.search(page)
        assert proof is not None
        assert f'name="digest" value="{one["digest"]}"' in page
        decided = await boss.form("/rooms/decide", {**decision, "whole": proof[1]})
        assert "there is no tool" in decided.text  # which the bot has said, so it was asked


async def test_what_a_page_shows_is_approved_in_the_room(tmp_path: Path) -> None:
    async with within(tmp_path, "[rooms]\n") as console:
        boss = await console.person("operator", "boss")
        one = await _proposed(console, boss, "short\u202e")
        assert one["whole"]
        room = (await boss.get("/rooms?topic=deploys")).text
        assert 'value="approve"' in room
        assert f'name="digest" value="{one["digest"]}"' in room
        assert "U+202E" in room
        nothing = await boss.get("/rooms/proposal?topic=deploys&proposal=none")
        assert nothing.status == 404


async def test_what_is_long_is_gone_through_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may be megabytes was written out and digested on the loop with each look, and every call waited for it."""
    async with within(tmp_path, "[rooms]\n") as console:
        boss = await console.person("operator", "boss")
        one = await _proposed(console, boss, "x" * 200_000)
        real, threads = jsonrpc.encode, list[int]()

        def encode(value: Any) -> bytes:
            found = real(value)
            if len(found) > MOST_CHARS:
                threads.append(threading.get_ident())
            return found

        monkeypatch.setattr(jsonrpc, "encode", encode)
        of = f"topic=deploys&proposal={one['id']}"
        decision = {"topic": "deploys", "proposal": one["id"], "do": "approve"}
        unproven = {**decision, "digest": one["digest"]}
        for ask, status in (
            (boss.get("/rooms?topic=deploys"), 200),
            (boss.get("/rooms/part?topic=deploys"), 200),
            (boss.get(f"/rooms/proposal?{of}"), 200),
            (boss.api("GET", f"/rooms/proposals/text?{of}"), 200),
            (boss.api("POST", "/rooms/proposals", unproven), 409),
        ):
            threads.clear()
            assert (await ask).status == status
            assert threads
            assert threading.get_ident() not in threads
