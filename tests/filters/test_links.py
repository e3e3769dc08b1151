"""The filter `links`: whatever in a result names a resource is found, and nothing else is touched."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gatewright.call import Answer, Call, Caller, Event, Failure, Target
from gatewright.filters.links import AT_ONCE, MOST, Links, holders
from tests.gates.parts import a_call, a_tool, a_tool_call


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
    assert found is not None
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
    """Reads at once what is put to it, or cannot."""

    def __init__(self, problem: Failure | None = None) -> None:
        self.problem = problem
        self.asked = 0

    async def uris(self, call: Call, raw: bytes, *, read: bool) -> list[str] | Failure:
        self.asked += 1
        found = dict.fromkeys(one["uri"] for one in holders(json.loads(raw), read=read))
        return self.problem or list(found)

    async def renamed(
        self, call: Call, raw: bytes, shown: Mapping[str, str], *, read: bool
    ) -> bytes | Failure:
        self.asked += 1
        result = json.loads(raw)
        for one in holders(result, read=read):
            one["uri"] = shown.get(one["uri"], one["uri"])
        return json.dumps(result).encode()


async def large(result: Any, beside: Beside, call: Call | None = None) -> Any:
    raw = json.dumps({**result, "filler": "x" * AT_ONCE}).encode()
    found = Links(Several(), beside).outcome(
        call or a_tool_call(a_tool(), arguments={}), Answer(raw)
    )
    assert isinstance(found, Awaitable)
    return await found


@pytest.mark.parametrize("result", FORMS)
async def test_a_large_result_leads_to_the_same_places(result: Any) -> None:
    found = json.loads((await large(result, Beside())).raw)
    found.pop("filler")
    assert found == shown(result)


async def test_a_large_result_that_names_nothing_is_not_read() -> None:
    beside = Beside()
    assert json.loads((await large({"content": []}, beside)).raw)["content"] == []
    assert beside.asked == 0


async def test_a_large_result_whose_links_cannot_be_read_does_not_pass() -> None:
    no = Failure("output_invalid", "too much")
    assert await large({"content": [LINK]}, Beside(no)) is no
    many = {"content": [{**LINK, "uri": f"x://{one}"} for one in range(MOST + 1)]}
    found = await large(many, Beside())
    assert (found.reason, found.details["rule"]) == ("output_invalid", "too_many_resources")


@pytest.mark.parametrize("beside", [None, Beside()])
async def test_a_place_that_names_a_resource_in_two_ways_is_renamed_once(
    beside: Beside | None,
) -> None:
    class Wrapping(Several):
        def shown_in(self, profile: str, caller: Caller, target: Target) -> str:
            return f"in:{target.name}"

    call = a_call("resource", method="resources/read", name="x://b")
    size = AT_ONCE if beside else 0
    raw = json.dumps({"contents": [LINK], "filler": "x" * size}).encode()
    found = Links(Wrapping(), beside).outcome(
        replace(call, target=Target("s", "x://b")), Answer(raw)
    )
    if not isinstance(found, Answer):
        found = await found  # type: ignore[misc]
    assert json.loads(found.raw)["contents"][0]["uri"] == "in:x://a"
