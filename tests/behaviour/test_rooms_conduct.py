"""MCPx §4.3 and §8.2 in a room that echoes: who answers whom, and what becomes of those who send what nobody may act upon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from gatewright.mcpx.envelope import Envelope
from gatewright.rooms.participants import Participant
from gatewright.rooms.participants.conduct import Conduct
from gatewright.rooms.participants.dial import join
from gatewright.rooms.participants.participant import Heard
from tests.behaviour.gateway import Gateway, config, running, server
from tests.rooms.foreign import Guest

SECONDS = 30.0
TOKENS = {name: f"token-of-{name}-0123456789" for name in ("ana", "bob", "eve")}
LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway that sits in a room itself, with its orchestrator; everybody else there may send whatever they like."""
    content = config(
        server("echo"),
        rooms={
            "participants": [
                {"id": name, "token": token, "profile": "full"} for name, token in TOKENS.items()
            ],
            "kernel": {"topics": ["table"]},
            "orchestrator": {"topics": ["table"], "people": ["ana"]},
        },
    )
    with running(tmp_path_factory.mktemp("conduct"), content) as gateway:
        yield gateway


class Seated:
    """A participant of our library over a WebSocket, and the requests that its responder got: sender and id of the envelope."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[tuple[str, str]] = []
        self.participant: Participant

    async def __call__(self, frame: bytes, envelope: Envelope) -> bytes | None:
        self.asked.append((envelope.sender, envelope.id))
        ident = json.loads(frame)["id"]
        answer = {"jsonrpc": "2.0", "id": ident, "result": {"said by": self.name}}
        return json.dumps(answer).encode()


@pytest.fixture
async def people(gateway: Gateway) -> AsyncIterator[tuple[Seated, Seated, Guest]]:
    """Ana and Bob, who answer whatever they are asked, and Eve, a foreign client that hears and sends everything."""
    async with AsyncExitStack() as stack:
        seated = []
        for name in ("ana", "bob"):
            one = Seated(name)
            place = join(gateway.urls["rooms"], topic="table", token=TOKENS[name], responder=one)
            one.participant = await stack.enter_async_context(place)
            seated.append(one)
        eve = await Guest(gateway.urls["rooms"], "table", TOKENS["eve"]).connect()
        stack.push_async_callback(eve.leave)
        yield seated[0], seated[1], eve


def _say(one: Seated, *to: str) -> str:
    """Ask for a list of tools, of these or of everybody; the id of the message."""
    return one.participant.say("mcp/request:tools/list", json.dumps(LIST).encode(), to=to)


async def test_nobody_of_ours_answers_itself_or_what_is_put_to_another(
    people: tuple[Seated, Seated, Guest],
) -> None:
    """MCPX-8.2-7: every participant of ours hears every request, its own included; who answers is who was asked and did not ask."""
    ana, bob, eve = people
    seats = {"ana", "bob", "gatewright", "orchestrator"}
    asked = {
        _say(ana): ("ana", seats - {"ana"}),
        _say(ana, "ana"): ("ana", set()),
        _say(ana, "bob"): ("ana", {"bob"}),
        _say(bob, "gatewright"): ("bob", {"gatewright"}),
        _say(bob, "ana", "bob"): ("bob", {"ana"}),
        await eve.post("mcp/request:tools/list", LIST): ("eve", seats),
        await eve.post("mcp/request:tools/list", LIST, to=["nobody-here"]): ("eve", set()),
        await eve.post("mcp/request:tools/list", LIST, to=["orchestrator"]): (
            "eve",
            {"orchestrator"},
        ),
    }
    wanted = {(about, one) for about, (_, who) in asked.items() for one in who}
    heard: set[tuple[str, str]] = set()
    echoed: set[str] = set()
    # What is asked last is answered after all that should never have been.
    marks = {_say(bob, "ana"), _say(ana, "bob"), _say(ana, "gatewright"), _say(ana, "orchestrator")}
    while marks or wanted - heard:
        one = await eve.next()
        about = one.get("correlation_id")
        if one["kind"].startswith("mcp/request"):
            echoed.add(one["id"])
        elif one["kind"].startswith("mcp/response") and about in asked:
            assert one["to"] == [asked[about][0]]
            heard.add((about, one["from"]))
        elif one["kind"].startswith("mcp/response"):
            marks.discard(str(about))
    assert heard == wanted
    assert set(asked) <= echoed
    for seat in (ana, bob):
        assert [who for who, _ in seat.asked if who == seat.name] == []
        assert all(seat.name in asked[about][1] for _, about in seat.asked if about in asked)
    assert ana.participant.conduct.counts == {}


async def test_the_room_echoes_to_who_asked_so_that_the_rule_is_put_to_the_test(
    people: tuple[Seated, Seated, Guest],
) -> None:
    """MCPX-8.2-7: a request of one's own comes back to oneself."""
    ana = people[0]
    back: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def watch(heard: Any) -> None:
        if heard.envelope.sender == "ana" and not back.done():
            back.set_result(heard.envelope.id)

    ana.participant.watchers.append(watch)
    sent = _say(ana, "ana")
    async with asyncio.timeout(SECONDS):
        assert await back == sent
    assert ana.asked == []


def _told(one: Participant) -> list[dict[str, Any]]:
    """What is said to a participant alone, from now on."""
    found: list[dict[str, Any]] = []

    def watch(heard: Heard) -> None:
        if heard.envelope.kind == "chat" and heard.envelope.to == (one.id,):
            found.append(json.loads(heard.envelope.payload))

    one.watchers.append(watch)
    return found


async def test_what_nobody_may_act_upon_is_counted_reported_and_at_the_limit_ends_in_silence(
    gateway: Gateway,
) -> None:
    """MCPX-4.3-4: the score is there to be read, of each sender by itself; an administrator hears of the first; who reaches the
    limit is not listened to any more, and everybody else is."""
    worker = Seated("bob")
    url = gateway.urls["rooms"]
    async with (
        join(url, topic="quiet", token=TOKENS["ana"]) as ana,
        join(
            url,
            topic="quiet",
            token=TOKENS["bob"],
            responder=worker,
            conduct=Conduct(ignored_at=3),
            report_to="ana",
        ) as bob,
    ):
        reports = _told(ana)
        eve = await Guest(url, "quiet", TOKENS["eve"]).connect()
        try:
            forged = {**LIST, "method": "tools/call", "params": {"name": "x"}}
            for count in range(1, 3):
                await eve.post("mcp/request:tools/list", forged, to=["bob"])
                answer = await eve.next("mcp/response:tools/list")
                assert answer["payload"]["error"]["code"] == -32600
                assert bob.conduct.counts == {"eve": count}
                # Below the limit what is honest is answered as ever.
                await eve.post("mcp/request:tools/list", LIST, to=["bob"])
                assert "result" in (await eve.next("mcp/response:tools/list"))["payload"]
            await eve.post("mcp/request:tools/list", forged, to=["bob"])
            await eve.next("mcp/response:tools/list")
            await eve.post("mcp/request:tools/list", LIST, to=["bob"])
            async with asyncio.timeout(SECONDS):
                said = await ana.request("bob", "tools/list")
            assert said == {"said by": "bob"}
            assert not [one for one in await eve.fence() if one.get("to") == ["eve"]]
            assert bob.conduct.counts == {"eve": 3}
            assert (bob.conduct.is_ignored("eve"), bob.conduct.is_ignored("ana")) == (True, False)
            assert [who for who, _ in worker.asked] == ["eve", "eve", "ana"]
            assert len(reports) == 1
            assert "eve has sent a message" in reports[0]["text"]
        finally:
            await eve.leave()
