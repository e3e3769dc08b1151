"""A server in a room, used by several: whose call it is in which it asks, logs or tells how far it is; also where that was given up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.mcpx.envelope import Envelope
from gatewright.rooms.participants.bridge import HostSeat, ServerSeat
from gatewright.rooms.participants.errors import GoneError
from tests.rooms.participants.bus import Bus, call, within
from tests.rooms.participants.test_bridge import Host, Stuck

ELICIT = {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}}


async def rest() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Scene:
    """A server with nobody behind it, used by ana and bob."""

    def __init__(self, answer_s: float = 20.0) -> None:
        self.bus = Bus()
        self.seat = ServerSeat(answer_s=answer_s)
        self.server = Host(self.seat)
        self.seat.participant = self.bus.join("worker", responder=self.seat)
        self.asked: list[tuple[str, bytes]] = []
        self.release = asyncio.Event()
        for name in ("ana", "bob"):
            self.bus.join(name, responder=self._person(name))

    def _person(self, name: str) -> Any:
        async def respond(frame: bytes, envelope: Envelope) -> bytes | None:
            if b'"notifications/' not in frame:
                self.asked.append((name, frame))
                await self.release.wait()
            return None

        return respond

    async def say(self, sender: str, method: str, params: Any, ident: int | None = None) -> None:
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        kind = f"mcp/request:{method}"
        if ident is not None:
            body["id"], kind = ident, f"{kind}:{params['name']}"
        self.bus.raw(sender, kind, body, to=["worker"])
        await rest()

    async def call(self, sender: str, ident: int = 1, token: Any = None) -> str:
        """Call a tool; the id that the server has of it."""
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        await self.say(sender, "tools/call", {**call("dig"), **meta}, ident)
        return str(self.server.said[-1]["id"])

    async def cancel(self, sender: str, ident: int = 1) -> None:
        await self.say(sender, "notifications/cancelled", {"requestId": ident})

    async def leave(self, who: str) -> None:
        self.bus.system("presence", {"event": "leave", "participant": {"id": who}})
        await rest()

    async def come(self, who: str) -> None:
        """Another takes the name."""
        you = {"id": who, "capabilities": ["mcp/*"]}
        self.bus.system("presence", {"event": "join", "participant": you})
        await rest()

    async def question(self, ident: int = 7) -> str:
        """The server asks. Who is asked; empty where nobody is, which it then hears."""
        before = len(self.asked)
        self.server.tell({"id": ident, "method": "elicitation/create", "params": ELICIT})
        await rest()
        if len(self.asked) > before:
            return self.asked[-1][0]
        (said,) = [one for one in self.server.said if one.get("id") == ident]
        assert "it cannot be told whom" in said["error"]["message"]
        return ""

    def told(self, method: str) -> list[tuple[list[str], Any]]:
        """Who heard what of the server."""
        said = [one for one in self.bus.of("worker") if one["kind"] == f"mcp/request:{method}"]
        return [(one.get("to", []), one["payload"]["params"]) for one in said]


async def test_a_question_for_a_call_that_was_cancelled_is_put_to_nobody_else() -> None:
    scene = Scene()
    own = await scene.call("ana")
    await scene.call("bob")
    await scene.cancel("ana")
    assert await scene.question() == ""
    scene.server.tell({"id": own, "error": {"code": 0, "message": "cancelled"}})
    assert await scene.question(8) == "bob"


async def test_a_question_for_a_call_that_ran_out_of_time_is_put_to_nobody_else() -> None:
    scene = Scene(answer_s=0.05)
    await scene.call("ana")
    await asyncio.sleep(0.1)
    await rest()
    await scene.call("bob")
    assert await scene.question() == ""


async def test_who_gave_a_call_up_is_asked_in_another_of_its_own_and_not_without_one() -> None:
    scene = Scene()
    await scene.call("ana", 1)
    await scene.cancel("ana", 1)
    assert await scene.question(7) == ""
    await scene.call("ana", 2)
    assert await scene.question(8) == "ana"


async def test_that_a_call_which_was_given_up_keeps_others_from_being_asked_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    await scene.call("ana")
    await scene.leave("ana")
    await scene.call("bob")
    assert [await scene.question(ident) for ident in (7, 8)] == ["", ""]
    (said,) = [one.getMessage() for one in caplog.records if "given up" in one.getMessage()]
    assert "starts the server anew" in said


async def test_that_two_wait_is_no_matter_of_calls_which_were_given_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    for name in ("ana", "bob"):
        await scene.call(name)
    assert await scene.question() == ""
    assert "given up" not in caplog.text


async def test_a_question_is_put_to_whoever_called_when_it_came() -> None:
    """The answer to one call in the next line leaves the other one no more likely."""
    scene = Scene()
    own = await scene.call("ana")
    await scene.call("bob")
    scene.server.tell({"id": 7, "method": "elicitation/create", "params": ELICIT})
    scene.server.tell({"id": own, "result": {"content": [], "isError": True}})
    await rest()
    assert scene.asked == []
    assert scene.server.said[-1]["error"]["code"] == -32601


async def test_who_is_called_as_one_who_left_is_asked_nothing_of_that_ones_calls() -> None:
    scene = Scene()
    await scene.call("ana")
    await scene.leave("ana")
    await scene.come("ana")
    assert await scene.question(7) == ""
    await scene.call("ana")
    assert await scene.question(8) == ""


async def test_an_answer_of_who_comes_under_the_name_of_who_was_asked_counts_for_nothing() -> None:
    scene = Scene()
    await scene.call("ana")
    assert await scene.question() == "ana"
    (question,) = [one for one in scene.bus.of("worker") if "elicitation" in one["kind"]]
    await scene.leave("ana")
    await scene.come("ana")
    body = {"jsonrpc": "2.0", "id": question["payload"]["id"], "result": {"action": "accept"}}
    kind = "mcp/response:elicitation/create"
    scene.bus.raw("ana", kind, body, to=["worker"], correlation_id=question["id"])
    await rest()
    assert scene.server.said[-1]["id"] == 7
    assert "ana has left the room" in scene.server.said[-1]["error"]["message"]


async def test_what_was_asked_for_by_one_who_left_before_it_was_begun_is_not() -> None:
    """What would come of it were for whoever is called so next."""
    scene = Scene()
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("dig")}
    scene.bus.raw("ana", "mcp/request:tools/call:dig", body, to=["worker"])
    await scene.leave("ana")
    assert scene.server.said == []


async def test_progress_goes_to_whose_request_it_is_about_under_its_own_token() -> None:
    scene = Scene()
    ids = [await scene.call(name, token=1) for name in ("ana", "bob")]
    tokens = [one["params"]["_meta"]["progressToken"] for one in scene.server.said]
    assert tokens == ids, "two hosts count alike"
    for token, done in zip([*tokens, 1, "1", None], range(5), strict=True):
        note = {"progressToken": token, "progress": done}
        scene.server.tell({"method": "notifications/progress", "params": note})
    assert scene.told("notifications/progress") == [
        (["ana"], {"progressToken": 1, "progress": 0}),
        (["bob"], {"progressToken": 1, "progress": 1}),
    ]


async def test_progress_of_what_nobody_waits_for_any_more_is_told_to_nobody() -> None:
    scene = Scene()
    gone = await scene.call("ana", token="t")
    await scene.call("bob", token="t")
    await scene.cancel("ana")
    note = {"progressToken": gone, "progress": 1}
    scene.server.tell({"method": "notifications/progress", "params": note})
    assert scene.told("notifications/progress") == []


async def test_nobody_names_the_token_of_another() -> None:
    scene = Scene()
    theirs = await scene.call("bob", token="t")
    await scene.call("ana", token=theirs)
    assert scene.server.said[-1]["params"]["_meta"]["progressToken"] != theirs


async def test_log_lines_go_to_the_one_whose_call_runs_and_in_doubt_to_nobody() -> None:
    scene = Scene()

    def log(data: str) -> None:
        params = {"level": "info", "data": data}
        scene.server.tell({"method": "notifications/message", "params": params})

    log("starts")
    await scene.call("ana", 1)
    log("ana's")
    await scene.cancel("ana", 1)
    log("ana's still")
    await scene.call("bob", 1)
    log("doubtful")
    scene.server.tell({"method": "notifications/tools/list_changed"})
    heard = [(to, params["data"]) for to, params in scene.told("notifications/message")]
    assert heard == [([], "starts"), (["ana"], "ana's"), (["ana"], "ana's still")]
    assert scene.told("notifications/tools/list_changed") == [([], {})], "that is for everybody"


async def test_a_server_takes_its_own_question_back_and_no_other() -> None:
    """Its ids are its own: a participant has another one of the question."""
    scene = Scene()
    await scene.call("ana")
    assert await scene.question(7) == "ana"
    (asked,) = [one for one in scene.bus.of("worker") if "elicitation" in one["kind"]]
    scene.server.tell({"method": "notifications/cancelled", "params": {"requestId": 6}})
    await rest()
    assert scene.told("notifications/cancelled") == []
    scene.server.tell({"method": "notifications/cancelled", "params": {"requestId": 7}})
    await rest()
    told = [(["ana"], {"requestId": asked["payload"]["id"]})]
    assert scene.told("notifications/cancelled") == told
    assert [one for one in scene.server.said if one.get("id") == 7] == []


async def test_a_question_that_is_asked_twice_under_one_id_is_put_once() -> None:
    scene = Scene()
    await scene.call("ana")
    assert await scene.question(7) == "ana"
    scene.server.tell({"id": 7, "method": "elicitation/create", "params": ELICIT})
    await rest()
    assert len(scene.asked) == 1


async def test_a_server_that_ends_has_nobody_go_on_with_its_questions() -> None:
    scene = Scene()
    await scene.call("ana")
    assert await scene.question(7) == "ana"
    scene.seat.closed("end of input")
    await rest()
    assert [to for to, _ in scene.told("notifications/cancelled")] == [["ana"]]


async def test_what_a_host_answers_to_a_server_that_has_left_is_not_for_its_successor() -> None:
    bus = Bus()
    seat = HostSeat(server="worker", outcome_s=20.0)
    seat.participant = bus.join("desk", responder=seat.respond)
    host = Host(seat)
    worker = bus.join("worker")
    asking = asyncio.create_task(worker.request("desk", "elicitation/create", ELICIT))
    await rest()
    (question,) = host.said
    bus.system("presence", {"event": "leave", "participant": {"id": "worker"}})
    await rest()
    assert host.said[-1]["params"] == {"requestId": question["id"]}
    host.tell({"id": question["id"], "result": {"action": "accept"}})
    await rest()
    assert [one for one in bus.of("desk") if one["kind"].startswith("mcp/response")] == []
    asking.cancel()


async def test_a_host_tells_its_server_how_far_it_is_under_the_token_of_that() -> None:
    bus = Bus()
    seat = HostSeat(server="worker", outcome_s=20.0)
    seat.participant = bus.join("desk", responder=seat.respond)
    host = Host(seat)
    worker = bus.join("worker")
    params = {**ELICIT, "_meta": {"progressToken": "theirs"}}
    asking = asyncio.create_task(worker.request("desk", "elicitation/create", params))
    await rest()
    token = host.said[0]["params"]["_meta"]["progressToken"]
    for one in (token, "theirs"):
        note = {"progressToken": one, "progress": 1}
        host.tell({"method": "notifications/progress", "params": note})
    (told,) = [one for one in bus.of("desk") if one["kind"].endswith("notifications/progress")]
    assert told["payload"]["params"] == {"progressToken": "theirs", "progress": 1}
    asking.cancel()


async def test_what_a_host_asked_of_a_server_that_leaves_has_no_answer() -> None:
    bus = Bus()
    desk, _ = bus.join("desk"), bus.join("worker", responder=Stuck())
    asking = asyncio.create_task(desk.request("worker", "tools/list"))
    await rest()
    bus.system("presence", {"event": "leave", "participant": {"id": "worker"}})
    with pytest.raises(GoneError, match="worker has left the room"):
        await within(asking)
