"""The service levels of `model_context_protocol` over wires: what a call costs against the plainest server, and how much goes on at once.

How many milliseconds a machine takes is measured by `benchmarks/slo.py`; here nothing hangs on how fast the machine is.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gatewright.sdk import Client
from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.hosts import DOORS, host
from tests.costs import least

ROOT = Path(__file__).resolve().parents[2]
PLAIN = [sys.executable, str(ROOT / "tests" / "tool_servers" / "echo.py")]
WAIT_S = 60.0
IN_FLIGHT, CALLERS = 64, 50
CALLS = 100
"""Of one measurement over a wire."""

TOOLS = '''
import asyncio
from collections import Counter, defaultdict

from gatewright.sdk import mcp_tool

inside = Counter()
all_in = defaultdict(asyncio.Event)


@mcp_tool(prefix="")
def echo(message: str) -> str:
    """Say the same again."""
    return message


@mcp_tool(prefix="")
async def meet(crowd: int, room: str) -> int:
    """Wait until so many are in the room at once."""
    inside[room] += 1
    if inside[room] == crowd:
        all_in[room].set()
    await all_in[room].wait()
    return inside[room]
'''
SERVED = TOOLS.replace(
    "from gatewright.sdk import mcp_tool",
    'from gatewright.sdk import Server\n\nserver = Server("crowd")',
).replace('@mcp_tool(prefix="")', "@server.tool")

OVER_STDIO, BATCHED, OVER_HTTP, CROWDED = 20.0, 20.0, 20.0, 0.05
"""How many times what the plainest server takes for a call, for calls at once, for a request; and the share of its rate."""


class _Pipes:
    """A stdio server as bytes. Every line that it writes is an answer to one that it read."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.number = 0
        self.ask([_hello()])
        self.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def say(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def ask(self, messages: list[dict[str, Any]]) -> list[Any]:
        """Send them all at once; the answers, as many lines as there are requests."""
        assert self.process.stdout is not None
        lines = []
        for one in messages:
            self.number += 1
            lines.append(json.dumps({"jsonrpc": "2.0", "id": self.number, **one}))
        self.say(("\n".join(lines) + "\n").encode())
        answers = [json.loads(self.process.stdout.readline()) for _ in messages]
        wanted = set(range(self.number - len(messages) + 1, self.number + 1))
        assert {one["id"] for one in answers} == wanted
        assert all("result" in one and not one["result"].get("isError") for one in answers)
        return answers

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        rest = self.process.stdout.read()
        self.process.stdout.close()
        self.process.wait(WAIT_S)
        assert rest == b"", "it said something that nobody asked"


def _hello() -> dict[str, Any]:
    said = {"protocolVersion": "2025-06-18", "capabilities": {}}
    return {"method": "initialize", "params": said | {"clientInfo": {"name": "t", "version": "1"}}}


def _echo() -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": "echo", "arguments": {"message": "hello"}}}


class _Post:
    """An HTTP server as bytes, over one connection that has to last."""

    def __init__(self, url: str) -> None:
        self.url = urlsplit(url)
        self.connection = http.client.HTTPConnection(self.url.netloc, timeout=WAIT_S)
        self.head = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        self.number = 0
        self.session = ""
        self.ask(_hello())
        self.socket = self.connection.sock

    def ask(self, message: dict[str, Any]) -> None:
        self.number += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self.number, **message})
        head = self.head | ({"mcp-session-id": self.session} if self.session else {})
        self.connection.request("POST", self.url.path, body, head)
        answer = self.connection.getresponse()
        said = json.loads(answer.read())
        assert answer.status == 200, said
        assert answer.headers["content-type"].startswith("application/json")
        assert said["id"] == self.number
        assert not said["result"].get("isError")
        self.session = answer.headers.get("mcp-session-id") or self.session

    def close(self) -> None:
        assert self.connection.sock is self.socket, "a call took another connection"
        self.connection.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server written with the SDK."""
    path = tmp_path_factory.mktemp("served") / "crowd.py"
    start = 'import sys\nif sys.argv[1] == "stdio":\n    server.run()\nelse:\n    server.run_http(port=int(sys.argv[1]))\n'
    path.write_text(SERVED + start, encoding="utf-8")
    return path


@contextmanager
def _listening(command: list[str]) -> Iterator[str]:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                found = next((one for one in line.split() if one.startswith("http://")), None)
                if found is not None:
                    break
            else:
                raise AssertionError(f"{command} did not start")
            yield found
        finally:
            process.terminate()


def _each(work: Callable[[], object]) -> list[float]:
    """What each of so many takes. The least is compared: what other programs of the machine add, they do not add to every one."""
    taken = [time.perf_counter()]
    for _ in range(CALLS):
        work()
        taken.append(time.perf_counter())
    return [after - before for before, after in pairwise(taken)]


def test_a_call_over_stdio_takes_so_many_times_what_the_plainest_server_takes(
    served: Path,
) -> None:
    """CDM-slo-4: one line there and one back, and nothing that waits for a clock."""
    with ExitStack() as stack:
        ours, plain = (_Pipes(one) for one in ([sys.executable, str(served), "stdio"], PLAIN))
        stack.callback(plain.close)
        stack.callback(ours.close)

        def tried() -> float:
            of_plain = min(_each(lambda: plain.ask([_echo()])))
            return min(_each(lambda: ours.ask([_echo()]))) / of_plain

        assert least(tried, OVER_STDIO) <= OVER_STDIO


def test_calls_that_are_sent_at_once_are_answered_faster_than_one_after_the_other(
    served: Path,
) -> None:
    """CDM-slo-8: so many at a time cost so many times what the plainest server takes for them, and less than the same number of single
    calls."""
    with ExitStack() as stack:
        ours, plain = (_Pipes(one) for one in ([sys.executable, str(served), "stdio"], PLAIN))
        stack.callback(plain.close)
        stack.callback(ours.close)
        many = [_echo()] * IN_FLIGHT

        def against_plain() -> float:
            of_plain = min(_each(lambda: plain.ask(many)))
            return min(_each(lambda: ours.ask(many))) / of_plain

        def against_single() -> float:
            single = min(_each(lambda: ours.ask([_echo()])))
            return min(_each(lambda: ours.ask(many))) / (single * IN_FLIGHT)

        assert least(against_plain, BATCHED) <= BATCHED
        assert least(against_single, 0.9) <= 0.9


def test_a_call_over_http_takes_so_many_times_what_the_plainest_server_takes(
    served: Path,
) -> None:
    """CDM-slo-5: one request and one answer, on a connection that stays."""
    with (
        _listening([sys.executable, str(served), "0"]) as url,
        _listening([*PLAIN, "--http", "0"]) as plain_url,
        ExitStack() as stack,
    ):
        ours, plain = _Post(url), _Post(plain_url)
        stack.callback(plain.close)
        stack.callback(ours.close)

        def tried() -> float:
            of_plain = min(_each(lambda: plain.ask(_echo())))
            return min(_each(lambda: ours.ask(_echo()))) / of_plain

        assert least(tried, OVER_HTTP) <= OVER_HTTP


@pytest.mark.parametrize(("wire", "crowd"), [("stdio", IN_FLIGHT), ("http", CALLERS)])
async def test_so_many_calls_are_carried_out_at_the_same_time(
    served: Path, wire: str, crowd: int
) -> None:
    """CDM-slo-8, CDM-slo-9: none ends before all have begun; a server that takes them one after the other would never answer."""
    with ExitStack() as stack:
        target: Any = [sys.executable, str(served), "stdio"]
        if wire == "http":
            target = stack.enter_context(_listening([sys.executable, str(served), "0"]))
        async with Client(target) as client, asyncio.timeout(WAIT_S):
            calls = [client.call_tool("meet", {"crowd": crowd, "room": wire}) for _ in range(crowd)]
            found = await asyncio.gather(*calls)
        assert [one.value for one in found] == [crowd] * crowd


async def test_many_callers_over_http_get_so_much_of_what_the_plainest_server_gives_them(
    served: Path,
) -> None:
    """CDM-slo-9."""

    async def rate(client: Client) -> float:
        async def one() -> None:
            for _ in range(CALLS // 10):
                assert not (await client.call_tool("echo", {"message": "x"})).is_error

        begun = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(CALLERS)))
        return CALLERS * (CALLS // 10) / (time.perf_counter() - begun)

    with (
        _listening([sys.executable, str(served), "0"]) as url,
        _listening([*PLAIN, "--http", "0"]) as plain_url,
    ):
        async with Client(url) as ours, Client(plain_url) as plain, asyncio.timeout(WAIT_S):
            shares = []
            for _ in range(4):
                shares.append(await rate(ours) / await rate(plain))
                if max(shares) >= CROWDED:
                    break
    assert max(shares) >= CROWDED


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with the same tools."""
    folder = tmp_path_factory.mktemp("levels")
    (folder / "tools").mkdir()
    (folder / "tools" / "mcp_tools.py").write_text(TOOLS)
    tables = {"gateway": {"unprefixed": True}}
    with running(
        folder, config({"id": "mine", "python": str(folder / "tools")}, **tables)
    ) as gateway:
        yield gateway


@pytest.mark.parametrize("door", DOORS)
async def test_so_many_calls_run_at_once_behind_the_gateway_too(house: Gateway, door: str) -> None:
    """CDM-slo-8, CDM-slo-9 at every door."""
    params = {"name": "meet", "arguments": {"crowd": CALLERS, "room": door}}
    async with host(house, door) as client, asyncio.timeout(WAIT_S):
        started = [await client.start("tools/call", params) for _ in range(CALLERS)]
        found = [await client.finish(one) for one in started]
    assert [one.get("structuredContent", one) for one in found] == [{"result": CALLERS}] * CALLERS
