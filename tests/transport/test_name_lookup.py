"""Name servers that are silent hold up nobody but who asks them."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from gatewright.transport import name_lookup
from gatewright.transport.base import Limits
from gatewright.transport.name_lookup import look_up
from gatewright.transport.safe_fetch import Addresses, PublicOnly, addresses_of
from gatewright.transport.websocket import connect
from tests.transport.collecting import Collector, within

FOUND = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 1))]


class Silent:
    """`getaddrinfo` that answers to no name until it is told to."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.asked: list[str] = []
        self._plain = socket.getaddrinfo

    def __call__(self, host: str, *more: Any, **options: Any) -> Any:
        if options.get("flags", 0) & socket.AI_NUMERICHOST:
            return self._plain(host, *more, **options)
        self.asked.append(host)
        assert self.answers.wait(30)
        if host.startswith("bad"):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return FOUND


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    found = Silent()
    monkeypatch.setattr(socket, "getaddrinfo", found)
    yield found
    found.answers.set()


async def give_up(*work: Any) -> None:
    waiting = [asyncio.ensure_future(one) for one in work]
    await asyncio.sleep(0.01)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_silence_leaves_the_threads_of_the_loop_to_others(silent: Silent) -> None:
    """However often it is given up and tried again, and whoever asks."""
    for _ in range(20):
        await give_up(
            look_up("dead.test", 80),
            addresses_of("dead.test"),
            PublicOnly().resolve("dead.test", 80),
            Addresses().resolve("dead.test", 80),
            connect("ws://dead.test/", receiver=Collector(), limits=Limits()),
        )
    assert await within(asyncio.to_thread(lambda: 1)) == 1
    assert len(silent.asked) == len(set(name_lookup._running)) <= 3  # by port and kind


async def test_one_question_is_asked_once_and_all_have_its_answer(silent: Silent) -> None:
    asking = [asyncio.ensure_future(look_up("slow.test", 80)) for _ in range(5)]
    bad = [asyncio.ensure_future(look_up("bad.test", 80)) for _ in range(2)]
    await asyncio.sleep(0)
    asking[0].cancel()
    await asyncio.sleep(0)
    silent.answers.set()
    assert await within(asyncio.gather(*asking[1:])) == [FOUND] * 4
    for one in bad:
        with pytest.raises(socket.gaierror):
            await within(one)
    assert sorted(silent.asked) == ["bad.test", "slow.test"]
    assert not name_lookup._running


async def test_so_many_names_and_no_more(silent: Silent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_lookup, "MOST", 2)
    asking = [asyncio.ensure_future(look_up(f"{n}.test", 80)) for n in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(OSError, match="too many names are being looked up"):
        await look_up("third.test", 80)
    assert await look_up("127.0.0.1", 80)
    assert (await look_up("::1", 80))[0][4][0] == "::1"
    silent.answers.set()
    await within(asyncio.gather(*asking))
    assert await within(look_up("third.test", 80)) == FOUND


async def test_without_a_thread_it_is_an_error_as_any_other(
    silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", full)
    with pytest.raises(OSError, match="no thread is left"):
        await look_up("some.test", 80)
    assert not name_lookup._running


@pytest.mark.parametrize("host", ["a..b", "x" * 300 + ".test", "\udc80", "ä" * 100])
async def test_what_is_no_name_is_an_error_that_callers_expect(host: str) -> None:
    with pytest.raises((OSError, ValueError)):
        await within(look_up(host, 80))


async def test_an_http_session_finds_names_by_it(silent: Silent) -> None:
    silent.answers.set()
    connector = aiohttp.TCPConnector(resolver=Addresses())
    async with aiohttp.ClientSession(connector=connector) as session:
        with pytest.raises(aiohttp.ClientConnectorError):
            await within(session.get("http://some.test:1/"))
    assert silent.asked == ["some.test"]


async def test_names_that_callers_chose_leave_places_for_others(
    silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_lookup, "MOST_UNTRUSTED", 2)
    asking = [asyncio.ensure_future(look_up(f"{n}.test", 80, untrusted=True)) for n in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(OSError, match="too many names are being looked up"):
        await look_up("third.test", 80, untrusted=True)
    other = asyncio.ensure_future(look_up("server.test", 80))
    await asyncio.sleep(0)
    silent.answers.set()
    assert await within(other) == FOUND
    await within(asyncio.gather(*asking))
    assert await within(look_up("third.test", 80, untrusted=True)) == FOUND
