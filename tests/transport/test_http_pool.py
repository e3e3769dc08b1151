from __future__ import annotations

import asyncio
import errno
import socket

import pytest

from gatewright.transport import http_dial, http_pool
from gatewright.transport.http_client_connection import HttpClientConnection
from gatewright.transport.http_fault import Fault
from gatewright.transport.http_pool import HttpPool
from gatewright.transport.http_request import POST, Target
from tests.transport.collecting import whole, within
from tests.transport.http_peers import ScriptedServer, Turn, answering, json_answer


def pool_for(server: ScriptedServer, keep_alive_s: float = 4.0, most: int = 8) -> HttpPool:
    return HttpPool(Target(server.url), True, keep_alive_s, lambda: most)


async def ask(pool: HttpPool, caller: HttpClientConnection, body: bytes = b"{}") -> bytes:
    answer = caller.ask(pool.target.spell(POST, {}, len(body)), body, 1000)
    return await within(whole(answer))


async def test_the_connection_used_last_is_used_next() -> None:
    async with answering(json_answer(b"{}")) as server:
        pool = pool_for(server)
        first, second = [await within(pool.take(None)) for _ in range(2)]
        for caller in (first, second):
            await ask(pool, caller)
            pool.give(caller)
        assert await within(pool.take(None)) is second
        assert await within(pool.take(None)) is first
        await within(pool.close())


async def test_only_an_answered_connection_is_kept() -> None:
    async with answering(json_answer(b"{}")) as server:
        pool = pool_for(server)
        unasked = await within(pool.take(None))
        pool.give(unasked)
        caller = await within(pool.take(None))
        assert caller is not unasked
        caller.ask(pool.target.spell(POST, {}, 2), b"{}", 1000)
        pool.give(caller)
        assert await within(pool.take(None)) is not caller
        await within(pool.close())


async def test_idle_connections_go_one_after_the_other() -> None:
    async with answering(json_answer(b"{}")) as server:
        pool = pool_for(server, keep_alive_s=0.1)
        callers = [await within(pool.take(None)) for _ in range(3)]
        for caller in callers:
            await ask(pool, caller)
            pool.give(caller)
        for caller in callers:
            async with asyncio.timeout(20):
                while caller.usable():
                    await asyncio.sleep(0.01)
        fresh = await within(pool.take(None))
        assert fresh not in callers
        await within(pool.close())


async def test_no_more_connections_are_open_than_allowed_and_the_rest_wait_in_line() -> None:
    async with answering(json_answer(b"{}")) as server:
        pool = pool_for(server, most=2)
        first, second = [await within(pool.take(None)) for _ in range(2)]
        waiting = [asyncio.ensure_future(pool.take(None)) for _ in range(2)]
        with pytest.raises(Fault, match="in time") as caught:
            await within(pool.take(asyncio.get_running_loop().time() + 0.05))
        assert caught.value.not_sent is True
        await ask(pool, first)
        pool.give(first)
        assert await within(waiting[0]) is first
        waiting[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting[1]
        pool.give(second)
        again = await within(pool.take(None))
        assert again is not second
        await within(pool.close())


async def test_a_connection_that_the_server_closed_is_not_lent_again() -> None:
    hang_up = asyncio.Event()

    async def script(turn: Turn) -> None:
        await turn.say(json_answer(b"{}"))
        await hang_up.wait()
        turn.writer.close()

    async with ScriptedServer(script) as server:
        pool = pool_for(server)
        caller = await within(pool.take(None))
        await ask(pool, caller)
        pool.give(caller)
        hang_up.set()
        async with asyncio.timeout(20):
            while caller.usable():
                await asyncio.sleep(0)
        assert await within(pool.take(None)) is not caller
        await within(pool.close())


async def test_a_closed_pool_lends_nothing_and_keeps_nothing() -> None:
    async with answering(json_answer(b"{}")) as server:
        pool = pool_for(server)
        lent = await within(pool.take(None))
        answer = lent.ask(pool.target.spell(POST, {}, 2), b"{}", 1000)
        await within(pool.close())
        with pytest.raises(Fault) as lost:
            await within(whole(answer))
        assert lost.value.kind == "broken"
        pool.give(lent)
        with pytest.raises(Fault, match="is closed") as caught:
            await within(pool.take(None))
        assert (caught.value.kind, caught.value.not_sent) == ("unreachable", True)
        await within(pool.close())


async def test_a_place_in_line_that_is_given_up_blocks_nobody() -> None:
    async with answering(json_answer(b"{}")) as server:
        pool = pool_for(server, most=1)
        first = await within(pool.take(None))
        waiting = [asyncio.ensure_future(pool.take(None)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        pool.give(first)  # to the second
        waiting[1].cancel()  # which has it by now, and does not want it any more
        third = await within(waiting[2])
        assert pool.ready() is None, "all that may be are under way"
        waiting.append(asyncio.ensure_future(pool.take(None)))
        await asyncio.sleep(0)
        waiting[3].cancel()
        assert await ask(pool, third)
        pool.give(third)
        assert pool.ready() is third
        pool.give(third)
        await within(pool.close())


async def test_a_bound_that_changes_holds_from_then_on() -> None:
    most = 1
    async with answering(json_answer(b"{}")) as server:
        pool = HttpPool(Target(server.url), True, 4.0, lambda: most)
        lent = [await within(pool.take(None))]
        waiting = [asyncio.ensure_future(pool.take(None)) for _ in range(3)]
        await asyncio.sleep(0)
        most = 3
        waiting.append(asyncio.ensure_future(pool.take(None)))
        done, _ = await within(asyncio.wait(waiting[:2]))
        lent += [one.result() for one in done]
        await asyncio.sleep(0.05)
        assert not waiting[2].done()
        most = 1
        pool.give(lent.pop())
        pool.give(lent.pop())
        await asyncio.sleep(0.05)
        assert not waiting[2].done()
        pool.give(lent.pop())
        pool.give(await within(waiting[2]))
        pool.give(await within(waiting[3]))
        await within(pool.close())


async def test_a_server_that_refuses_connections_for_long_is_not_reachable_though_one_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with answering(json_answer(b"{}")) as server:
        pool = pool_for(server)
        lent = await within(pool.take(None))
        server._server.close()
        with pytest.raises(Fault):
            await within(pool.take(None))
        found = [pool.reachable]
        monkeypatch.setattr(http_pool, "REFUSED_S", 0.0)
        found.append(pool.reachable)
        await ask(pool, lent)
        pool.give(lent)
        assert [*found, pool.reachable] == [True, False, True]
        await within(pool.close())


async def test_a_server_is_reachable_as_long_as_any_connection_is_open() -> None:
    async with answering(json_answer(b"{}")) as server:
        pool = pool_for(server)
        found = [pool.reachable]
        lent = await within(pool.take(None))
        found.append(pool.reachable)
        await ask(pool, lent)
        pool.give(lent)
        found.append(pool.reachable)
        lent.abort()
        found.append(pool.reachable)
        assert found == [False, True, True, False]
        await within(pool.close())


async def test_connections_that_cannot_be_opened_from_here_say_nothing_of_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Too many open files here, or its name is not found for a moment."""
    monkeypatch.setattr(http_pool, "REFUSED_S", 0.0)
    troubles = [OSError(errno.EMFILE, "full"), socket.gaierror(socket.EAI_AGAIN, "no answer")]

    async def reach_nothing(*_: object) -> None:
        raise troubles.pop()

    async with answering(json_answer(b"{}")) as server:
        pool = pool_for(server)
        lent = await within(pool.take(None))
        monkeypatch.setattr(http_dial, "reach_host", reach_nothing)
        for _ in range(2):
            with pytest.raises(Fault) as caught:
                await within(pool.take(None))
            assert (caught.value.kind, caught.value.here) == ("unreachable", True)
        assert pool.reachable
        pool.give(lent)
        await within(pool.close())
