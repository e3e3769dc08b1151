"""Whose a question is: every kind of question, asked at every moment in the life of every mix of calls.

The model knows for which call the server asks, which the connection does not. A call whose question is open waits for it: its
server does not answer it before (`docs/decisions/0046-under-its-own-name.md`). What is looked at from outside: a caller is only ever asked
about its own call, and where it cannot be known whose it is, nobody is asked."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gatewright.call import ANONYMOUS, Failure, Question, UserContext
from gatewright.mcp.client import server_requests
from gatewright.mcp.client.pending_requests import Clock, PendingRequest
from gatewright.mcp.client.server_requests import UNATTRIBUTABLE, ServerRequests
from gatewright.mcp.wire import jsonrpc
from tests.servers.rig import LEGACY, MODERN, make_call

METHODS = ("elicitation/create", "sampling/createMessage", "roots/list", "vendor/question")
LESS = replace(ANONYMOUS, user=(UserContext(resources=("/srv/**",)),))
Act = Literal["start", "answer", "cancel", "late", "ask", "wait", "exact"]


class Caller:
    """The way back to one call: notes what it was asked about."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.number = world, number

    def emit(self, event: object) -> None:
        """Nothing here looks at events."""

    async def ask(self, question: Question) -> dict[str, Any]:
        assert question.params is not None
        self.world.asked.append((self.number, question.params["about"]))
        return {"by": self.number}


class World:
    """Calls of several parties on one connection, and a server that knows what it asks for."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.asked: list[tuple[int, int]] = []
        self.party: dict[int, str] = {}
        self.open: dict[int, PendingRequest] = {}
        self.given_up: dict[int, PendingRequest] = {}
        self.clock = Clock({})
        self.questions = ServerRequests("s", self.said)
        self.ids = itertools.count(1)
        self.waiting: dict[bytes, int] = {}  # by open question: the call that waits for it

    def start(self, session: str | None, modern: bool) -> None:
        number = next(self.ids)
        name, _, less = (session or "").partition(" ")  # `a less` is `a` with a key of other limits
        caller, client = LESS if less else ANONYMOUS, MODERN if modern else LEGACY
        who: Any = {"session": name or None, "client": client, "caller": caller}
        call = make_call("tool", "tools/call", {}, **who)
        loop = asyncio.get_running_loop()
        one = PendingRequest(number, call, Caller(self, number), self.clock, loop.create_future())
        one.due = loop.time() + 1000
        self.open[number] = one
        self.party[number] = one.party

    def said(self, frame: bytes) -> None:
        """The server gets the answer to a question of its own."""
        self.sent.append(frame)
        self.waiting.pop(bytes(jsonrpc.decode_members(frame)["id"]), None)

    def answer(self, number: int) -> None:
        one = self.open.pop(number)
        one.settle(self.reply(number))
        self.questions.answered(one)

    def reply(self, number: int) -> jsonrpc.Response:
        """The answer to a call: a failure where its server waits for its caller no longer, of which the question says nothing."""
        if number in self.waiting.values():
            return jsonrpc.Response(b"1", b'{"isError":true}')
        return jsonrpc.Response(b"1", b"{}")

    def cancel(self, number: int) -> None:
        one = self.given_up[number] = self.open.pop(number)
        one.future.cancel()
        self.questions.abandoned(one)

    def late(self, number: int) -> None:
        """The server answers a call that was given up: it asks nothing for that any more."""
        if number in self.given_up:
            del self.given_up[number]
            self.questions.laid(number, self.reply(number))

    def ask(self, method: str, about: int, exact: bool) -> None:
        params = jsonrpc.encode({"about": about})
        ident = b"%d" % next(self.ids)
        self.waiting[ident] = about
        live = [*self.open.values()]
        if exact:
            live = [self.open[about]] if about in self.open else []
        self.questions.put(jsonrpc.Request(ident, method, params), live, exact=exact)

    def of(self, numbers: Any, which: int) -> int | None:
        found = list(numbers)
        return found[which % len(found)] if found else None


def act(world: World, step: tuple[Act, int, str | None, str, bool]) -> None:
    what, which, session, method, modern = step
    if what == "start":
        world.start(session, modern)
    elif what in ("ask", "exact"):
        about = world.of([*world.open, *world.given_up], which)
        if about is not None and (what == "ask" or about in world.open):
            world.ask(method, about, what == "exact")
    elif what == "late" and (number := world.of(world.given_up, which)) is not None:
        world.late(number)
    elif what in ("answer", "cancel") and (number := world.of(world.open, which)) is not None:
        (world.answer if what == "answer" else world.cancel)(number)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["start", "start", "ask", "ask", "exact", "answer", "cancel", "late", "wait"]
        ),
        st.integers(0, 7),
        st.sampled_from(["a", "a less", "b", None]),
        st.sampled_from(METHODS),
        st.booleans(),
    ),
    max_size=40,
)


async def _turns(count: int = 8) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_a_question_reaches_the_party_that_it_was_asked_for_or_nobody(steps: Any) -> None:
    async def run() -> None:
        world = World()
        for step in steps:
            act(world, step)
            if step[0] == "wait":
                await _turns()
            for asked, about in world.asked:
                assert world.party[asked] == world.party[about], (asked, about)
        for number in list(world.open):
            world.cancel(number)
        await _turns()
        assert all(world.party[asked] == world.party[about] for asked, about in world.asked)
        world.questions.close()
        await _turns()

    asyncio.run(run())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("session", ["b", "a less", None])
async def test_no_time_makes_a_call_that_was_given_up_somebody_elses(
    method: str, session: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_requests, "HELD_S", 0.02)
    world = World()
    world.start("a", modern=False)
    world.cancel(1)
    world.start(session, modern=False)
    loop = asyncio.get_running_loop()
    before = loop.time
    monkeypatch.setattr(loop, "time", lambda: before() + 86_400.0)
    await _turns()
    world.open[2].due = loop.time() + 1000
    world.ask(method, about=1, exact=False)
    async with asyncio.timeout_at(loop.time() + 20):
        while not world.sent:
            await asyncio.sleep(0)
    assert world.asked == []
    assert UNATTRIBUTABLE.encode() in world.sent[0]


async def test_a_held_question_dies_with_its_candidates_and_is_never_put_to_later_calls() -> None:
    world = World()
    world.start("a", modern=False)
    world.start("b", modern=False)
    world.ask(METHODS[0], about=1, exact=False)
    await _turns()
    world.cancel(1)
    world.cancel(2)
    world.start("c", modern=False)
    await _turns()
    assert world.asked == []
    assert b"is over" in world.sent[0]
    assert world.questions.held == []


async def test_what_ends_in_the_very_turn_in_which_a_question_arrives_is_seen() -> None:
    world = World()
    world.start("a", modern=False)
    world.start("b", modern=False)
    world.ask(METHODS[0], about=2, exact=False)
    world.answer(1)
    world.cancel(2)
    await _turns()
    assert world.asked == []


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_question_of_a_call_that_fails_is_put_to_nobody_else(cancelled: bool) -> None:
    """Its server waits no longer and does not say so: the question was put to the other caller, who answered it."""
    world = World()
    world.start("a", modern=False)
    world.start("b", modern=False)
    world.ask(METHODS[0], about=1, exact=False)
    await _turns()
    if cancelled:
        world.cancel(1)
        world.late(1)
    else:
        world.answer(1)
    await _turns()
    assert world.asked == []
    assert UNATTRIBUTABLE.encode() in world.sent[0]
    world.ask(METHODS[0], about=2, exact=False)
    await _turns()
    assert world.asked == [(2, 2)]


@pytest.mark.parametrize("sent", [True, False])
async def test_a_question_of_a_call_with_a_broken_answer_is_put_to_nobody_else(sent: bool) -> None:
    """`"result": null` beside an error, say: it is over all the same. What was never sent has asked nothing."""
    world = World()
    world.start("a", modern=False)
    world.start("b", modern=False)
    world.ask(METHODS[0], about=1, exact=False)
    await _turns()
    exchange = world.open.pop(1)
    exchange.settle(Failure("upstream_error", "broken", {} if sent else {"sent": False}))
    world.questions.answered(exchange)
    await _turns()
    assert world.asked == ([] if sent else [(2, 1)])


@pytest.mark.parametrize(
    ("reply", "asked"),
    [(b"{}", [(2, 1)]), (b'{"isError":true}', []), (b"", [])],
)
async def test_a_question_of_what_was_fetched_for_a_caller_and_fails_is_put_to_nobody_else(
    reply: bytes, asked: list[Any]
) -> None:
    """What the gateway asks for a party that has no call here may be what the server asks about, too."""
    world = World()
    loop = asyncio.get_running_loop()
    fetched = PendingRequest(1, None, None, world.clock, loop.create_future())
    world.questions.stays(next(world.ids), ANONYMOUS.party("a"))
    world.start("b", modern=False)
    world.ask(METHODS[0], about=1, exact=False)
    await _turns()
    fetched.settle(jsonrpc.Response(b"1", reply))
    world.questions.answered(fetched)
    await _turns()
    assert world.asked == asked


@pytest.mark.parametrize(
    ("status", "asked"),
    [("completed", [(1, 9)]), ("failed", []), ("cancelled", [])],
)
@pytest.mark.parametrize("read", [False, True])
async def test_a_question_of_a_task_that_comes_to_nothing_is_put_to_nobody_else(
    status: str, asked: list[Any], read: bool
) -> None:
    """Whether the server says so by itself, or is asked."""
    world = World()
    lives = world.questions.lives
    world.questions.stays("task T", ANONYMOUS.party("b"))
    world.start("a", modern=False)
    world.ask(METHODS[0], about=9, exact=False)
    await _turns()
    assert world.asked == []
    if read:
        call = make_call("method", "tasks/get", {"taskId": "T"}, session="b", client=LEGACY)
        future = asyncio.get_running_loop().create_future()
        get = PendingRequest(7, call, None, world.clock, future, task="T")
        get.settle(jsonrpc.Response(b"7", b'{"taskId":"T","status":"%b"}' % status.encode()))
        lives.answered(get)
    else:
        lives.said({"taskId": "T", "status": status})
    await _turns()
    assert world.asked == asked


async def test_more_given_up_calls_than_can_be_remembered_leave_nobody_to_be_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_requests, "GHOSTS", 3)
    monkeypatch.setattr(server_requests, "HELD_S", 0.02)
    world = World()
    for number in range(1, 6):
        world.start("a", modern=False)
        world.cancel(number)
    for number in range(1, 6):
        world.late(number)
    world.start("b", modern=False)
    assert world.questions.party([*world.open.values()]) is None
    world.ask(METHODS[0], about=5, exact=False)
    async with asyncio.timeout(20):
        while not world.sent:
            await asyncio.sleep(0.005)
    assert world.asked == []


async def test_a_call_of_the_same_session_may_still_be_asked() -> None:
    world = World()
    world.start("a", modern=False)
    world.cancel(1)
    world.start("a", modern=False)
    world.ask(METHODS[0], about=1, exact=False)
    await _turns()
    assert world.asked == [(2, 1)]


@pytest.mark.parametrize("told", [["c"], ["a", "c"], ["a", "b"]])
async def test_a_question_that_no_wait_can_settle_is_refused_at_once(told: list[str]) -> None:
    """What somebody said may make a server ask for as long as the connection lasts."""
    world = World()
    for session in ("a", "b"):
        world.start(session, modern=False)
    for session in told:
        world.questions.told(ANONYMOUS.party(session))
    world.ask(METHODS[0], about=1, exact=False)
    await _turns()
    assert (world.asked, len(world.sent)) == ([], 1)
    assert UNATTRIBUTABLE.encode() in world.sent[0]


async def test_who_said_something_and_alone_is_left_of_all_is_asked() -> None:
    world = World()
    for session in ("a", "b"):
        world.start(session, modern=False)
    world.questions.told(ANONYMOUS.party("a"))
    world.ask(METHODS[0], about=1, exact=False)
    await _turns()
    assert world.sent == []
    world.answer(2)
    await _turns()
    assert world.asked == [(1, 1)]


async def test_a_call_that_has_its_answer_is_not_asked_although_nobody_has_read_that_yet() -> None:
    world = World()
    for _ in range(2):
        world.start("a", modern=False)
    world.open[2].settle(jsonrpc.Response(b"1", b"{}"))
    world.ask(METHODS[0], about=1, exact=False)
    await _turns()
    assert world.asked == [(1, 1)]


async def test_after_the_answer_of_the_only_call_a_server_asks_outside_any_call() -> None:
    world = World()
    world.start("a", modern=False)
    world.open[1].settle(jsonrpc.Response(b"1", b"{}"))
    world.ask("roots/list", about=1, exact=False)
    await _turns()
    assert (world.asked, world.sent) == ([], [jsonrpc.response(b"2", b'{"roots":[]}')])


async def test_a_question_waits_for_nobody_who_is_given_up_after_it_and_began_after_it() -> None:
    world = World()
    for session in ("a", "b"):
        world.start(session, modern=False)
    world.ask(METHODS[0], about=2, exact=False)
    await _turns()
    world.start("c", modern=False)
    world.cancel(max(world.open))
    assert world.asked == []
    world.answer(1)
    await _turns()
    assert world.asked == [(2, 2)]


async def test_a_question_waits_no_longer_once_a_call_that_was_given_up_is_answered() -> None:
    world = World()
    world.start("a", modern=False)
    world.cancel(1)
    world.start("b", modern=False)
    world.ask(METHODS[0], about=2, exact=False)
    await _turns()
    assert world.asked == []
    world.late(1)
    await _turns()
    assert world.asked == [(2, 2)]
