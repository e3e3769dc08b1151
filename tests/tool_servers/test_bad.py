"""Each way of misbehaving is what its name says, and bounded."""

from __future__ import annotations

import asyncio
import signal

import aiohttp
import pytest

from tests.tool_servers.bad import HTTP_MODES, MODES
from tests.tool_servers.drive import DEADLINE, Child, listening, started

CALL = {"name": "echo", "arguments": {"message": "hi"}}
SMALL = ("--bytes", str(1024 * 1024), "--seconds", "30")


async def _status(child: Child) -> int:
    async with asyncio.timeout(DEADLINE):
        return await child.process.wait()


@pytest.mark.parametrize(
    ("mode", "status"), [("exit-at-start", 2), ("exit-after-hello", 3), ("exit-in-call", 4)]
)
async def test_it_leaves_at_the_named_moment(mode: str, status: int) -> None:
    async with started("bad", mode, *SMALL) as child:
        if mode != "exit-at-start":
            await child.hello()
        if mode == "exit-in-call":
            await child.ask("tools/call", CALL)
        assert await _status(child) == status
        assert await child.line() == ""


async def test_half_a_frame_is_all_that_comes_before_the_end() -> None:
    async with started("bad", "half-frame", *SMALL) as child:
        await child.hello()
        await child.ask("tools/call", CALL)
        line = await child.line()
        assert line.startswith('{"jsonrpc"')
        assert not line.endswith("}\n")
        assert await _status(child) == 5


@pytest.mark.parametrize(
    ("mode", "method"), [("hang", "initialize"), ("silent-call", "tools/call")]
)
async def test_it_hears_and_says_nothing_until_stdin_closes(mode: str, method: str) -> None:
    async with started("bad", mode, *SMALL) as child:
        if mode == "silent-call":
            await child.hello()
        await child.ask(method, CALL)
        assert await child.end() == 0
        assert await child.line() == ""


async def test_a_flood_ends_and_the_server_answers_again() -> None:
    async with started("bad", "flood", *SMALL) as child:
        await child.hello()
        await child.request("tools/list")
        assert await child.text("echo", message="hi") == "hi"
        assert len(child.seen) > 900


async def test_a_line_without_an_end_has_as_many_bytes_as_were_ordered() -> None:
    async with started("bad", "long-line", *SMALL) as child:
        await child.hello()
        await child.ask("tools/call", CALL)
        assert child.process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            data = await child.process.stdout.readexactly(1024 * 1024)
        assert data == b"x" * (1024 * 1024)


async def test_sigterm_and_the_end_of_stdin_do_not_end_the_stubborn_one() -> None:
    async with started("bad", "ignore-sigterm", "--seconds", "3") as child:
        await child.hello()
        child.process.send_signal(signal.SIGTERM)
        assert await child.text("echo", message="still here") == "still here"
        # Only its own alarm ends it.
        assert await child.end() == -signal.SIGALRM


async def test_garbage_surrounds_right_answers() -> None:
    async with started("bad", "garbage", *SMALL) as child:
        key = await child.ask("tools/call", CALL)
        assert child.process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            lines = [await child.process.stdout.readline() for _ in range(10)]
        assert lines[0] == b"not json\n"
        assert lines[6] == b"\xff\xfe\x00\n"
        assert f'"id": {key}, "result": {{"content"'.encode() in lines[9]


async def test_strangers_come_before_the_right_answer() -> None:
    async with started("bad", "unknown-ids", *SMALL) as child:
        key = await child.ask("ping")
        ids = [(await child.read())["id"] for _ in range(8)]
        assert ids == ["nobody-asked", 10**12, -1, None, 1.5, [1], {"a": 1}, key]


async def test_one_request_gets_two_answers() -> None:
    async with started("bad", "twice", *SMALL) as child:
        key = await child.ask("tools/call", CALL)
        answers = [await child.read(), await child.read()]
        assert [each["id"] for each in answers] == [key, key]
        assert answers[0] != answers[1]


async def test_an_answer_may_be_a_result_and_an_error_at_once() -> None:
    async with started("bad", "both", *SMALL) as child:
        answer = await child.answer_to(await child.ask("tools/call", CALL))
        assert {"result", "error"} <= set(answer)


async def test_hello_can_be_late_refused_or_of_another_age() -> None:
    async with started("bad", "slow-hello", *SMALL) as child:
        assert (await child.hello())["serverInfo"]["name"] == "bad"
    async with started("bad", "wrong-version", *SMALL) as child:
        assert (await child.hello())["protocolVersion"] == "1999-01-01"
    async with started("bad", "refuses-hello", *SMALL) as child:
        assert (await child.refused("initialize", {}))["message"] == "not today"


async def test_it_can_close_its_mouth_and_live_on() -> None:
    async with started("bad", "closes-stdout", *SMALL) as child:
        await child.hello()
        await child.request("tools/list")
        assert await child.line() == ""
        assert child.process.returncode is None


async def test_a_number_can_be_longer_than_anybody_reads() -> None:
    async with started("bad", "endless-number", *SMALL) as child:
        await child.hello()
        await child.ask("tools/list")
        assert "1" * 5000 in await child.line()


async def test_it_can_stop_reading_so_that_the_pipe_fills() -> None:
    async with started("bad", "never-reads", *SMALL) as child:
        await child.hello()
        await child.request("tools/list")
        assert child.process.stdin is not None
        child.process.stdin.write(b"x" * (4 * 1024 * 1024))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await child.process.stdin.drain()


async def test_a_mode_that_only_one_transport_has_is_refused_on_the_other() -> None:
    async with started("bad", "twice", "--http", "0") as child:
        assert await _status(child) == 2
    assert "hang" in {*MODES} & {*HTTP_MODES}


@pytest.mark.parametrize("mode", sorted(HTTP_MODES))
async def test_over_http_no_mode_gives_a_usable_answer(mode: str) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    limit = aiohttp.ClientTimeout(total=1 if mode == "hang" else DEADLINE)
    async with listening("bad", mode, *SMALL) as url, aiohttp.ClientSession(timeout=limit) as http:
        data, broken = b"", False
        try:
            async with http.post(url, json=asked) as answer:
                data = await answer.read()
        except (aiohttp.ClientError, TimeoutError):
            broken = True
        assert broken == (mode in ("hang", "half-frame", "close", "not-http"))
        assert not data.startswith(b'{"jsonrpc":"2.0","id":1')
        assert len(data) <= 2 * 1024 * 1024
