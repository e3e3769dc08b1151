"""Fetching what a server offers: all pages, in order, and no farther than it makes sense."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from gatewright.mcp.client.link import ServerFailed
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.listing import EMPTY, Listing, fetch_listing, fetch_section, settled
from gatewright.servers.spec import CatalogueLimits, ServerSpec
from gatewright.transport.slices import whole
from tests.servers.passes import Passes
from tests.servers.rig import within
from tests.servers.scripted import Scripted, linked

SPEC = ServerSpec(id="s")
ALL: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}}


async def answering(server: Scripted, **results: Any) -> list[dict[str, Any]]:
    """Answer requests by method until all of them have been asked; a list answers page after page."""
    asked = []
    left = {key.replace("_", "/"): list(value) for key, value in results.items()}
    while any(left.values()):
        request = await server.next()
        asked.append(request)
        found = left[request["method"]].pop(0)
        key = "error" if "code" in found else "result"
        server.say(id=request["id"], **{key: found})
    return asked


async def fetched(capabilities: dict[str, Any], **results: Any) -> tuple[Listing, list[Any]]:
    async with linked(capabilities=capabilities) as (link, server):
        fetching = asyncio.ensure_future(fetch_listing(link, SPEC))
        asked = await within(answering(server, **results))
        return await within(fetching), asked


async def test_only_what_the_server_declares_is_asked_for() -> None:
    listing, asked = await fetched({"tools": {}}, tools_list=[{"tools": [{"name": "t"}]}])
    assert [one["method"] for one in asked] == ["tools/list"]
    assert [bytes(one["name"]) for one in listing.of("tools")] == [b'"t"']
    assert listing.of("prompts") == ()


async def test_a_large_page_is_gone_through_once_in_a_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools = [{"name": f"t{one}", "description": "x" * 100} for one in range(6000)]
    passes = Passes(monkeypatch)
    listing, _ = await fetched({"tools": {}}, tools_list=[{"tools": tools}])
    passes.stop()
    assert len(listing.of("tools")) == 6000
    assert passes.in_one_turn == 1


async def test_all_pages_are_joined_in_order() -> None:
    pages = [
        {"tools": [{"name": "a"}], "nextCursor": "2"},
        {"tools": [], "nextCursor": ""},
        {"tools": [{"name": "b"}], "nextCursor": None},
    ]
    listing, asked = await fetched({"tools": {}}, tools_list=pages)
    assert [one["params"] for one in asked] == [{}, {"cursor": "2"}, {"cursor": ""}]
    assert [bytes(one["name"]) for one in listing.of("tools")] == [b'"a"', b'"b"']
    assert listing.failures == {}


async def test_a_list_that_fails_is_a_warning_and_costs_no_other() -> None:
    async with linked(capabilities=ALL) as (link, server):
        fetching = asyncio.ensure_future(fetch_listing(link, SPEC))
        for _ in range(4):
            request = await server.next()
            if request["method"] == "prompts/list":
                server.say(id=request["id"], result={"prompts": [{"name": "p"}]})
            else:
                server.say(id=request["id"], error={"code": -32601, "message": "no"})
        listing = await within(fetching)
    assert len(listing.of("prompts")) == 1
    # Many servers have resources and no templates, so that one is no news.
    assert [one.partition(" failed")[0] for one in listing.failures.values()] == [
        "tools/list",
        "resources/list",
    ]
    assert listing.missed == frozenset(), (
        "a method that it does not know it will not know in a minute"
    )


async def test_only_what_changed_is_fetched_again_and_a_failure_loses_nothing() -> None:
    async with linked(capabilities=ALL) as (link, server):
        before = Listing(link.hello, {"tools": [{}], "prompts": [{}, {}]})  # type: ignore[arg-type]
        fetching = asyncio.ensure_future(fetch_listing(link, SPEC, before, {"prompts"}))
        request = await server.next()
        assert request["method"] == "prompts/list"
        server.say(id=request["id"], error={"code": -1, "message": "not now"})
        listing = await within(fetching)
        assert (len(listing.of("tools")), len(listing.of("prompts"))) == (1, 2)
        assert list(listing.failures) == ["prompts"]
        assert listing.missed == {"prompts"}
        fetching = asyncio.ensure_future(fetch_listing(link, SPEC, listing, {"tools"}))
        server.say(id=(await server.next())["id"], result={"tools": [{}, {}]})
        listing = await within(fetching)
        assert (len(listing.of("tools")), list(listing.failures)) == (2, ["prompts"])


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ({"tools": [{"name": "t"}], "nextCursor": "same"}, "no end"),
        ({"tools": {"name": "t"}}, "not as MCP has it"),
        ({"tools": ["t"]}, "not as MCP has it"),
    ],
)
async def test_a_list_that_cannot_be_right_is_refused(page: Any, words: str) -> None:
    async with linked(capabilities=ALL) as (link, server):
        fetching = asyncio.ensure_future(fetch_section(link, SPEC, "tools"))
        for _ in range(2 if "nextCursor" in page else 1):
            server.say(id=(await server.next())["id"], result=page)
        with pytest.raises(ServerFailed, match=words):
            await within(fetching)


async def test_a_list_of_endless_pages_is_given_up() -> None:
    spec = ServerSpec(id="s", catalogue=CatalogueLimits(pages=3))
    async with linked(capabilities=ALL) as (link, server):
        fetching = asyncio.ensure_future(fetch_section(link, spec, "tools"))
        for number in range(3):
            page = {"tools": [], "nextCursor": str(number)}
            server.say(id=(await server.next())["id"], result=page)
        with pytest.raises(ServerFailed, match="more than 3 pages"):
            await within(fetching)


async def test_the_end_of_the_connection_is_no_empty_list() -> None:
    async with linked(capabilities=ALL) as (link, server):
        fetching = asyncio.ensure_future(fetch_listing(link, SPEC))
        await server.next()
        server.pipe.close()
        with pytest.raises(ServerFailed, match="ended"):
            await within(fetching)


def test_a_server_that_never_spoke_offers_nothing() -> None:
    assert EMPTY.of("tools") == ()
    assert EMPTY.hello.revision == ""


async def test_a_list_has_a_bound_over_all_its_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatewright.servers.listing._MOST_BYTES", 1000)
    pages = [{"tools": [{"name": "a" * 600}], "nextCursor": one} for one in ("2", "3")]
    listing, _ = await fetched({"tools": {}}, tools_list=pages)
    assert listing.failures == {
        "tools": "tools/list failed: tools/list: the list has more than 1000 bytes"
    }
    assert listing.of("tools") == ()


def _said(*tools: str, prompts: int = 1) -> Listing:
    sections: dict[Any, Any] = {
        "tools": [{"name": Raw(one.encode())} for one in tools],
        "prompts": [{"name": Raw(b"%d" % n)} for n in range(prompts)],
    }
    return Listing(Hello("2025-11-25", {"tools": {}}), sections)


def test_what_is_listed_again_is_the_same_object_where_it_says_the_same() -> None:
    before = _said("a", "b")
    assert whole(settled(_said("a", "b"), before)) is before
    for other in (_said("a", "c"), _said("a"), _said("b", "a")):
        found = whole(settled(other, before))
        assert found == other
        assert found.of("prompts") is before.of("prompts")
        assert found.of("tools") is other.of("tools")
    none = _said(prompts=0)
    assert whole(settled(none, before)) is none
    failed = replace(_said("a", "b"), failures={"tools": "gone"})
    found = whole(settled(failed, before))
    assert (found, found.of("tools") is before.of("tools")) == (failed, True)
    less = Listing(before.hello, {"tools": _said("a", "b").of("tools")})
    assert whole(settled(less, before)) == less
    assert whole(settled(before, EMPTY)) is before


def test_lists_are_compared_one_entry_a_step_and_no_farther_than_the_first_that_differs() -> None:
    before, same = _said(*"abcdef"), _said(*"abcdef")
    assert sum(1 for _ in settled(same, before)) == 7
    assert sum(1 for _ in settled(_said(*"abxdef"), before)) == 4
    assert sum(1 for _ in settled(_said(*"abcde"), before)) == 1
