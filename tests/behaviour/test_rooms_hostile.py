"""Rooms among enemies: frames and envelopes made to break things, and floods."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import random
from typing import Any

import pytest

from gatewright.mcpx.envelope import Flaw, read
from tests.rooms.foreign import SECONDS
from tests.rooms.hall import FULL, UNLIMITED, Hall, token_of

ENVELOPES = 10_000
CONNECTIONS = 60
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    "",
    "x" * 5000,
    "\u0000",
    "\ud7ff",
    [],
    {},
    [[]],
    {"a": {}},
]
ODD += [
    "system/welcome",
    "presence",
    "mcp/*",
    "*",
    "system:gateway",
    ["b"] * 50,
    "chat\n",
    "🂡" * 400,
]
SPLINTERS = [
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\\u",
    "\\ud800",
    "\u202e",
    " ",
    "\t",
    "1e9999",
    "null",
]


def hostile(dice: random.Random, number: int, sender: str) -> str:
    """One text frame of somebody who means no good; by far not all of them are wrong."""
    body: dict[str, Any] = {
        "protocol": "mcpx/v0.1",
        "id": f"f{number}",
        "from": sender,
        "kind": dice.choice(["chat", "mcp/request:tools/call:x", "mcp/response:x", "system/error"]),
        "payload": {"text": "x", "deep": [1, {"b": dice.random()}]},
    }
    for _ in range(dice.randrange(3)):
        name = dice.choice([*body, "to", "ts", "correlation_id", "extra"])
        body[name] = dice.choice(ODD)
    if dice.random() < 0.2:
        body.pop(dice.choice(list(body)))
    text = json.dumps(body, ensure_ascii=dice.random() < 0.5)
    for _ in range(dice.choice([0, 0, 1, 3])):
        at = dice.randrange(len(text) + 1)
        cut = dice.randrange(4)
        text = text[:at] + dice.choice(SPLINTERS) + text[at + cut :]
    if dice.random() < 0.02:
        text = '{"a":' * 2000 + text
    return "".join(one for one in text if not 0xD800 <= ord(one) < 0xE000)


async def test_ten_thousand_hostile_envelopes_are_answered_or_passed_on_one_by_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """MCPX-8.2-1, MCPX-8.1-4, MCPX-3-1: each has exactly one consequence, and whoever is beside notices nothing else."""
    dice = random.Random(7)
    async with Hall({"a": FULL, "b": FULL}, **UNLIMITED) as hall:
        a, b = await hall.all("a", "b")
        passed = 0
        for first in range(0, ENVELOPES, 500):
            frames = [hostile(dice, number, "a") for number in range(first, first + 500)]
            for one in frames:
                await a.raw(one)
            answers = await a.fence()
            assert len(answers) == len(frames)
            refused = [one for one in answers if one["kind"] == "system/error"]
            passed += len(answers) - len(refused)
            assert all(one["from"] == "system:gateway" for one in refused)
            for one, answer in zip(frames, answers, strict=True):
                if answer["kind"] != "system/error":
                    assert json.dumps(answer) == json.dumps(json.loads(one))
                    assert not isinstance(read(one.encode()), Flaw)
        beside = await b.fence()
        assert len(beside) == passed + ENVELOPES // 500
        assert {one["from"] for one in beside} == {"a"}
        assert 0.1 < passed / ENVELOPES < 0.9
    assert caplog.records == []


async def test_frames_that_are_none_harm_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Raw bytes behind a good upgrade: the connection ends or goes on, and nothing else happens."""
    dice = random.Random(11)
    async with Hall({"a": FULL, "b": FULL}) as hall:
        b = await hall.guest("b")
        for number in range(CONNECTIONS):
            reader, writer = await asyncio.open_connection("127.0.0.1", hall.server.port)
            key = base64.b64encode(dice.randbytes(16)).decode()
            writer.write(
                f"GET /ws?topic=lobby HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\n"
                f"connection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n"
                f"authorization: Bearer {token_of('a')}\r\n\r\n".encode()
            )
            if number % 2:
                await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS)
            head = bytes([dice.choice([0x81, 0x01, 0x80, 0x82, 0x88, 0x89, 0xC1, 0xFF, 0x00])])
            sized = bytes([dice.choice([0x80, 0x85, 0xFE, 0xFF, 0x05, 0x00])])
            writer.write(head + sized + dice.randbytes(dice.randrange(200)))
            writer.write_eof()
            with contextlib.suppress(ConnectionResetError):
                await asyncio.wait_for(reader.read(), SECONDS)
            writer.close()
        await hall.gone(1)
        heard = await b.fence()
        assert {one["kind"] for one in heard} <= {"system/presence"}
        assert b.participants == {}
    assert caplog.records == []


async def test_a_flood_is_told_once_and_dropped_until_the_allowance_has_grown() -> None:
    """Decision C-31, `rate_limited`: the others hear what was permitted, and no more."""
    now, judged = 100.0, 0

    def clock() -> float:
        nonlocal judged
        judged += 1
        return now

    async with Hall({"a": FULL, "b": FULL}, messages_per_s=10, burst=20) as hall:
        hall.now = clock
        a, b = await hall.all("a", "b")
        for number in range(100):
            await a.chat(str(number))
        error = await a.error()
        assert error["payload"]["error"] == "rate_limited"
        async with asyncio.timeout(SECONDS):
            while judged < 100:
                await asyncio.sleep(0.005)
        now = 200.0
        heard = await a.fence()
        assert heard == []
        assert len([one for one in await b.fence() if one["from"] == "a"]) == 21
