"""The filter `links`: whatever in a result names a resource is found, and nothing else is touched."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Answer, Call, Caller, Event, Failure, Target
from gatewright.servers.link_filter import AT_ONCE, MOST_NAMED, Links, led, named
from gatewright.transport import slices
from tests.gate_parts import a_call, a_tool, a_tool_call


class Several:
    """A catalogue that shows everything in capitals."""

    def __init__(self, several: bool = True) -> None:
        self.named: list[Target] = []
        self._several = several

    def several(self, profile: str) -> bool:
        """As it was made."""
        return self._several

    def shown_in(self, profile: str, caller: Caller, target: Target) -> str:
        """In capitals."""
        self.named.append(target)
        return target.name.upper()


def shown(result: Any, call: Call | None = None) -> Any:
    answer = Links(Several()).outcome(
        call or a_tool_call(a_tool(), arguments={}), Answer(json.dumps(result).encode())
    )
    assert isinstance(answer, Answer)
    return json.loads(answer.raw)


LINK = {"type": "resource_link", "uri": "x://a", "name": "n"}
EMBEDDED = {"type": "resource", "resource": {"uri": "x://a", "text": "t"}}
FORMS = [
    {"content": [LINK]},
    {"content": [EMBEDDED]},
    {"messages": [{"role": "user", "content": LINK}]},
    {"messages": [{"role": "user", "content": [EMBEDDED]}]},
    {"structuredContent": {"deep": [[{"at": LINK}]]}},
    {"content": [{"type": "tool_result", "content": [EMBEDDED]}]},
    {"unknown": {"items": [LINK]}},
]


@pytest.mark.parametrize("result", FORMS)
def test_every_form_that_names_a_resource_is_found(result: Any) -> None:
    text = json.dumps(result)
    assert json.dumps(shown(result)) == text.replace("x://a", "X://A")
    escaped = Answer(text.replace("uri", "u\\u0072i").encode())
    answer = Links(Several()).outcome(a_tool_call(a_tool(), arguments={}), escaped)
    assert b"X://A" in answer.raw  # type: ignore[union-attr]


@pytest.mark.parametrize("result", FORMS)
def test_a_part_of_a_result_that_comes_as_an_event_is_a_result(result: Any) -> None:
    links, call = Links(Several()), a_tool_call(a_tool(), arguments={})
    event = Event("notifications/mgp.stream.chunk", {"content": result})
    found = links.event(call, event)
    assert isinstance(found, Event)
    assert "X://A" in json.dumps(found.params)
    assert "x://a" in json.dumps(event.params)
    other = Event("notifications/progress", {"progress": 1})
    assert links.event(call, other) is other


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": '{"type":"resource_link","uri":"x://a"}'}]},
        {"structuredContent": {"uri": "x://a", "type": "thing"}},
        {"content": [{"type": "resource_link", "uri": 7}, {"type": "resource", "resource": []}]},
        {"contents": [{"uri": "x://a"}]},
        [1, "uri"],
    ],
)
def test_what_names_no_resource_stays_the_bytes_that_came(result: Any) -> None:
    answer = Answer(json.dumps(result, indent=1).encode())
    assert Links(Several()).outcome(a_tool_call(a_tool(), arguments={}), answer) is answer


def test_what_was_read_is_called_what_was_asked_for() -> None:
    call = a_call(
        "resource", "gatewright://s/x", method="resources/read", target=Target("s", "x://a")
    )
    found = shown({"contents": [{"uri": "x://a", "text": "t"}, {"uri": "x://b"}]}, call)
    assert [one["uri"] for one in found["contents"]] == ["gatewright://s/x", "X://B"]


def test_nothing_is_looked_into_where_it_makes_no_difference() -> None:
    answer = Answer(json.dumps(FORMS[0]).encode())
    call = a_tool_call(a_tool(), arguments={})
    assert Links(Several(False)).outcome(call, answer) is answer
    assert Links(Several()).outcome(a_call("list"), answer) is answer
    failed = Failure("upstream_error", '"uri"')
    assert Links(Several()).outcome(call, failed) is failed
    broken = Answer(b'{"uri"')
    assert Links(Several()).outcome(call, broken) is broken


_VALUES = st.recursive(
    st.none() | st.integers() | st.sampled_from(["resource", "resource_link", "uri", "x://a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "uri", "resource", "content"]), inner)
    ),
    max_leaves=20,
)


@given(_VALUES)
def test_whatever_a_result_holds_only_uris_change(value: Any) -> None:
    found = shown({"content": value})
    assert json.dumps(found).replace("X://A", "x://a").replace('"RESOURCE', '"resource').replace(
        "_LINK", "_link"
    ).replace('"URI"', '"uri"') == json.dumps({"content": value})


class Beside:
    """Does at once what a worker does, and says what it was asked."""

    def __init__(self, failing: Failure | None = None) -> None:
        self.asked: list[str] = []
        self._failing = failing

    async def named(self, call: Call, raw: bytes) -> list[str] | Failure:
        """The URIs of a text."""
        self.asked.append("named")
        return self._failing or named(call.method, json.loads(raw))

    async def led(self, call: Call, raw: bytes, shown: Mapping[str, str]) -> bytes | Failure:
        """The text with others."""
        self.asked.append("led")
        result = json.loads(raw)
        led(call.method, result, lambda uri: shown.get(uri, uri))
        return json.dumps(result).encode()


PADDING = {"padding": "a" * AT_ONCE}


@pytest.mark.parametrize("result", FORMS)
async def test_a_long_result_is_read_and_changed_beside_the_loop(result: Any) -> None:
    beside = Beside()
    text = json.dumps({**result, **PADDING})
    outcome = Links(Several(), beside).outcome(
        a_tool_call(a_tool(), arguments={}), Answer(text.encode())
    )
    assert not isinstance(outcome, Answer | Failure)
    found = await outcome  # type: ignore[misc]
    assert isinstance(found, Answer)
    assert json.loads(found.raw) == json.loads(text.replace("x://a", "X://A"))
    assert beside.asked == ["named", "led"]


async def test_a_long_result_in_which_all_is_shown_as_it_stands_is_the_bytes_that_came() -> None:
    beside = Beside()
    answer = Answer(json.dumps({"content": [{**LINK, "uri": "X://A"}], **PADDING}).encode())
    outcome = Links(Several(), beside).outcome(a_tool_call(a_tool(), arguments={}), answer)
    assert await outcome is answer  # type: ignore[misc]
    assert beside.asked == ["named"]


async def test_a_long_result_that_cannot_be_read_is_not_passed_on() -> None:
    failure = Failure("output_invalid", "too much")
    answer = Answer(json.dumps({"content": [LINK], **PADDING}).encode())
    links = Links(Several(), Beside(failure))
    assert await links.outcome(a_tool_call(a_tool(), arguments={}), answer) is failure  # type: ignore[misc]
    event = Event("notifications/message", {"data": [LINK], **PADDING})
    assert await links.event(a_tool_call(a_tool(), arguments={}), event) is None  # type: ignore[misc]


async def test_a_long_event_leads_where_it_should() -> None:
    event = Event("notifications/message", {"data": [LINK], **PADDING})
    links = Links(Several(), Beside())
    found = await links.event(a_tool_call(a_tool(), arguments={}), event)  # type: ignore[misc]
    assert found is not None
    assert found.params["data"][0]["uri"] == "X://A"
    plain = Event("notifications/message", {"data": [1] * AT_ONCE})
    assert await links.event(a_tool_call(a_tool(), arguments={}), plain) is plain  # type: ignore[misc]


def test_the_number_of_resources_that_a_text_names_is_bounded() -> None:
    many = [{"type": "resource_link", "uri": f"a://{one}"} for one in range(2 * MOST_NAMED)]
    assert len(named("tools/call", {"content": many})) == MOST_NAMED + 1
    assert sorted(named("tools/call", {"content": many[:2] * 5})) == ["a://0", "a://1"]


async def test_a_long_result_that_names_nothing_is_not_read() -> None:
    beside = Beside()
    answer = Answer(json.dumps({"content": [], **PADDING}).encode())
    outcome = Links(Several(), beside).outcome(a_tool_call(a_tool(), arguments={}), answer)
    assert await outcome is answer  # type: ignore[misc]
    assert beside.asked == []


def test_what_was_read_and_is_a_link_as_well_is_renamed_once() -> None:
    call = a_call("resource", method="resources/read", name="x://b")
    result = {"contents": [dict(LINK)]}
    assert led(call.method, result, lambda uri: f"in:{uri}")
    assert result["contents"][0]["uri"] == "in:x://a"


@pytest.mark.parametrize("count", [1, 8, 9, 500])
@pytest.mark.parametrize("as_event", [False, True])
async def test_no_more_than_a_few_uris_are_looked_up_between_two_turns_of_others(
    count: int, as_event: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice that may take no time at all is over after each step."""
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    catalogue, call = Several(), a_tool_call(a_tool(), arguments={})
    links, most, seen = Links(catalogue), 0, 0

    async def other() -> None:
        nonlocal most, seen
        while True:
            most, seen = max(most, len(catalogue.named) - seen), len(catalogue.named)
            await asyncio.sleep(0)

    running = asyncio.ensure_future(other())
    await asyncio.sleep(0)
    result = {"content": [{**LINK, "uri": f"x://{at}"} for at in range(count)]}
    asked: Any
    if as_event:
        asked = links.event(call, Event("notifications/mgp.stream.chunk", result))
    else:
        asked = links.outcome(call, Answer(json.dumps(result).encode()))
    found = await asked if inspect.isawaitable(asked) else asked
    await asyncio.sleep(0)
    running.cancel()
    text = json.dumps(found.params) if as_event else found.raw.decode()
    assert text.count("X://") == len(catalogue.named) == count
    assert 0 < most <= 8
