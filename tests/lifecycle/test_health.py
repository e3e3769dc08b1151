"""How a server is: by its own word, by whether it answers, by its state."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.lifecycle import health as health_module
from gatewright.lifecycle.health import Health, bounded
from gatewright.mcp.client.failures import AnswerTooLong
from gatewright.mcp.client.link import ServerFailed
from gatewright.mcp.client.short_answers import SHORT_BYTES
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import ask, python, running, text

PING = "mgp/health/ping"
SPEAKS = Face(("lifecycle",))


async def asked(on: Supervisor, ident: str, method: str = PING) -> Any:
    return await Health().of(on.fleet.servers[ident], method, {})


@pytest.mark.parametrize("status", ["healthy", "degraded", "unhealthy"])
async def test_a_server_that_speaks_it_says_it_itself(status: str) -> None:
    """MGP-11.3-3"""
    async with running(python("living", "--mgp", "--status", status, id="s", face=SPEAKS)) as on:
        found = await asked(on, "s")
        assert (found.status, found.said["uptime_secs"]) == (status, 77)


async def test_a_word_that_there_is_not_counts_as_none() -> None:
    spec = python("living", "--mgp", "--status", "splendid", id="s", face=SPEAKS)
    async with running(spec) as on:
        found = await asked(on, "s")
        assert (found.status, found.said) == ("healthy", {})
        assert "ping" in text(await ask(on, "s__requests"))


@pytest.mark.parametrize("code", ["-32601", "-32602"])
async def test_a_server_that_refuses_what_it_negotiated_is_asked_in_mcp(code: str) -> None:
    """MGP-11.3-6"""
    spec = python("living", "--mgp", "--unsupported", code, id="s", face=SPEAKS)
    async with running(spec) as on:
        assert (await asked(on, "s", "other/method")).status == "healthy"
        assert '"ping"' in text(await ask(on, "s__requests"))


async def test_another_refusal_than_unsupported_is_no_health() -> None:
    spec = python("living", "--mgp", id="s", face=SPEAKS)
    async with running(spec) as on:
        assert (await asked(on, "s", "other/method")).status == "healthy"  # -32601: asked in MCP
    spec = python("living", "--mgp", "--unsupported", "-32603", id="s", face=SPEAKS)
    async with running(spec) as on:
        assert (await asked(on, "s", "other/method")).status == "unhealthy"


async def test_a_server_that_does_not_answer_is_unhealthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "ANSWER_S", 0.2)
    async with running(python("living", id="s")) as on:
        link = on.fleet.servers["s"].link
        assert link is not None

        async def silent(*_: Any, **__: Any) -> bytes:
            await asyncio.sleep(0.1)
            raise ServerFailed("no answer")

        monkeypatch.setattr(link, "fetch", silent)
        assert (await asked(on, "s")).status == "unhealthy"


async def test_many_who_ask_at_once_are_one_question() -> None:
    async with running(python("living", id="s")) as on:
        health, server = Health(), on.fleet.servers["s"]
        found = await asyncio.gather(*(health.of(server, PING, {}) for _ in range(50)))
        assert {one.status for one in found} == {"healthy"}
        assert text(await ask(on, "s__requests")).count('"ping"') == 1


def test_what_a_server_says_of_itself_is_bounded() -> None:
    """MGP-11.3-5"""
    assert bounded(None) == {}
    assert bounded({"n": 1, "b": True, "none": None, "list": [1], "object": {}}) == {
        "n": 1,
        "b": True,
        "none": None,
    }
    many = bounded({f"k{number}": number for number in range(1000)})
    assert len(many) == 64
    long = bounded({"x" * 500: "y" * 5000})
    assert [(len(name), len(value)) for name, value in long.items()] == [(64, 200)]
    assert "\x1b" not in str(bounded({"a\x1b[2J": "b\x1b[2J"}))


@pytest.mark.parametrize(("more", "given"), [((), 4.0), (("--mgp", "--deaf"), 2.0)])
async def test_a_plain_server_has_all_the_time_and_one_that_was_asked_in_mgp_what_is_left(
    more: tuple[str, ...], given: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(python("living", *more, id="s", face=SPEAKS)) as on:
        link = on.fleet.servers["s"].link
        assert link is not None
        asks, times = link.fetch, list[float]()

        async def fetch(
            method: str, params: dict[str, Any], timeout_s: float, *_: Any, most: int = 0
        ) -> bytes:
            times.append(timeout_s)
            return await asks(method, params, timeout_s, most=most)

        monkeypatch.setattr(link, "fetch", fetch)
        assert (await asked(on, "s")).status == "healthy"
        assert times == [2.0] * (len(more) > 0) + [given]


@pytest.mark.parametrize("more", [(), ("--mgp",)])
async def test_a_server_that_works_on_all_it_may_is_degraded_and_not_asked(
    more: tuple[str, ...],
) -> None:
    """It is not down: what it works on has an end."""
    async with running(python("living", *more, id="s", in_flight=1, face=SPEAKS)) as on:
        slow = asyncio.ensure_future(ask(on, "s__slow", {"seconds": 0.5}))
        await asyncio.sleep(0.1)
        assert (await asked(on, "s")).status == "degraded"
        await slow
        assert (await asked(on, "s")).status == "healthy"


@pytest.mark.parametrize("more", [b'"x"', b"[]", b"1e1", b"0"])
@pytest.mark.parametrize("size", [SHORT_BYTES - 100, 5_000_000])
async def test_of_an_answer_that_is_long_or_dear_nothing_is_decoded_and_its_server_is_asked_in_mcp(
    more: bytes, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MGP-11.3-5: whoever may ask how a server is would hold up everybody else by what it says."""
    async with running(python("living", "--mgp", id="s", face=SPEAKS)) as on:
        link = on.fleet.servers["s"].link
        assert link is not None
        raw = b'{"status":"degraded","more":[%b]}' % b",".join([more] * (size // (len(more) + 1)))
        asks, decoded = link.fetch, list[int]()

        async def fetch(
            method: str, params: Any, timeout_s: float, *_: Any, most: int = 0
        ) -> bytes:
            if method != PING:
                return await asks(method, params, timeout_s, most=most)
            if len(raw) > most:
                raise AnswerTooLong("more than is read")
            return raw

        monkeypatch.setattr(link, "fetch", fetch)
        decode = jsonrpc.decode
        monkeypatch.setattr(
            jsonrpc, "decode", lambda data: (decoded.__iadd__([len(data)]), decode(data))[1]
        )
        cheap = size < SHORT_BYTES and more not in {b"1e1", b"[]"}
        assert (await asked(on, "s")).status == ("degraded" if cheap else "healthy")
        assert max(decoded, default=0) < (SHORT_BYTES if cheap else 1000)
