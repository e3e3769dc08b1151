"""What becomes of one message to a server of HTTP+SSE: the connection is everybody's, and goes on."""

from __future__ import annotations

import asyncio
import errno
import json

import pytest

from gatewright.mcp.client.outgoing import question
from gatewright.mcp.protocol.mcp_client import INITIALIZED
from gatewright.mcp.wire.jsonrpc import notification
from gatewright.transport import http_dial, http_pool, session_liveness
from gatewright.transport.posted_messages import MEANS_NOTHING
from tests.transport.http_peers import Turn, json_answer
from tests.transport.sse_peers import Choosy, Connect, Losing, SseServer, call, errors, nobody


@pytest.mark.parametrize("status", [b"401 Unauthorized", b"404 Not Found", b"410 Gone"])
async def test_a_session_or_token_that_is_gone_ends_the_pipe(
    connected: Connect, status: bytes
) -> None:
    async with SseServer(answer=json_answer(b"{}", status)) as server:
        pipe, collector = await connected(server)
        pipe.send(b"{}")
        assert await collector.end() == f"a message was refused: HTTP {status[:3].decode()}"


REQUEST = call(17)


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer t"}])
@pytest.mark.parametrize("status", [b"400 Bad Request", b"403 Forbidden", b"413 Too Large"])
async def test_a_message_that_is_refused_for_what_it_is_ends_no_others_calls(
    connected: Connect, status: bytes, headers: dict[str, str]
) -> None:
    """A proxy takes no body of more than a mebibyte, and one caller ended the calls of all by that."""
    async with Choosy(b"x", status) as server:
        pipe, collector = await connected(server, headers=headers)
        for message in (REQUEST, b'{"jsonrpc":"2.0","method":"x"}', b'{"id":"x"}', b"2"):
            pipe.send(message)
        await collector.until(lambda: b"2" in collector.messages)
        (said,) = errors(collector.messages)
        assert (said["id"], said["error"]["code"]) == (17, -32000)
        assert status[:3].decode() in said["error"]["message"]
        assert pipe._end.reason is None


@pytest.mark.parametrize("status", [b"400 Bad Request", b"403 Forbidden"])
async def test_a_session_that_takes_nothing_any_more_ends_the_pipe(
    connected: Connect, status: bytes
) -> None:
    """Its stream may be open for ever, on the side of whom nobody told of the end, and each call was refused from then on."""
    async with SseServer() as server:
        pipe, collector = await connected(server)
        server.answer = json_answer(b"No transport found for sessionId", status)
        pipe.send(REQUEST)
        assert await collector.end() == f"a message was refused: HTTP {status[:3].decode()}"
        assert errors(collector.messages) == []


async def test_a_server_that_takes_no_cancellation_keeps_its_connection(connected: Connect) -> None:
    """One caller who went away ended the calls of all: what is asked by is a cancellation as well."""
    async with Choosy(b"cancelled", b"400 Bad Request") as server:
        pipe, collector = await connected(server)
        pipe.send(notification("notifications/cancelled", {"requestId": 17}))
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)
        assert len(server.posted) == 2


async def test_a_server_that_does_not_take_that_it_is_initialized_is_none(
    connected: Connect,
) -> None:
    """It would refuse each request from then on."""
    async with SseServer(answer=json_answer(b"{}", b"429 Too Many Requests")) as server:
        pipe, collector = await connected(server)
        pipe.send(INITIALIZED)
        assert await collector.end() == "a message was refused: HTTP 429"


async def test_a_call_that_has_the_words_of_being_initialized_in_it_ends_no_others_calls(
    connected: Connect,
) -> None:
    """Its caller writes the arguments, and whatever is refused for its length."""
    async with Choosy(b"x", b"413 Too Large") as server:
        pipe, collector = await connected(server)
        arguments = {"method": "notifications/initialized"}
        pipe.send(question(17, "tools/call", {"name": "x", "arguments": arguments}))
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)
        (said,) = errors(collector.messages)
        assert said["id"] == 17


@pytest.mark.parametrize("status", [b"400 Bad Request", b"403 Forbidden"])
async def test_who_refuses_a_message_and_closes_its_connection_ends_no_others_calls(
    connected: Connect, status: bytes
) -> None:
    """Unsaid, so that what was asked next came upon a connection that was none any more."""

    class Closing(Choosy):
        async def _answer(self, turn: Turn) -> None:
            if self.refused not in turn.body:
                await super()._answer(turn)
                return
            turn.writer.write(json_answer(b"{}", self.status))
            turn.writer.close()
            raise ConnectionError

    async with Closing(b"x", status) as server:
        pipe, collector = await connected(server)
        pipe.send(REQUEST)
        pipe.send(b"2")
        await collector.until(
            lambda: b"2" in collector.messages and len(errors(collector.messages)) > 0
        )
        (said,) = errors(collector.messages)
        assert said["id"] == 17


async def test_an_answer_that_is_refused_is_an_error_to_the_server_that_waits_for_it(
    connected: Connect,
) -> None:
    async with Choosy(b'"result"', b"413 Too Large") as server:
        pipe, _ = await connected(server)
        ident = json.dumps('q","result":')
        pipe.send(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % ident.encode())
        async with asyncio.timeout(5):
            while len(server.posted) < 2:
                await asyncio.sleep(0.01)
        said = json.loads(server.posted[1])
        assert (said["id"], said["error"]["code"]) == ('q","result":', -32000)
        assert "413" in said["error"]["message"]


async def test_a_token_that_is_refused_later_ends_the_pipe(connected: Connect) -> None:
    async with SseServer() as server:
        pipe, collector = await connected(server, headers={"authorization": "Bearer t"})
        server.answer = json_answer(b"{}", b"403 Forbidden")
        pipe.send(b'{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{}}')
        assert await collector.end() == "a message was refused: HTTP 403"


@pytest.mark.parametrize("status", [b"406 No", b"500 Broken", b"501 No", b"302 Found", b"409 No"])
async def test_a_status_that_may_be_of_all_ends_the_pipe_only_where_nothing_is_taken(
    connected: Connect, status: bytes
) -> None:
    """Servers on the Java SDK answer 500 to whatever goes wrong with one message."""
    losing = Losing()
    async with Choosy(b"x", status) as server:
        pipe, collector = await connected(server, lost=losing)
        pipe.send(REQUEST)
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)
        if status[:1] == b"5":
            assert await losing.one() == (17, f"HTTP {status[:3].decode()}", True)
        else:
            await collector.until(lambda: bool(errors(collector.messages)))
        server.refused = b""
        pipe.send(REQUEST)
        assert await collector.end() == f"a message was refused: HTTP {status[:3].decode()}"


@pytest.mark.parametrize("status", [b"502 Bad Gateway", b"503 Busy"])
async def test_trouble_of_a_moment_is_that_of_the_requests_that_meet_it(
    connected: Connect, status: bytes
) -> None:
    """The one that was refused may have been passed on: that nobody knows is said, and no error of the server."""
    losing = Losing()
    async with Choosy(b"", status) as server:
        pipe, collector = await connected(server, lost=losing)
        pipe.send(REQUEST)
        assert await losing.one() == (17, f"HTTP {status[:3].decode()}", True)
        server.refused = b"nothing"
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)
        assert errors(collector.messages) == []


async def test_a_call_whose_post_a_proxy_gave_up_is_answered_on_the_stream(
    connected: Connect,
) -> None:
    """Where the server answers the POST when the call is done, a proxy answers 504 after a minute."""
    async with Choosy(b"x", b"504 Gateway Timeout") as server:
        pipe, collector = await connected(server)
        pipe.send(REQUEST)
        await collector.until(lambda: REQUEST in collector.messages)
        assert errors(collector.messages) == []


class Breaking(SseServer):
    """Breaks the connection of what has this in it, so many times."""

    def __init__(self, breaks: bytes, times: int) -> None:
        super().__init__()
        self.breaks, self.times = breaks, times

    async def _answer(self, turn: Turn) -> None:
        if self.breaks in turn.body and self.times and not turn.head.startswith(b"GET"):
            self.times -= 1
            self.posted.append(turn.body)
            turn.reset()
            raise ConnectionError
        await super()._answer(turn)


async def test_a_call_whose_connection_breaks_is_lost_and_no_other(connected: Connect) -> None:
    """It is not sent again: the server may have begun with it."""
    losing = Losing()
    async with Breaking(b"x", 1) as server:
        pipe, collector = await connected(server, lost=losing)
        pipe.send(REQUEST)
        ident, why, sent = await losing.one()
        assert (ident, sent) == (17, True)
        assert "closed the connection" in why
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)
        assert server.posted == [REQUEST, b"2"]


async def test_a_call_that_finds_no_connection_was_not_sent_and_no_other_is_lost(
    connected: Connect,
) -> None:
    losing = Losing()
    async with SseServer() as server:
        pipe, collector = await connected(server, lost=losing)
        server._server.close()
        pipe.send(REQUEST)
        assert (await losing.one())[::2] == (17, False)
        await server.event(b"9")
        await collector.until(lambda: b"9" in collector.messages)


async def test_what_is_no_call_goes_once_more_where_its_connection_breaks(
    connected: Connect,
) -> None:
    """The server waits for an answer, and its call does."""
    async with Breaking(b'"q"', 1) as server:
        pipe, collector = await connected(server)
        answer = b'{"jsonrpc":"2.0","id":"q","result":{}}'
        pipe.send(answer)
        await collector.until(lambda: answer in collector.messages)
        assert server.posted == [answer, answer]


async def test_a_server_to_which_nobody_can_say_that_it_is_initialized_is_none(
    connected: Connect,
) -> None:
    async with Breaking(b"", 2) as server:
        pipe, collector = await connected(server)
        pipe.send(INITIALIZED)
        assert "closed the connection" in await collector.end()


@pytest.mark.parametrize("status", [b"502 Bad Gateway", b"503 Service Unavailable"])
async def test_where_nothing_gets_through_for_long_the_connection_ends_though_its_stream_is_open(
    status: bytes, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood as connected for ever, and each call failed."""
    losing = Losing()
    async with Choosy(b"", status, passes_on=False) as server:
        pipe, collector = await connected(server, lost=losing)
        pipe.send(call(17))
        await losing.one()
        pipe.send(call(18))
        async with asyncio.timeout(10):
            while len(losing.found) < 2:
                await asyncio.sleep(0.005)
        assert pipe._end.reason is None
        monkeypatch.setattr(session_liveness, "UNAVAILABLE_S", 0.0)
        pipe.send(call(19))
        assert await collector.end() == f"a message was refused: HTTP {status[:3].decode()}"
        assert len(losing.found) == 3


@pytest.mark.parametrize("heard", [False, True])
async def test_a_ping_is_no_sign_that_anything_gets_through(
    heard: bool, connected: Connect
) -> None:
    async with SseServer() as server:
        pipe, collector = await connected(server, lost=nobody)
        pipe._liveness._unreached.again()
        pipe._liveness._unavailable.again()
        said = b"notifications/message" if heard else b"ping"
        await server.event(b'{"method":"%b"}' % said)
        await collector.count(1)
        assert (
            pipe._liveness._unreached.last(0.0)
            is pipe._liveness._unavailable.last(0.0)
            is not heard
        )


async def test_a_server_that_takes_no_more_connections_for_long_ends_the_connection(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    losing = Losing()
    async with SseServer() as server:
        pipe, collector = await connected(server, lost=losing)
        pipe._upstream._pool._keep_alive_s = -1.0  # each message has a connection of its own
        server._server.close()
        pipe.send(call(17))
        ident, why, sent = await losing.one()
        assert (ident, sent) == (17, False)
        assert pipe._end.reason is None
        monkeypatch.setattr(session_liveness, "UNREACHED_S", 0.0)
        monkeypatch.setattr(http_pool, "REFUSED_S", 0.0)
        pipe.send(call(18))
        assert await collector.end() == why
        assert losing.found[1] == (18, why, False)


@pytest.mark.parametrize("status", [b"502 Bad Gateway", b"503 Service Unavailable"])
async def test_one_callers_calls_that_are_refused_for_long_end_no_others(
    status: bytes, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that a proxy cannot take, made again and again while all others wait for their answers."""
    monkeypatch.setattr(session_liveness, "UNAVAILABLE_S", 0.0)
    losing = Losing()
    async with Choosy(b"x", status) as server:
        pipe, collector = await connected(server, lost=losing)
        for ident in range(17, 21):
            pipe.send(call(ident))
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)
        async with asyncio.timeout(10):
            while len(losing.found) < 4 or MEANS_NOTHING not in server.posted:
                await asyncio.sleep(0.005)
        pipe.send(b"3")
        await collector.until(lambda: b"3" in collector.messages)
        assert pipe._end.reason is None


async def test_connections_that_cannot_be_opened_from_here_say_nothing_of_the_server(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many open files here, and the calls of all were cut."""
    monkeypatch.setattr(session_liveness, "UNREACHED_S", 0.0)
    monkeypatch.setattr(http_pool, "REFUSED_S", 0.0)
    losing = Losing()

    async def reach_nothing(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    async with SseServer() as server:
        pipe, collector = await connected(server, lost=losing)
        pipe._upstream._pool._keep_alive_s = -1.0
        with monkeypatch.context() as full:
            full.setattr(http_dial, "reach_host", reach_nothing)
            pipe.send(call(17))
            pipe.send(call(18))
            async with asyncio.timeout(10):
                while len(losing.found) < 2:
                    await asyncio.sleep(0.005)
        assert losing.found[1][::2] == (18, False)
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)


async def test_refused_connections_are_no_sign_of_a_server_that_is_unavailable(
    connected: Connect,
) -> None:
    losing = Losing()
    async with Choosy(b"", b"503 Busy") as server:
        pipe, _ = await connected(server, lost=losing)
        pipe._liveness._unreached.again()
        assert pipe._liveness._unreached._since is not None
        pipe._liveness._unreached._since -= 60.0
        pipe.send(REQUEST)
        assert await losing.one() == (17, "HTTP 503", True)
        await asyncio.sleep(0.05)
        assert pipe._end.reason is None
