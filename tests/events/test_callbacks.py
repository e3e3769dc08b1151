"""Callbacks on their way to callers: bound to who was asked, answered once, by a form where that is what a client has."""

from __future__ import annotations

import asyncio
import itertools
import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.audit.trail import AuditLog
from gatewright.call import (
    Answer,
    Call,
    Caller,
    CannotAsk,
    Client,
    Event,
    Failure,
    Mgp,
    Outcome,
    Question,
    Unrecorded,
    UserContext,
)
from gatewright.events.callbacks import OPEN_EACH, CallbackBook
from gatewright.events.feature import EventsFeature
from gatewright.mcp.server.open_call import SLOW_BYTES
from gatewright.mcp.server.streams import Streams
from gatewright.mcp.wire.methods import CALLBACK
from gatewright.secret_scanning.chunks import CHUNK
from tests.gate_parts import a_call

MGP = Client("2025-11-25", mgp=Mgp("0.2.0", ("bidirectional",)))
FORMS = Client("2025-11-25", {"elicitation": {}})
ASKED = Question(CALLBACK, {"type": "confirmation", "message": "Go?"}, server="s")
YES = "Yes runs this call, and for 10 min further calls of this tool without asking."
FIELDS = {"confirm": {"type": "boolean", "title": "Run it", "description": YES}}
OURS = Question(
    "elicitation/create",
    {"mode": "form", "message": "Run it?", "requestedSchema": {"properties": FIELDS}},
)


class _Record(AuditLog):
    """A record that remembers, or is broken."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.broken = False

    def event(self, event_type: str, **more: Any) -> int:
        if self.broken:
            raise Unrecorded("full")
        self.events.append((event_type.rpartition(".")[2], more["details"]))
        return 1


class _Back:
    def __init__(self, answer: dict[str, Any] | None = None) -> None:
        self.events: list[Event] = []
        self.questions: list[Question] = []
        self.answer = answer
        self.behind = 0

    def emit(self, event: Event) -> None:
        self.events.append(event)

    async def ask(self, question: Question) -> dict[str, Any]:
        self.questions.append(question)
        if self.answer is None:
            raise CannotAsk("no")
        return self.answer


class _House:
    def __init__(self) -> None:
        self.record = _Record()
        numbers = itertools.count(1)
        self.book = CallbackBook(self.record, lambda size: next(numbers).to_bytes(size, "big"))

    async def asking(
        self, call: Call, back: _Back, question: Question = ASKED
    ) -> asyncio.Task[Any]:
        """Put a question as a call does, up to where somebody has to answer."""
        found: list[Any] = []

        async def further(call: Call, back: Any) -> Outcome:
            found.append(back)
            return Answer(b"{}")

        await self.book.around(call, back, further)
        task: asyncio.Task[Any] = asyncio.ensure_future(found[0].ask(question))
        for _ in range(5):
            await asyncio.sleep(0)
        return task

    async def respond(self, call: Call, ident: Any, response: Any) -> Outcome:
        params = {"callback_id": ident, "response": response}
        method = "mgp/callback/respond"
        return await self.book.respond(
            replace(call, kind="method", method=method, params=params), _Back()
        )


def rule(outcome: Outcome) -> str:
    assert isinstance(outcome, Failure)
    return str(outcome.details.get("rule", outcome.reason))


async def test_an_mgp_client_is_asked_by_the_gateways_own_id_and_answers_once() -> None:
    """MGP-13.4-1 and MGP-13.4-2."""
    house, back, call = _House(), _Back(), a_call(client=MGP, session="s1")
    task = await house.asking(call, back)
    told = back.events[0].params
    assert told["request_id"] == call.id
    assert told["options"] == ["confirm", "cancel"]
    ident = told["callback_id"]
    assert rule(await house.respond(call, ident, "perhaps")) == "callback_response"
    assert isinstance(await house.respond(call, ident, "confirm"), Answer)
    assert rule(await house.respond(call, ident, "cancel")) == "callback_answered"
    assert await task == {"response": "confirm"}
    assert rule(await house.respond(call, ident, "cancel")) == "callback_answered"
    assert [what for what, _ in house.record.events] == ["asked", "answered"]
    assert house.record.events[1][1]["response"] == "confirm"


@pytest.mark.parametrize("kind", ["resource", "prompt", "method"])
async def test_whatever_call_asks_is_asked_by_a_notification(kind: Any) -> None:
    """MGP-13.4-1: never by a request that has the name of one."""
    house, back = _House(), _Back()
    call = replace(a_call(client=MGP, session="s1"), kind=kind)
    task = await house.asking(call, back)
    assert [one.method for one in back.events] == [CALLBACK]
    assert not back.questions
    await house.respond(call, back.events[0].params["callback_id"], "confirm")
    assert await task == {"response": "confirm"}


async def test_a_stream_inside_knows_how_far_behind_its_client_is() -> None:
    """What is merged for a slow reader hangs on that."""
    house, back = _House(), _Back()
    found: list[Any] = []
    streams = Streams(time.monotonic, bytes)
    back.behind = 2 * SLOW_BYTES
    call = a_call(client=replace(MGP, mgp=Mgp("0.2.0", ("streaming",))), session="s1")
    call.params["_mgp"] = {"stream": True}

    async def further(call: Call, inner: Any) -> Outcome:
        for text in "ab":
            inner.emit(Event(CHUNK, {"content": {"type": "text", "text": text}}))
        found.extend(one for one in back.events if one.method == CHUNK)
        return Answer(b"{}")

    await house.book.around(call, back, partial(streams.around, further=further))
    assert found == []
    assert [one.params["content"]["text"] for one in back.events if one.method == CHUNK] == ["ab"]


async def test_nobody_else_can_answer() -> None:
    house, back, call = _House(), _Back(), a_call(client=MGP, session="s1")
    task = await house.asking(call, back)
    ident = back.events[0].params["callback_id"]
    others = (
        replace(call, caller=Caller("other")),
        replace(call, session="s2"),
        replace(call, door="websocket"),
        replace(call, profile="p"),
    )
    for other in others:
        assert rule(await house.respond(other, ident, "confirm")) == "callback_unknown"
    assert rule(await house.respond(call, "cb-none", "confirm")) == "callback_unknown"
    assert rule(await house.respond(call, 7, "confirm")) == "invalid_params"
    assert rule(await house.respond(replace(call, client=FORMS), ident, "x")) == "method_not_found"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert rule(await house.respond(call, ident, "confirm")) == "callback_over"
    assert rule(await house.respond(others[0], ident, "confirm")) == "callback_unknown"
    assert [what for what, _ in house.record.events] == ["asked", "ended"]


async def test_another_key_of_the_caller_with_other_limits_answers_nothing_for_it() -> None:
    house, back = _House(), _Back()
    ann = Caller("ann", "agent", "k1")
    call = replace(a_call(client=MGP, session="s1", caller=ann), credential="a")
    less = replace(ann, key_id="k2", user=(UserContext(trust="untrusted"),))
    other = replace(call, caller=less, credential="b")
    task = await house.asking(call, back, OURS)
    ident = back.events[0].params["callback_id"]
    assert rule(await house.respond(other, ident, "confirm")) == "callback_unknown"
    assert not task.done()
    successor = replace(call, caller=replace(ann, key_id="k3"), credential="c")
    assert isinstance(await house.respond(successor, ident, "cancel"), Answer)
    assert rule(await house.respond(other, ident, "confirm")) == "callback_unknown"
    assert await task == {"action": "decline"}
    assert rule(await house.respond(other, ident, "confirm")) == "callback_unknown"
    assert rule(await house.respond(call, ident, "confirm")) == "callback_answered"


async def test_the_record_has_no_id_that_can_be_answered() -> None:
    """Every key of a caller may hear of it."""
    house, back, call = _House(), _Back(), a_call(client=MGP)
    task = await house.asking(call, back)
    ident = back.events[0].params["callback_id"]
    assert set(house.record.events[0][1]) == {"call_id", "type", "callback", "by"}
    assert ident not in repr(house.record.events)
    task.cancel()


async def test_what_ends_with_the_gateway_is_in_its_record() -> None:
    """Of many that end at once some are noted in each turn; none is left to a turn that never comes."""
    house, call = _House(), a_call(client=MGP, session="s1")
    ground: Any = SimpleNamespace(audit=house.record, random=house.book._random)
    feature = EventsFeature(ground)
    house.book = feature._callbacks
    tasks = [await house.asking(call, _Back()) for _ in range(20)]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert [what for what, _ in house.record.events].count("ended") < 20
    await feature.close()
    house.record.broken = True
    assert [what for what, _ in house.record.events].count("ended") == 20
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_client_of_plain_mcp_gets_a_form() -> None:
    house, call = _House(), a_call(client=FORMS)
    back = _Back({"action": "accept", "content": {"response": "confirm"}})
    assert await (await house.asking(call, back)) == {"response": "confirm"}
    assert back.questions[0].server == "s"
    assert back.questions[0].method == "elicitation/create"
    with pytest.raises(CannotAsk, match="no answer"):
        await (await house.asking(call, _Back({"action": "accept", "content": {}})))
    with pytest.raises(CannotAsk, match="neither"):
        await (await house.asking(a_call(), _Back()))


async def test_the_gateways_own_question_becomes_a_confirmation() -> None:
    house, back, call = _House(), _Back(), a_call(client=MGP)
    task = await house.asking(call, back, OURS)
    assert back.events[0].params["message"] == f"Run it?\n{YES}"  # a yes to no more than was said
    await house.respond(call, back.events[0].params["callback_id"], "confirm")
    assert await task == {"action": "accept", "content": {"confirm": True}}
    task = await house.asking(call, back, OURS)
    await house.respond(call, back.events[1].params["callback_id"], "cancel")
    assert await task == {"action": "decline"}


async def test_a_form_of_a_server_is_none() -> None:
    """Nor is the gateway's, where the client answers forms."""
    house, back = _House(), _Back()
    with pytest.raises(CannotAsk):
        await (await house.asking(a_call(client=MGP), back, replace(OURS, server="s")))
    both = replace(MGP, capabilities={"elicitation": {}})
    with pytest.raises(CannotAsk):
        await (await house.asking(a_call(client=both), back, OURS))
    assert not back.events


async def test_what_cannot_be_recorded_is_not_asked_nor_answered() -> None:
    house, back, call = _House(), _Back(), a_call(client=MGP)
    task = await house.asking(call, back)
    house.record.broken = True
    ident = back.events[0].params["callback_id"]
    assert rule(await house.respond(call, ident, "confirm")) == "audit_unavailable"
    with pytest.raises(CannotAsk, match="recorded"):
        await (await house.asking(call, back))
    task.cancel()


async def test_callbacks_of_one_caller_are_bounded() -> None:
    house, back, call = _House(), _Back(), a_call(client=MGP)
    tasks = [await house.asking(call, back) for _ in range(OPEN_EACH)]
    with pytest.raises(CannotAsk, match="wait for answers"):
        await (await house.asking(call, back))
    count = len(back.events)
    other = await house.asking(replace(call, caller=Caller("other")), back)
    assert not other.done()
    assert len(back.events) == count + 1  # those of others use up nothing of its own
    for one in (*tasks, other):
        one.cancel()


async def test_what_only_informs_is_a_callback_or_a_line_of_the_log() -> None:
    """MGP-13.4-3."""
    house = _House()
    event = Event(CALLBACK, {"request_id": "c1", "type": "notification", "message": "m"})
    told = house.book.informing(a_call(client=MGP), event)
    assert told.params["callback_id"].startswith("cb-")
    plain = house.book.informing(a_call(), event)
    assert (plain.method, plain.params["data"]) == ("notifications/message", "m")
