"""Programs at a place in a room: a real child process as the server, and a host on a pair of pipes in memory."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.envelope import Envelope
from gatewright.rooms.participants import CallError, Participant
from gatewright.rooms.participants.bridge import HostSeat, ServerSeat
from gatewright.transport.process import spawn
from tests.rooms.participants.bus import Bus, call, within
from tests.rooms.participants.test_participant import PROPOSAL_ONLY

SERVERS = Path(__file__).resolve().parents[2] / "tool_servers"


@asynccontextmanager
async def server(bus: Bus, name: str) -> AsyncIterator[ServerSeat]:
    """One of the test servers, in the room as `worker`."""
    seat = ServerSeat()
    child = await spawn(
        sys.executable, [str(SERVERS / f"{name}.py")], receiver=seat, stderr=lambda line: None
    )
    try:
        seat.attach(child)
        await seat.greet({"name": "room", "version": "1"})
        seat.participant = bus.join("worker", responder=seat)
        yield seat
    finally:
        await child.stop(1.0)


class Host:
    """The other end of a seat's pipe."""

    waiting = 0

    def __init__(self, seat: HostSeat | ServerSeat) -> None:
        self.seat = seat
        self.said: list[dict[str, Any]] = []
        self.new = asyncio.Event()
        seat.attach(self)

    def send(self, message: bytes) -> None:
        """Hear something."""
        self.said.append(json.loads(message))
        self.new.set()

    def close(self) -> None:
        """A pipe's."""

    async def wait_closed(self) -> str:
        """A pipe's."""
        return ""

    def tell(self, message: dict[str, Any]) -> None:
        """Say something."""
        self.seat.message(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def ask(self, ident: int, method: str, params: Any = None) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self.tell({"id": ident, "method": method, "params": params or {}})
        while not any(one.get("id") == ident and "method" not in one for one in self.said):
            self.new.clear()
            await within(self.new.wait())
        return next(one for one in self.said if one.get("id") == ident and "method" not in one)


def host_in(bus: Bus, name: str = "desk", capabilities: Any = ("mcp/*", "chat")) -> Host:
    """A host in the room, for which `worker` is the server."""
    seat = HostSeat(server="worker", outcome_s=20.0)
    seat.participant = bus.join(name, capabilities, responder=seat.respond)
    return Host(seat)


async def test_a_tool_server_sits_in_a_room_and_serves_everybody_there() -> None:
    """MCPX-2.1-3, MCPX-9.5-1: one session for all, ids of participants never meet."""
    bus = Bus()
    async with server(bus, "echo"):
        ana, bob = bus.join("ana"), bus.join("bob")
        hello = await within(ana.request("worker", "initialize", {"protocolVersion": "2025-06-18"}))
        assert hello["serverInfo"]["name"] == "echo"
        ana.notify("worker", "notifications/initialized")
        found = await within(
            asyncio.gather(
                *(
                    one.request("worker", "tools/call", call("echo", message=one.id))
                    for one in (ana, bob)
                )
            )
        )
        assert [one["content"][0]["text"] for one in found] == ["ana", "bob"]
        with pytest.raises(CallError):
            await within(ana.request("worker", "no/such"))


async def test_what_the_server_asks_goes_to_who_called() -> None:
    bus = Bus()
    asked: list[str] = []

    async def answer(frame: bytes, envelope: Envelope) -> bytes | None:
        message = jsonrpc.parse(frame)
        if not isinstance(message, jsonrpc.Request):
            return None
        asked.append(message.method)
        return jsonrpc.response(message.id, b'{"action":"accept","content":{"name":"Ana"}}')

    async with server(bus, "asker"):
        ana = bus.join("ana", responder=answer)
        found = await within(ana.request("worker", "tools/call", call("ask_elicitation")))
        assert asked == ["elicitation/create"]
        assert not found.get("isError")


async def test_a_server_that_dies_answers_everybody_who_waits() -> None:
    bus = Bus()
    seat = ServerSeat()
    child = await spawn(
        sys.executable, ["-c", "input()\ninput()"], receiver=seat, stderr=lambda line: None
    )
    seat.attach(child)
    seat.message(b'{"jsonrpc":"2.0","id":"stray","result":{}}')
    greeting = asyncio.create_task(seat.greet({"name": "room", "version": "1"}))
    await asyncio.sleep(0)
    child.send(b"one more line")
    with pytest.raises(CallError, match="the server is gone"):
        await within(greeting)
    await within(seat.ended.wait())
    seat.participant = bus.join("worker", responder=seat)
    ana = bus.join("ana")
    with pytest.raises(CallError, match="the server is gone"):
        await within(ana.request("worker", "tools/list"))


async def test_a_host_sees_one_participant_as_its_server() -> None:
    """An MCP host sits in a room: requests, results and errors are those of the participant."""
    bus = Bus()
    async with server(bus, "echo"):
        host = host_in(bus)
        hello = await host.ask(1, "initialize", {"protocolVersion": "2025-06-18"})
        assert hello["result"]["serverInfo"]["name"] == "echo"
        host.tell({"method": "notifications/initialized"})
        listed = await host.ask(2, "tools/list")
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["echo"]
        found = await host.ask(3, "tools/call", call("echo", message="hi"))
        assert found["result"]["content"][0]["text"] == "hi"
        assert "error" in await host.ask(4, "no/such")


async def test_what_a_host_may_not_request_it_proposes_and_gets_when_somebody_fulfils_it() -> None:
    """MCPX-9.1-1 for a host that knows nothing of rooms."""
    bus = Bus()
    async with server(bus, "echo"):
        ana = bus.join("ana")
        host = host_in(bus, capabilities=PROPOSAL_ONLY)
        asking = asyncio.create_task(host.ask(1, "tools/call", call("echo", message="please")))
        while not list(ana.proposals):
            await asyncio.sleep(0)
        (proposal,) = ana.proposals
        await within(ana.fulfil(proposal.id))
        assert (await within(asking))["result"]["content"][0]["text"] == "please"
        refused = asyncio.create_task(host.ask(2, "tools/call", call("echo", message="again")))
        while len(list(ana.proposals)) < 2:
            await asyncio.sleep(0)
        ana.decline(list(ana.proposals)[1].id, "no")
        assert "ana rejected the proposal: no" in (await within(refused))["error"]["message"]


async def test_a_host_is_asked_by_its_server_and_by_nobody_else() -> None:
    bus = Bus()
    host = host_in(bus)
    worker: Participant = bus.join("worker")
    eve = bus.join("eve")
    with pytest.raises(CallError, match="one participant alone"):
        await within(eve.request("desk", "elicitation/create", {"message": "psst"}))
    asking = asyncio.create_task(worker.request("desk", "elicitation/create", {"message": "who?"}))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    (question,) = host.said
    host.tell({"id": question["id"], "result": {"action": "decline"}})
    assert await within(asking) == {"action": "decline"}
    worker.notify("desk", "notifications/tools/list_changed")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert host.said[-1]["method"] == "notifications/tools/list_changed"


async def test_a_host_that_says_nonsense_gives_up_or_leaves_ends_nothing_else() -> None:
    bus = Bus()
    host = host_in(bus, capabilities=("chat",))
    host.seat.message(b"{nonsense")
    assert host.said[-1]["error"]["code"] == -32700
    assert "propose it instead" in (await host.ask(1, "tools/list"))["error"]["message"]
    slow = host_in(bus, "slow")
    slow.tell({"id": 9, "method": "tools/list"})
    await asyncio.sleep(0)
    slow.tell({"method": "notifications/cancelled", "params": {"requestId": 9}})
    slow.tell({"id": 10, "method": "tools/list"})
    await asyncio.sleep(0)
    slow.seat.closed("end of input")
    await within(slow.seat.ended.wait())
    assert slow.said == []


class Strangers:
    """A server's seat with nobody behind it, for participants of whom no library is known."""

    def __init__(self) -> None:
        self.bus = Bus()
        seat = ServerSeat()
        self.server = Host(seat)
        seat.participant = self.bus.join("worker", responder=seat)

    async def ask(self, sender: str, ident: int) -> None:
        """Ask something that is never answered."""
        body = {"jsonrpc": "2.0", "id": ident, "method": "tools/list"}
        await self._say(sender, body)

    async def cancel(self, sender: str, ident: Any) -> None:
        """Give up on something."""
        method = "notifications/cancelled"
        await self._say(
            sender, {"jsonrpc": "2.0", "method": method, "params": {"requestId": ident}}
        )

    async def _say(self, sender: str, body: dict[str, Any]) -> None:
        self.bus.raw(sender, f"mcp/request:{body['method']}", body, to=["worker"])
        for _ in range(5):
            await asyncio.sleep(0)


async def test_a_request_is_cancelled_by_who_made_it_and_by_nobody_else() -> None:
    """MCPX-2.1-3: what the server hears is its own id of the request."""
    scene = Strangers()
    await scene.ask("ana", 1)
    (asked,) = scene.server.said
    await scene.cancel("eve", 1)
    await scene.cancel("eve", asked["id"])
    assert scene.server.said == [asked]
    await scene.cancel("ana", 1)
    assert [one["params"] for one in scene.server.said[1:]] == [{"requestId": asked["id"]}]
    await scene.cancel("ana", 1)
    assert len(scene.server.said) == 2


async def test_what_was_cancelled_waits_for_nothing() -> None:
    """MCPX-2.1-3: a server does not answer it, so nobody else's requests may wait behind it."""
    scene = Strangers()
    for number in range(300):
        await scene.ask("ana", number)
        await scene.cancel("ana", number)
    await scene.ask("eve", 1)
    assert scene.server.said[-1]["method"] == "tools/list"
    assert scene.bus.of("worker") == []


async def test_what_is_never_answered_holds_no_place_for_ever() -> None:
    """MCPX-2.1-3: nor what somebody asked for who has left; the server learns of both."""
    bus, seat = Bus(), ServerSeat()
    silent = Host(seat)
    worker = seat.participant = bus.join("worker", responder=seat)
    ana = bus.join("ana")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("forever")}
    for name in ("eve", "bob"):
        bus.raw(name, "mcp/request:tools/call:forever", body, to=["worker"])
    async with asyncio.timeout(20):
        while len(silent.said) < 2:
            await asyncio.sleep(0)
        ids = [one["id"] for one in silent.said]
        bus.system("presence", {"event": "leave", "participant": {"id": "eve"}})
        while "eve" in worker._answering._running:
            await asyncio.sleep(0)
    assert set(worker._answering._running) == {"bob"}
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ids[0]}}
    assert silent.said[2:] == [note]
    hasty = ServerSeat(answer_s=0.05)
    silent = Host(hasty)
    hasty.participant = bus.join("hasty", responder=hasty)
    with pytest.raises(CallError, match=r"no answer within 0\.05 s"):
        await within(ana.request("hasty", "tools/call", call("forever")))
    last, cancelled = silent.said[-2:]
    assert cancelled["params"] == {"requestId": last["id"]}


async def test_an_answer_that_cannot_be_read_ends_the_waiting_of_who_asked() -> None:
    """MCPX-2.1-3: a server's to a participant, and a host's to its server."""
    bus, seat = Bus(), ServerSeat()
    silent = Host(seat)
    worker = seat.participant = bus.join("worker", responder=seat)
    host = host_in(bus)
    participants = {"worker": bus.join("ana"), "desk": worker}
    for to, other in (("worker", silent), ("desk", host)):
        asked = asyncio.create_task(participants[to].request(to, "tools/list", {}))
        while not other.said:
            await asyncio.sleep(0)
        other.tell({"id": other.said[0]["id"], "result": {}, "error": {"code": 1, "message": "x"}})
        with pytest.raises(CallError, match="the answer is broken: a message needs a method"):
            await within(asked)
        assert len(other.said) == 1


async def test_a_broken_request_of_the_server_is_answered_and_a_stray_answer_is_not() -> None:
    scene = Strangers()
    scene.server.tell({"id": 7, "method": "roots/list", "params": 3})
    scene.server.tell({"id": 8, "result": {}, "error": {"code": 1, "message": "x"}})
    scene.server.seat.message(b"{nonsense")
    assert [(one["id"], one["error"]["code"]) for one in scene.server.said] == [(7, -32600)]


async def test_requests_of_one_id_are_all_cancelled_with_it_and_end_one_by_one() -> None:
    """MCPX-2.1-3: participants of whom no library is known may number as they like."""
    scene = Strangers()
    for _ in range(3):
        await scene.ask("ana", 1)
    first, *others = [one["id"] for one in scene.server.said]
    scene.server.tell({"id": first, "result": {}})
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(scene.bus.of("worker")) == 1
    await scene.cancel("ana", 1)
    assert [one["params"]["requestId"] for one in scene.server.said[3:]] == others
    scene.bus.system("presence", {"event": "leave", "participant": {"id": "ana"}})
    assert len(scene.server.said) == 5


async def test_a_host_that_says_a_request_again_has_it_done_once() -> None:
    bus = Bus()
    bus.join("worker", responder=Stuck())
    host = host_in(bus)
    for _ in range(2):
        host.tell({"id": 1, "method": "tools/list"})
    for _ in range(5):
        await asyncio.sleep(0)
    assert host.said == [], "whatever is said under this id it takes for the answer to the first"
    assert [one["kind"] for one in bus.of("desk")] == ["mcp/request:tools/list"]
    host.tell({"method": "notifications/cancelled", "params": {"requestId": 1}})
    for _ in range(5):
        await asyncio.sleep(0)
    assert isinstance(host.seat, HostSeat)
    assert host.seat._tasks == {}


class Stuck:
    """Never answers."""

    async def __call__(self, frame: bytes, envelope: Envelope) -> bytes | None:
        """A responder's."""
        await asyncio.Event().wait()
        return None
