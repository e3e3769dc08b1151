"""Who may be meant by a server after a call is over: who has a task, and who said something."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast
from weakref import ref

import pytest
from msgspec.structs import replace

from gatewright.call import Call, Target
from gatewright.mcp.client import related_tasks
from gatewright.mcp.client.http_rules import messages
from gatewright.mcp.client.notifications import Notes
from gatewright.mcp.client.pending_requests import Clock, PendingRequest
from gatewright.mcp.client.related_tasks import Related
from gatewright.mcp.client.server_requests import ServerRequests
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.jsonrpc import Response
from gatewright.transport.large_text import LARGE
from tests.behaviour.task_places import (
    ANN,
    BOB,
    WORDS_OF_IT,
    House,
    asked_in_time,
    implied_places,
    speaker,
    to,
)
from tests.servers.rig import MODERN, make_call, running


@pytest.fixture
async def legacy(tmp_path: Path) -> AsyncIterator[House]:
    async with running(speaker(tmp_path, "one", "legacy")) as supervisor:
        yield House(supervisor, "legacy")


async def test_a_call_that_is_given_up_and_made_a_task_after_all_may_be_the_one_that_asks(
    legacy: House,
) -> None:
    """Its server answers it late, with a task that runs."""
    link = legacy.supervisor.fleet.servers["one"].link
    assert link is not None
    call = legacy.tool(BOB, "work", {})
    running_ = asyncio.ensure_future(legacy.put(call))
    await asyncio.sleep(0)
    running_.cancel()
    await asyncio.wait([running_])
    await legacy.seen()
    legacy.take("ann")
    (place,) = [one for one in implied_places() if one.name == "notifications/message"]
    await legacy.put(legacy.tool(ANN, "say", place.about("")))
    assert not [one for one in legacy.take("ann") if WORDS_OF_IT in one]


async def test_who_said_something_may_be_the_one_whom_a_server_means_ever_after(
    legacy: House,
) -> None:
    note = to(
        legacy.method(BOB, "notifications/acme.said", {}), Target("one", "notifications/acme.said")
    )
    await legacy.put(note)
    link = legacy.supervisor.fleet.servers["one"].link
    assert link is not None
    assert link.sole == note.party
    wrong = []
    for place in implied_places():
        wrong += await asked_in_time(legacy, place)
    assert wrong == []
    (log,) = [one for one in implied_places() if one.name == "notifications/message"]
    await legacy.put(legacy.tool(BOB, "say", log.about("")))
    assert any(WORDS_OF_IT in one for one in legacy.take("bob"))


class Connection:
    """What one knows of its tasks, and a link that hears nothing."""

    def __init__(self) -> None:
        self.pending: dict[int, PendingRequest] = {}
        self.questions = ServerRequests("s", lambda _: None)
        link: Any = self
        self.notes = Notes(link, self.pending, self.questions)

    def told(self, method: str, params: dict[str, Any]) -> None:
        """Whoever hears of tasks."""

    def asks(self, method: str, about: str = "", **params: Any) -> PendingRequest:
        call = make_call("method" if about else "tool", method, params)
        future: Any = asyncio.get_running_loop().create_future()
        one = PendingRequest(len(self.pending), call, None, Clock(self.pending), future, task=about)
        self.pending[one.ident] = one
        return one

    def made(self) -> PendingRequest:
        one = self.asks("tools/call", name="t", task={})
        one.settle(Response(b"1", b'{"task":{"taskId":"T","status":"working","ttl":1000}}'))
        return one

    @property
    def runs(self) -> bool:
        return self.questions.laid("task T")


@pytest.mark.parametrize(("status", "runs"), [("completed", False), ("working", True)])
async def test_a_task_that_ends_before_anybody_saw_it_made_does_not_run(
    status: str, runs: bool
) -> None:
    one = Connection()
    made = one.made()
    one.notes.take("notifications/tasks/status", {"taskId": "T", "status": status}, None)
    one.questions.lives.answered(made)
    assert one.runs is runs
    one.questions.lives.close()


@pytest.mark.parametrize(
    ("method", "code", "runs"),
    [
        ("tasks/result", -32603, False),
        ("tasks/result", -32602, False),
        ("tasks/result", -32601, True),
        ("tasks/get", -32603, True),
        ("tasks/get", -32602, False),
        ("tasks/update", -32602, True),
    ],
)
async def test_a_task_whose_call_failed_runs_no_more(method: str, code: int, runs: bool) -> None:
    one = Connection()
    one.questions.lives.answered(one.made())
    asked = one.asks(method, "T")
    asked.settle(Response(b"2", b"", b'{"code":%d,"message":"no"}' % code))
    one.questions.lives.answered(asked)
    assert one.runs is runs
    one.questions.lives.close()


@pytest.mark.parametrize(("rest", "runs"), [(0, True), (1024 * 1024, False)])
async def test_what_is_told_at_length_of_a_task_is_what_its_call_came_to(
    rest: int, runs: bool
) -> None:
    """It is not looked through for a status."""
    one = Connection()
    one.questions.lives.answered(one.made())
    asked = one.asks("tasks/get", "T")
    asked.settle(Response(b"2", b'{"status":"working","rest":"%b"}' % (b"x" * rest)))
    one.questions.lives.answered(asked)
    assert one.runs is runs
    one.questions.lives.close()


class Words(dict[str, Any]):
    """What a call said, of which it can be seen that nobody keeps it."""


async def test_what_was_said_in_a_call_that_is_given_up_is_not_kept() -> None:
    """However long its server takes to answer: a client could have thousands of such calls."""
    one = Connection()
    exchange = one.asks("tools/call", name="t", task={})
    assert exchange.call is not None
    words = Words(exchange.call.params)
    exchange.call = replace(exchange.call, params=words)
    one.questions.abandoned(exchange)
    ident, seen = exchange.ident, ref(words)
    one.pending.clear()
    del exchange, words
    assert seen() is None
    made = b'{"task":{"taskId":"T","status":"working","ttl":1000}}'
    one.questions.laid(ident, Response(b"0", made))
    assert one.runs
    one.questions.lives.close()


@pytest.mark.parametrize("more", ["", ',"more":1'])
async def test_a_task_that_is_made_at_length_runs_whatever_stands_behind_what_is_said_of_it(
    more: str,
) -> None:
    """Else another caller would be asked what it asks."""
    one, task = Connection(), '{"taskId":"T","status":"working","ttl":1000}'
    frame = f'{{"jsonrpc":"2.0","id":0,"result":{{"task":{task},"x":"{"x" * LARGE}"}}{more}}}'
    made = one.asks("tools/call", name="t", task={})
    (reply,) = messages(frame.encode())
    assert isinstance(reply, Response)
    made.settle(reply)
    one.questions.lives.answered(made)
    runs = [one.runs]
    asked = one.asks("tasks/get", "T")
    ended = (
        f'{{"jsonrpc":"2.0","id":1,"result":{{"status":"completed","x":"{"x" * LARGE}"}}{more}}}'
    )
    one.questions.stays("task T", "a")
    (reply,) = messages(ended.encode())
    assert isinstance(reply, Response)
    asked.settle(reply)
    one.questions.lives.answered(asked)
    assert [*runs, one.runs] == [True, False]
    one.questions.lives.close()


class AllHaveIt:
    """Every caller has every task, by the same name."""

    def shown(self, call: Call, task: str) -> str | None:
        return task

    def meant(self, call: Call, name: str) -> str | None:
        return name


@pytest.mark.parametrize("about", ["T", ""])
async def test_who_waits_for_a_task_twice_is_asked_through_the_newer_call(about: str) -> None:
    """A caller without sessions is another party with each call."""
    related, one = Related(), Connection()
    related.book = AllHaveIt()
    first, second = (one.asks("tasks/result", about or "-") for _ in range(2))
    for exchange in (first, second):
        exchange.task = about
        exchange.call = replace(cast("Call", exchange.call), session=None, client=MODERN)
    assert first.party != second.party
    assert related.about("T", [first, second]) == [second]


@pytest.mark.parametrize("said", [b"[1e1" + b",1e1" * 100_000 + b"]", b'"' + b"x" * 500_000 + b'"'])
def test_a_status_and_a_code_that_are_longer_than_any_are_not_decoded(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode, decoded = jsonrpc.decode, list[int]()
    monkeypatch.setattr(
        jsonrpc, "decode", lambda data: (decoded.__iadd__([len(data)]), decode(data))[1]
    )
    status = jsonrpc.Response(b"1", b'{"taskId":"a","status":%b}' % said)
    error = jsonrpc.Response(b"1", error=b'{"message":"no","code":%b}' % said)
    assert not related_tasks._has_ended("tasks/get", status)
    assert not related_tasks._gave_up(status)
    assert not related_tasks._has_ended("tasks/update", error)
    assert decoded == []


def test_an_error_that_is_too_long_to_be_passed_on_ends_the_task_whose_result_was_asked_for() -> (
    None
):
    error = jsonrpc.Response(b"1", error=b'{"message":"%b","code":1}' % (b"x" * 2_000_000))
    assert related_tasks._has_ended("tasks/result", error)
    assert not related_tasks._has_ended("tasks/get", error)
