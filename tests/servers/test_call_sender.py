"""How one call is led over one kept connection."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.call import Answer, Failure, Outcome
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.call_sender import CallSender, Route
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.relisting import Relisting
from gatewright.servers.server_callbacks import Told
from gatewright.servers.server_screen import Screen
from gatewright.servers.spec import ServerSpec
from tests.servers.rig import FakeBack, make_call, within

HELLO = Hello("2025-11-25")
UNSENT = Failure("upstream_unavailable", "it is gone", {"sent": False})
LOST = Failure("upstream_unavailable", "the outcome is unknown", {"sent": True})
LATE = Failure("upstream_timeout", "no answer")
DONE = Answer(b'{"content":[]}')


class Link:
    """A connection whose calls end as it is told."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.open, self.hello = True, HELLO
        self.left = list(outcomes)

    async def request(self, *_: Any, **__: Any) -> Outcome:
        return self.left.pop(0)


def reconnector_of(link: Any) -> Reconnector:
    async def connect() -> Any:
        raise AssertionError("no other connection is needed")

    async def connected(_: Any) -> None: ...

    spec = ServerSpec(id="s", call_s=7.0)
    keeper = Reconnector(
        spec, connect, connected=connected, changed=lambda *_: None, leave=lambda _: None
    )
    keeper.link = link
    return keeper


def passage() -> CallSender:
    told = Told(lambda *_: None, lambda *_: None, lambda *_: None)
    return CallSender(Relisting("s", lambda: None), Screen("s", told))


async def put(keeper: Reconnector) -> Outcome:
    call = make_call("tool", "tools/call", {"name": "t"})
    found: Outcome = await within(passage().put(keeper, call.method, call.params, call, FakeBack()))
    return found


@pytest.mark.parametrize(
    ("outcomes", "ends", "left"),
    [
        ([UNSENT, DONE], DONE, 0),
        ([UNSENT, UNSENT, DONE], UNSENT, 1),
        ([LOST, DONE], LOST, 1),
        ([UNSENT, LOST, DONE], LOST, 1),
    ],
)
async def test_what_was_certainly_not_sent_is_sent_once_more_and_nothing_else(
    outcomes: list[Outcome], ends: Outcome, left: int
) -> None:
    link = Link(*outcomes)
    assert await put(reconnector_of(link)) == ends
    assert len(link.left) == left


async def test_a_time_limit_says_which_one_it_was() -> None:
    outcome = await put(reconnector_of(Link(LATE)))
    assert isinstance(outcome, Failure)
    assert outcome.details["timeout_ms"] == 7000


async def test_where_there_is_no_connection_nothing_was_sent() -> None:
    outcome = await put(reconnector_of(SimpleNamespace(open=False)))
    assert isinstance(outcome, Failure)
    assert outcome.details["sent"] is False


async def test_what_belongs_to_one_connection_goes_to_no_other() -> None:
    link: Any = Link(DONE)
    other: Any = Link()
    call = make_call("method", "tasks/get", {})
    ends = []
    for only in (link, other):
        route = Route(only)
        put = passage().put(reconnector_of(link), call.method, {}, call, FakeBack(), route)
        ends.append(await within(put))
        assert route.link is link
    assert ends[0] == DONE
    assert ends[1].details == {"sent": False}
