"""How many questions of one server are open at a time, whoever would answer them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Question
from gatewright.mcp.client import server_requests
from gatewright.mcp.client.pending_requests import Clock, PendingRequest
from gatewright.mcp.client.server_requests import UNATTRIBUTABLE, WAITING, ServerRequests
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.permissions import ASKED
from tests.costs import DOUBLED, grows
from tests.servers.rig import FakeBack, make_call

MOST = 8


class Outside:
    """A client that never answers what is asked outside calls; one question ends by its params."""

    def __init__(self) -> None:
        self.open = 0

    async def __call__(self, question: Question) -> dict[str, Any]:
        self.open += 1
        try:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
        finally:
            self.open -= 1


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_requests, "_MOST", MOST)


def _asks(ident: int) -> jsonrpc.Request:
    return jsonrpc.Request(b"%d" % ident, "roots/list")


@pytest.mark.usefixtures("few")
async def test_questions_that_belong_to_no_call_are_bounded_as_all_are() -> None:
    sent: list[bytes] = []
    one, outside = ServerRequests("s", sent.append), Outside()
    one.outside = outside
    for number in range(10 * MOST):
        one.put(_asks(number), [])
    await asyncio.sleep(0)
    assert outside.open == MOST
    assert len(sent) == 9 * MOST
    assert all(b"questions with distinct ids" in refused for refused in sent)
    one.close()


async def test_an_open_question_outside_calls_is_not_put_twice_and_can_still_be_taken_back() -> (
    None
):
    sent: list[bytes] = []
    one, outside = ServerRequests("s", sent.append), Outside()
    one.outside = outside
    for _ in range(3):
        one.put(_asks(1), [])
        await asyncio.sleep(0)
    assert (outside.open, len(sent)) == (1, 2)
    one.withdraw(b"1")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert outside.open == 0
    one.put(_asks(1), [])
    await asyncio.sleep(0)
    assert outside.open == 1
    one.close()


def _calls(*sessions: str) -> list[PendingRequest]:
    """Calls in flight, one for each name of a session."""
    loop = asyncio.get_running_loop()
    clock, found = Clock({}), []
    for number, session in enumerate(sessions):
        call = make_call("tool", "tools/call", {}, session=session)
        one = PendingRequest(number, call, FakeBack(), clock, loop.create_future())
        found.append(one)
    return found


async def test_few_questions_wait_at_a_time_until_it_is_known_whose_they_are() -> None:
    """Those of two callers whose calls have asked wait for each other."""
    sent: list[bytes] = []
    one = ServerRequests("s", sent.append)
    one.stays(1, "gone")
    for number in range(2 * WAITING):
        one.put(_asks(number), _calls("a", "b"))
    assert (len(one.held), len(sent)) == (WAITING, WAITING)
    assert all(UNATTRIBUTABLE.encode() in refused for refused in sent)
    one.close()
    await asyncio.sleep(0)


async def test_all_open_questions_together_stop_the_clocks_of_so_many_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_requests, "CANDIDATES", 25)
    sent: list[bytes] = []
    one, calls = ServerRequests("s", sent.append), _calls(*"aaaaaaaaaa")
    for number in range(4):
        one.put(_asks(number), calls)
    assert (len(one.held), len(sent)) == (2, 2)
    assert b"too many questions are open" in sent[0]
    one.close()
    await asyncio.sleep(0)


async def test_a_late_answer_costs_the_same_however_many_calls_were_given_up() -> None:
    def work(ghosts: int) -> None:
        one = ServerRequests("s", lambda frame: None)
        for number in range(ghosts):
            one.stays(1000 + number, f"gone {number}")
        for number in range(WAITING):
            one.put(_asks(number), _calls("a", "b"))
        for number in range(900):
            one.laid(1000 + number)
            one.party(_calls("a"))
        one.close()

    assert grows(lambda: work(1000), lambda: work(4000)) < DOUBLED
    await asyncio.sleep(0)


async def test_no_number_that_a_server_answers_makes_it_known_who_was_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_requests, "GHOSTS", 1)
    one = ServerRequests("s", lambda frame: None)
    for number in range(2):
        one.stays(number, "gone")
    for ident in range(-3, 5):
        one.laid(ident, jsonrpc.Response(b"%d" % ident, b"{}"))
    assert one.haunted
    assert one.party(_calls("a")) is None


async def test_a_server_that_goes_on_asking_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[bytes] = []
    one = ServerRequests("s", sent.append)
    one.told("c")
    for number in range(20):
        one.put(_asks(number), _calls("a", "b"))
    assert (len(sent), len(caplog.records)) == (20, 1)


class Breaks(FakeBack):
    """A caller whose way back breaks in some way."""

    def __init__(self, how: type[BaseException]) -> None:
        super().__init__()
        self.how = how

    async def ask(self, question: Question) -> dict[str, Any]:
        raise self.how("in the middle")


@pytest.mark.parametrize("how", [RuntimeError, ValueError, asyncio.CancelledError])
@pytest.mark.parametrize("place", ["inside", "outside", "own"])
async def test_a_question_to_which_asking_breaks_is_answered(
    how: type[BaseException], place: str
) -> None:
    """Its server would wait, and the call that asks with it."""
    if place != "inside" and how is asyncio.CancelledError:
        how = OSError  # nothing but the server itself cancels those
    sent: list[bytes] = []
    one = ServerRequests("s", sent.append)
    back = Breaks(how)
    one.outside, one.own = back.ask, back.ask
    calls = _calls("a")
    calls[0].back = back
    method = next(iter(ASKED)) if place == "own" else "roots/list"
    one.put(jsonrpc.Request(b"1", method), calls if place == "inside" else [])
    async with asyncio.timeout(10):
        while not sent or one.held:
            await asyncio.sleep(0)
    answer = jsonrpc.parse(sent[0])
    assert isinstance(answer, jsonrpc.Response)
    assert answer.error
    assert b"in the middle" not in answer.error
