"""The state of a server's `input_required` result comes back to that server, and to no other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import Answer, Refusal
from gatewright.servers.request_state import bound, returned
from gatewright.servers.server_screen import Screen
from tests.servers.rig import MODERN, FakeBack, make_call
from tests.servers.test_server_screen import FORM, House


class ClientRequests:
    """A modern connection whose server asks in the first round; it keeps what it was sent."""

    hello = None

    def __init__(self, **said: Any) -> None:
        self.sent: list[dict[str, Any]] = []
        self._said = {"resultType": "input_required", "inputRequests": {"q": FORM}, **said}

    async def request(self, method: str, params: dict[str, Any], **_: Any) -> Any:
        self.sent.append(params)
        return Answer(json.dumps(self._said).encode(), modern=True)


async def put(screen: Screen, link: Any, params: dict[str, Any]) -> Any:
    call = make_call("resource", "resources/read", params, client=MODERN)
    return await screen.request(link, call.method, params, call, FakeBack(), 0)


@pytest.mark.parametrize("state", ["", "s", "other/s", "a/b"])
def test_a_state_comes_back_as_its_server_gave_it(state: str) -> None:
    params = {"uri": "doc://a", "requestState": bound("files", state)}
    assert returned("files", "resources/read", params) == {"uri": "doc://a", "requestState": state}


def test_where_no_state_was_given_none_comes_back() -> None:
    params = {"uri": "x:1", "requestState": bound("files", None)}
    assert returned("files", "resources/read", params) == {"uri": "x:1"}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "x:1"}),
        ("resources/read", {"uri": "x:1", "requestState": None}),
        ("acme/own", {"requestState": "its own word"}),
    ],
)
def test_what_brings_no_state_back_is_left_alone(method: str, params: dict[str, Any]) -> None:
    assert returned("files", method, params) is params


async def test_a_state_does_not_come_back_to_what_took_the_place_of_its_server() -> None:
    told = House().screen._told
    first, second = Screen("files", told, "0a"), Screen("files", told, "0b")
    asked = await put(first, ClientRequests(requestState="s"), {"uri": "x:1"})
    params = {"uri": "x:1", "requestState": json.loads(asked.raw)["requestState"]}
    link = ClientRequests()
    assert isinstance(await put(second, link, params), Refusal)
    assert link.sent == []
    await put(first, link, params)
    assert link.sent == [{"uri": "x:1", "requestState": "s"}]


@pytest.mark.parametrize("state", ["file/s", "filesystem/s", "/s", "", "file"])
def test_the_state_of_another_server_does_not_come_back(state: str) -> None:
    found = returned("files", "tools/call", {"requestState": state})
    assert isinstance(found, Refusal)
    assert (found.reason, found.details) == ("invalid_params", {"sent": False})


async def test_a_round_that_leads_to_another_server_by_now_takes_neither_state_nor_answers_there() -> (
    None
):
    """The URI was that of one server in the first round and is that of another one in the second."""
    first, second = House().screen, Screen("evil", House().screen._told)
    link, other = ClientRequests(requestState="what files remembers"), ClientRequests()
    asked = json.loads((await put(first, link, {"uri": "doc://a"})).raw)
    again = {
        "uri": "doc://a",
        "requestState": asked["requestState"],
        "inputResponses": {"q": {"action": "accept", "content": {"name": "Ann"}}},
    }
    found = await put(second, other, again)
    assert isinstance(found, Refusal)
    assert other.sent == []
    await put(first, link, again)
    assert link.sent[1] == {**again, "requestState": "what files remembers"}


async def test_answers_are_bound_where_the_server_gave_no_state() -> None:
    screen, link = House().screen, ClientRequests()
    asked = json.loads((await put(screen, link, {"uri": "doc://a"})).raw)
    assert asked["requestState"] == "files"
    answers = {"q": {"action": "decline"}}
    again = {"uri": "doc://a", "requestState": "files", "inputResponses": answers}
    await put(screen, link, again)
    assert link.sent[1] == {"uri": "doc://a", "inputResponses": answers}
