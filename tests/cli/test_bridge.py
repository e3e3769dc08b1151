"""The bridge as a process, between a host on pipes and a gateway on a WebSocket."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from gatewright.cli.bridge import Bridge
from gatewright.cli.running import Endpoint
from gatewright.transport.base import Closed, Receiver
from tests.cli.bridge_parts import Gateway, ask, bridged, open_session, within
from tests.cli.shell import Shell


@pytest.fixture
async def gateway(shell: Shell) -> AsyncIterator[Gateway]:
    found = Gateway(shell)
    await found.start()
    yield found
    await found.stop()


async def test_messages_pass_both_ways_byte_by_byte(shell: Shell, gateway: Gateway) -> None:
    odd = '{ "id":1.00,"jsonrpc":"2.0","method":"tools/call","params":{"k":1e400,"k":"é\\ud83d"}}'
    async with bridged(shell) as host:
        connection = await gateway.accepted()
        await host.say(odd.encode(), b"not json")
        assert await within(connection.recv()) == odd
        assert await within(connection.recv()) == "not json"
        await connection.send(odd)
        assert await host.line() == odd.encode()
        assert await host.leave() == 0


async def test_the_connection_is_mcp_with_the_local_token(shell: Shell, gateway: Gateway) -> None:
    async with bridged(shell):
        connection = await gateway.accepted()
        assert connection.subprotocol == "mcp"
    (request,) = gateway.requests
    assert request.path == "/mcp"
    assert request.headers["Authorization"] == f"Bearer local-token-{gateway.port}"
    assert "Origin" not in request.headers


async def test_the_gateway_is_told_which_host_it_is_but_where_a_key_says_so(
    shell: Shell, gateway: Gateway
) -> None:
    for words in (["--as", "cursor"], ["--as", "cursor", "--key", "gw_x"]):
        async with bridged(shell, *words):
            await gateway.accepted()
    shown = [request.headers["Authorization"] for request in gateway.requests]
    assert shown == [f"Bearer local-token-{gateway.port}~cursor", "Bearer gw_x"]


def test_a_gateway_elsewhere_knows_no_hosts_of_this_machine(shell: Shell) -> None:
    done = shell.run("bridge", "--as", "cursor", "--url", "http://127.0.0.1:9/mcp")
    assert (done.code, done.out) == (2, "")
    assert "knows its callers by keys" in done.err


async def test_another_gateway_profile_and_key_can_be_named(shell: Shell, gateway: Gateway) -> None:
    url = f"http://127.0.0.1:{gateway.port}/mcp"
    async with bridged(shell, "--url", url, "--key", "gw_x", "--profile", "small"):
        await gateway.accepted()
    (request,) = gateway.requests
    assert request.path == "/mcp/small"
    assert request.headers["Authorization"] == "Bearer gw_x"


async def test_large_messages_and_many_of_them_arrive_whole_and_in_order(
    shell: Shell, gateway: Gateway
) -> None:
    large = json.dumps(ask(0, text="x" * (4 << 20)))
    async with bridged(shell) as host:
        connection = await gateway.accepted()
        for up, down in ((large, large), *((json.dumps(ask(n)),) * 2 for n in range(1, 300))):
            await host.say(up.encode())
            await connection.send(down)
        for number in range(300):
            assert json.loads(await within(connection.recv()))["id"] == number
            assert (await host.message())["id"] == number


async def test_a_lost_connection_answers_what_was_asked_and_a_new_one_serves_the_next(
    shell: Shell, gateway: Gateway
) -> None:
    async with bridged(shell) as host:
        connection = await gateway.accepted()
        await host.say(ask(1), ask("two"))
        await within(connection.recv())
        await within(connection.recv())
        await gateway.stop()
        for ident in (1, "two"):
            answer = await host.message()
            assert answer["id"] == ident
            assert "may or may not have run" in answer["error"]["message"]
            assert answer["error"]["data"]["reason"] == "upstream_unavailable"
        await host.say(ask(3))
        await gateway.start()
        again = await gateway.accepted()
        assert json.loads(await within(again.recv())) == ask(3)
        await again.send('{"jsonrpc":"2.0","id":3,"result":{}}')
        assert (await host.message())["id"] == 3
        assert gateway.requests[-1].headers["Authorization"] == f"Bearer local-token-{gateway.port}"


async def test_a_session_is_made_again_before_anything_else_is_said(
    shell: Shell, gateway: Gateway
) -> None:
    async with bridged(shell) as host:
        connection = await gateway.accepted()
        await open_session(host, connection)
        await connection.close(1001)
        await host.notes("connection lost")
        await host.say(ask(5))
        again = await gateway.accepted()
        opening = json.loads(await within(again.recv()))
        assert (opening["method"], opening["params"]) == (
            "initialize",
            {"protocolVersion": "2025-11-25"},
        )
        await again.send(json.dumps({"jsonrpc": "2.0", "id": opening["id"], "result": {}}))
        assert json.loads(await within(again.recv()))["method"] == "notifications/initialized"
        assert json.loads(await within(again.recv())) == ask(5)
        await again.send('{"jsonrpc":"2.0","id":5,"result":{}}')
        assert (await host.message())["id"] == 5


async def answer_opening(connection: ServerConnection, **answer: Any) -> None:
    """Answer the request that opens a session again."""
    opening = json.loads(await within(connection.recv()))
    assert opening["method"] == "initialize"
    await connection.send(json.dumps({"jsonrpc": "2.0", "id": opening["id"], **answer}))


async def test_an_opening_that_fails_is_tried_again_until_one_succeeds(
    shell: Shell, gateway: Gateway
) -> None:
    async with bridged(shell) as host:
        connection = await gateway.accepted()
        await open_session(host, connection)
        await connection.close(1001)
        for _ in range(3):
            dying = await gateway.accepted()
            await within(dying.recv())
            await dying.close(1001)
        await answer_opening(await gateway.accepted(), error={"code": -32000, "message": "full"})
        await host.notes("does not open the session again: full")
        again = await gateway.accepted()
        await answer_opening(again, result={})
        assert json.loads(await within(again.recv()))["method"] == "notifications/initialized"
        await host.say(ask(5))
        assert json.loads(await within(again.recv())) == ask(5)


async def test_while_the_session_is_refused_calls_are_told_why(
    shell: Shell, gateway: Gateway
) -> None:
    async with bridged(shell, "--wait", "0") as host:
        connection = await gateway.accepted()
        await open_session(host, connection)
        await connection.close(1001)
        await answer_opening(await gateway.accepted(), error={"code": -32000, "message": "full"})
        await host.notes("does not open the session again: full")
        await host.say(ask(5))
        answer = await host.message()
        assert answer["id"] == 5
        assert "full; nothing was sent" in answer["error"]["message"]


class Line:
    """A connection, or the pipe of the host, within this process."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.sent: list[Any] = []
        self.over = asyncio.Event()

    def send(self, message: bytes) -> None:
        if self.over.is_set():
            raise Closed("closed")
        self.sent.append(json.loads(message))

    def close(self) -> None:
        self.over.set()

    async def wait_closed(self) -> str:
        await self.over.wait()
        return "closed"

    async def stop(self, grace_s: float) -> None:
        self.close()

    def hear(self, **message: Any) -> None:
        """Let a message arrive."""
        self.receiver.message(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def fall(self) -> None:
        """End from the other side."""
        self.over.set()
        self.receiver.closed("closed by the peer")


class Lines:
    """What a bridge within this process connects to, in place of its own pipes and of a gateway. The second connection
    has no time for the answer to its opening."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host: Line
        self.made: asyncio.Queue[Line] = asyncio.Queue()
        self._times = iter([60, 0, 60])
        self._patch = monkeypatch
        monkeypatch.setattr("gatewright.cli.bridge.connect", self._connect)
        monkeypatch.setattr("gatewright.cli.bridge.open_stdio", self._open_stdio)

    async def _connect(self, url: str, *, receiver: Receiver, **_: Any) -> Line:
        self._patch.setattr("gatewright.cli.bridge.OPEN_S", next(self._times))
        self.made.put_nowait(line := Line(receiver))
        return line

    async def _open_stdio(self, receiver: Receiver, limits: Any) -> Line:
        self.host = Line(receiver)
        return self.host


async def test_the_end_and_the_late_frames_of_a_connection_that_was_given_up_count_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A connection that does not answer is closed, which it says when its closing frame was answered, or never was."""
    lines = Lines(monkeypatch)
    running = asyncio.create_task(
        Bridge(lambda: Endpoint("http://127.0.0.1:9/mcp"), wait_s=60).run()
    )
    first = await within(lines.made.get())
    lines.host.hear(**ask(0, "initialize"))
    first.hear(id=0, result={})
    first.fall()
    silent, good = [await within(lines.made.get()) for _ in range(2)]
    assert silent.over.is_set()
    lines.host.hear(**ask(1))
    good.hear(id=good.sent[0]["id"], result={})
    while good.sent[-1] != ask(1):
        await asyncio.sleep(0)
    silent.hear(id=1, result={"of": "nobody"})
    silent.receiver.closed("closed")
    lines.host.hear(**ask(2))
    assert good.sent[-1] == ask(2)
    lines.host.receiver.closed("end of input")
    for ident in (1, 2):
        good.hear(id=ident, result={})
    await within(running)
    assert [(one["id"], one["result"]) for one in lines.host.sent] == [(0, {}), (1, {}), (2, {})]


async def test_while_the_gateway_stays_away_every_question_is_answered(
    shell: Shell, gateway: Gateway
) -> None:
    async with bridged(shell, "--wait", "0.2") as host:
        await gateway.accepted()
        await gateway.stop()
        (shell.state / "gateway.json").unlink()
        await host.notes("connection lost")
        await host.say(ask(1), b'{"jsonrpc":"2.0","method":"notifications/x"}', ask(2))
        for ident in (1, 2):
            answer = await host.message()
            assert answer["id"] == ident
            assert "nothing was sent" in answer["error"]["message"]
            assert "gatewright serve" in answer["error"]["message"]
        await host.say(ask(3))
        assert (await host.message())["id"] == 3
        await gateway.start()
        connection = await gateway.accepted()
        await host.notes("connected again")
        await host.say(ask(4))
        assert json.loads(await within(connection.recv())) == ask(4)


async def test_a_question_of_the_gateway_and_its_answer_pass(
    shell: Shell, gateway: Gateway
) -> None:
    async with bridged(shell) as host:
        connection = await gateway.accepted()
        await connection.send(json.dumps(ask("s1", "elicitation/create")))
        assert await host.message() == ask("s1", "elicitation/create")
        await host.say({"jsonrpc": "2.0", "id": "s1", "result": {"action": "accept"}})
        answer = json.loads(await within(connection.recv()))
        assert answer["result"] == {"action": "accept"}


async def test_what_the_host_was_asked_is_taken_back_with_its_connection(
    shell: Shell, gateway: Gateway
) -> None:
    """Also what a gateway asked that did not open the session again."""
    async with bridged(shell) as host:
        connection = await gateway.accepted()
        await open_session(host, connection)
        await connection.send(json.dumps(ask("s1", "elicitation/create")))
        assert await host.message() == ask("s1", "elicitation/create")
        await connection.close(1001)
        gone = await host.message()
        assert (gone["method"], gone["params"]["requestId"]) == ("notifications/cancelled", "s1")
        second = await gateway.accepted()
        await second.send(json.dumps(ask("s2", "elicitation/create")))
        assert await host.message() == ask("s2", "elicitation/create")
        await second.close(1001)
        gone = await host.message()
        assert (gone["method"], gone["params"]["requestId"]) == ("notifications/cancelled", "s2")


async def test_when_the_host_leaves_it_still_gets_its_answers(
    shell: Shell, gateway: Gateway
) -> None:
    async with bridged(shell) as host:
        connection = await gateway.accepted()
        await host.say(ask(1))
        host.stdin.close()
        await within(connection.recv())
        await connection.send('{"jsonrpc":"2.0","id":1,"result":{}}')
        assert (await host.message())["id"] == 1
        assert await within(host.process.wait()) == 0
        await within(connection.wait_closed())
        assert connection.close_code == 1000


async def test_a_host_that_leaves_while_the_gateway_is_away_ends_the_bridge(
    shell: Shell, gateway: Gateway
) -> None:
    async with bridged(shell) as host:
        connection = await gateway.accepted()
        await host.say(ask(1))
        await within(connection.recv())
        await gateway.stop()
        assert (await host.message())["id"] == 1
        assert await host.leave() == 0
        await gateway.start()


@pytest.mark.parametrize(
    ("status", "code"),
    [(HTTPStatus.UNAUTHORIZED, 3), (HTTPStatus.FORBIDDEN, 6), (HTTPStatus.NOT_FOUND, 4)],
)
async def test_a_refused_connection_ends_with_its_exit_code_and_a_hint(
    shell: Shell, gateway: Gateway, status: HTTPStatus, code: int
) -> None:
    gateway.refusal = status
    async with bridged(shell) as host:
        assert await within(host.process.wait()) == code
        told = json.loads(await within(host.stderr.read()))["error"]
        assert f"HTTP {status.value}" in told["message"]
        assert told["hint"]
        assert await within(host.stdout.read()) == b""


async def test_nobody_at_the_named_port_is_exit_code_4(shell: Shell, gateway: Gateway) -> None:
    await gateway.stop()
    async with bridged(shell) as host:
        assert await within(host.process.wait()) == 4
        told = json.loads(await within(host.stderr.read()))["error"]
        assert told["code"] == "gateway_unreachable"
    await gateway.start()


async def test_a_terminated_bridge_leaves_nothing_open(shell: Shell, gateway: Gateway) -> None:
    async with bridged(shell) as host:
        connection = await gateway.accepted()
        host.process.send_signal(signal.SIGTERM)
        assert await within(host.process.wait()) == -signal.SIGTERM
        await within(connection.wait_closed())


def test_what_is_no_url_is_told(shell: Shell) -> None:
    done = shell.run("bridge", "--url", "http://[x")
    assert (done.code, done.error["code"]) == (2, "usage")
