"""Callbacks of one server's connection: asked once, answered to the server, and the call ended where that cannot be."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from gatewright.call import Call, Caller, CannotAsk, Client, Event, Question
from gatewright.mcp.client.callbacks import CALLBACKS_MOST, RESPOND, Callbacks
from gatewright.mcp.client.endpoint import Endpoint
from gatewright.mcp.client.pending_requests import EXPIRED, Clock, PendingRequest
from gatewright.mcp.wire.methods import CALLBACK

CALL = Call(
    id="c1",
    door="http",
    kind="tool",
    method="tools/call",
    name="t",
    params={},
    caller=Caller("ann"),
    client=Client("2025-11-25"),
    trace_id="t1",
)
ASKED = {"callback_id": "theirs", "type": "input", "message": "Which?", "timeout_ms": 5000}


class _Link:
    """A connection whose server takes every answer, or none."""

    spec = Endpoint(id="s")
    number = 1

    def __init__(self, problem: Exception | None = None) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.problem = problem

    async def fetch(
        self, method: str, params: dict[str, Any], timeout_s: float, whose: str = ""
    ) -> bytes:
        if self.problem is not None:
            raise self.problem
        self.told.append((method, params))
        return b"{}"


class _Back:
    """A caller that answers when it is told to."""

    def __init__(self, problem: CannotAsk | None = None) -> None:
        self.asked: list[Question] = []
        self.events: list[Event] = []
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        if problem is not None:
            self.answer.set_exception(problem)

    def emit(self, event: Event) -> None:
        self.events.append(event)

    async def ask(self, question: Question) -> dict[str, Any]:
        self.asked.append(question)
        return await asyncio.shield(self.answer)


def _pending(back: _Back, call: Call | None = CALL) -> PendingRequest:
    loop = asyncio.get_running_loop()
    pending: dict[int, PendingRequest] = {}
    return PendingRequest(16, call, back, Clock(pending), loop.create_future(), loop.time() + 60)


async def _turns() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


async def test_the_server_is_told_the_response_under_its_own_id() -> None:
    """MGP-13.4-2."""
    link, back = _Link(), _Back()
    exchange = _pending(back)
    callbacks = Callbacks(link)
    callbacks.take(ASKED, exchange)
    callbacks.take(ASKED, exchange)  # said twice
    await _turns()
    assert len(back.asked) == 1
    assert back.asked[0].method == CALLBACK
    assert back.asked[0].server == "s"
    back.answer.set_result({"response": "this"})
    await _turns()
    assert link.told == [(RESPOND, {"callback_id": "theirs", "response": "this"})]
    assert not exchange.future.done()


async def test_the_clock_of_the_call_stands_still_meanwhile() -> None:
    """MGP-13.4-4: a person's time is not the tool's."""
    back = _Back()
    exchange = _pending(back)
    Callbacks(_Link()).take(ASKED, exchange)
    await _turns()
    left = exchange.left
    await asyncio.sleep(0.02)
    assert exchange.left == left
    back.answer.set_result({"response": "x"})
    await _turns()
    assert exchange.due < float("inf")


async def test_without_an_answer_in_time_the_call_ends() -> None:
    """MGP-13.4-4."""
    link, back = _Link(), _Back()
    exchange = _pending(back)
    Callbacks(link).take({**ASKED, "timeout_ms": 10}, exchange)
    assert await asyncio.wait_for(exchange.future, 5) is EXPIRED
    assert exchange.given_up is not None
    assert exchange.given_up.reason == "timeout"
    back.answer.set_result({"response": "late"})
    await _turns()
    assert link.told == []


async def test_a_call_whose_caller_cannot_be_asked_ends() -> None:
    exchange = _pending(_Back(CannotAsk("nobody")))
    Callbacks(_Link()).take(ASKED, exchange)
    assert await asyncio.wait_for(exchange.future, 5) is EXPIRED
    assert exchange.given_up is not None
    assert exchange.given_up.reason == "confirmation_required"
    assert "nobody" in exchange.given_up.message


async def test_a_server_that_does_not_take_the_answer_ends_its_call() -> None:
    back = _Back()
    exchange = _pending(back)
    Callbacks(_Link(RuntimeError("gone"))).take(ASKED, exchange)
    back.answer.set_result({"response": "x"})
    assert await asyncio.wait_for(exchange.future, 5) is EXPIRED
    assert exchange.given_up is not None
    assert exchange.given_up.reason == "upstream_error"


async def test_what_cannot_be_a_callback_ends_its_call() -> None:
    exchange = _pending(_Back())
    Callbacks(_Link()).take({**ASKED, "type": "poll"}, exchange)
    assert exchange.given_up is not None
    assert "type must be one of" in exchange.given_up.message


async def test_a_notification_wants_no_answer() -> None:
    """MGP-13.4-3."""
    back = _Back()
    exchange = _pending(back)
    Callbacks(_Link()).take({**ASKED, "type": "notification"}, exchange)
    await _turns()
    assert not back.asked
    assert back.events[0].params == {
        "request_id": "c1",
        "type": "notification",
        "message": "Which?",
    }


async def test_so_many_wait_at_a_time() -> None:
    callbacks = Callbacks(_Link())
    exchange = _pending(_Back())
    for number in range(CALLBACKS_MOST):
        callbacks.take({**ASKED, "callback_id": number}, exchange)
    assert not exchange.future.done()
    callbacks.take({**ASKED, "callback_id": "more"}, exchange)
    assert exchange.given_up is not None
    assert exchange.given_up.reason == "resource_exhausted"
    await _turns()


async def test_a_call_that_is_over_asks_nothing() -> None:
    back = _Back()
    exchange = _pending(back)
    exchange.future.set_result(EXPIRED)
    Callbacks(_Link()).take(ASKED, exchange)
    Callbacks(_Link()).take(ASKED, _pending(back, None))
    await _turns()
    assert not back.asked
    assert msgspec.structs.asdict(exchange)["given_up"] is None


async def test_what_is_asked_again_is_answered_alike_and_asked_once() -> None:
    link, back = _Link(), _Back()
    exchange, callbacks = _pending(back), Callbacks(link)
    callbacks.take(ASKED, exchange)
    callbacks.take(ASKED, exchange)
    await _turns()
    back.answer.set_result({"response": "blue"})
    await _turns()
    callbacks.take(ASKED, exchange)
    await _turns()
    assert len(back.asked) == 1
    assert link.told == [(RESPOND, {"callback_id": "theirs", "response": "blue"})] * 2
    assert not exchange.future.done()


async def test_an_id_that_another_call_waits_under_ends_the_call_that_repeats_it() -> None:
    link, back, other = _Link(), _Back(), _Back()
    first, second = _pending(back), _pending(other)
    second.ident = 17
    callbacks = Callbacks(link)
    callbacks.take(ASKED, first)
    await _turns()
    callbacks.take(ASKED, second)
    await _turns()
    assert other.asked == []
    assert second.given_up is not None
    assert "another call waits" in second.given_up.message
    back.answer.set_result({"response": "blue"})
    await _turns()
    assert link.told == [(RESPOND, {"callback_id": "theirs", "response": "blue"})]
    again = _pending(other)
    again.ident = 18
    other.answer.set_result({"response": "red"})
    callbacks.take(ASKED, again)
    await _turns()
    assert link.told[1:] == [(RESPOND, {"callback_id": "theirs", "response": "red"})]


async def test_a_callback_of_a_lost_session_is_neither_answered_nor_in_the_way_in_the_next() -> (
    None
):
    link, back, other = _Link(), _Back(), _Back()
    first, second = _pending(back), _pending(other)
    first.sent_in = link.number
    callbacks = Callbacks(link)
    callbacks.take(ASKED, first)
    await _turns()
    link.number = second.sent_in = 2
    second.ident = 17
    callbacks.forgotten()
    callbacks.take(ASKED, second)
    await _turns()
    assert first.given_up is not None
    assert "lost the session" in first.given_up.message
    assert first.given_up.reason == "upstream_unavailable"
    back.answer.set_result({"response": "blue"})
    await _turns()
    assert link.told == []
    callbacks.take(ASKED, second)  # said twice, asked once
    other.answer.set_result({"response": "red"})
    await _turns()
    assert len(other.asked) == 1
    assert link.told == [(RESPOND, {"callback_id": "theirs", "response": "red"})]


async def test_an_answer_on_its_way_does_not_arrive_in_the_next_session() -> None:
    link, back = _Link(), _Back()
    sent = asyncio.Event()

    async def fetch(method: str, params: Any, timeout_s: float, whose: str = "") -> bytes:
        await sent.wait()  # for the next session
        link.told.append((method, params))
        return b"{}"

    link.fetch = fetch  # type: ignore[method-assign]
    exchange, callbacks = _pending(back), Callbacks(link)
    exchange.sent_in = link.number
    callbacks.take(ASKED, exchange)
    back.answer.set_result({"response": "blue"})
    await _turns()
    link.number = 2
    callbacks.forgotten()
    sent.set()
    await _turns()
    assert link.told == []
    assert exchange.given_up is not None


async def test_a_call_of_a_lost_session_asks_in_no_other() -> None:
    link, back = _Link(), _Back()
    exchange = _pending(back)
    exchange.sent_in, link.number = 1, 2
    Callbacks(link).take(ASKED, exchange)
    await _turns()
    assert back.asked == []
    assert exchange.given_up is not None
