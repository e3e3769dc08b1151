from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from gatewright.call import (
    Answer,
    Call,
    Caller,
    CannotAsk,
    Client,
    Event,
    Failure,
    Question,
    Tool,
)
from gatewright.discovery import search
from gatewright.discovery.ranking import ranked
from gatewright.discovery.search import TRUST_LEVELS, Search
from gatewright.mcp.wire.groundhog import LISTED_MOST, META_TOOL, About
from gatewright.transport.slices import whole
from tests.discovery.offers import Offered, made

FILES = About("list", "1.2.0", "us", ("filesystem",), "verified", "container", {"max_memory": 5.0})
MAIL = About("mail", categories=("mail", "Text"), trust_level="community")
SHELL = About("run", categories=("shell",), trust_level="system")
OFFER = Offered(
    (made("files", "list", needs=["filesystem.read"], description="List a directory"), FILES),
    (made("mail", "mail", description="Send a directory by mail"), MAIL),
    (made("shell", "run", needs=["shell.execute"], _meta={"own": 1}), SHELL),
    (made("secret", "dig", description="directory"), About("dig")),
    (made("files", "walk", description="Walk a directory"), About("walk")),
    hidden=["secret__dig"],
    unlisted=["files__walk"],
)
ANN = Caller("ann")
HELD = {"ann": {"filesystem.read"}, "root": {"filesystem.read", "shell.execute"}}


class Nobody:
    def emit(self, event: Event) -> None:
        raise AssertionError("a search tells nothing")

    async def ask(self, question: Question) -> dict[str, Any]:
        raise CannotAsk("a search asks nobody")


def may_use(caller: Caller, tool: Tool, requested: frozenset[str] | None) -> bool:
    held = HELD[caller.id] if requested is None else HELD[caller.id] & requested
    return set(tool.security.permissions_required) <= held


def call(caller: Caller, requested: frozenset[str] | None = None, **params: Any) -> Call:
    return Call(
        id="1",
        door="test",
        kind="list",
        method="tools/list",
        name="",
        params=params,
        caller=caller,
        client=Client("2025-11-25"),
        trace_id="t",
        requested=requested,
    )


async def searched(asked: Call) -> dict[str, Any]:
    ticks = itertools.count()
    outcome = await Search(lambda: OFFER, may_use, lambda: next(ticks) / 10)(asked, Nobody())
    assert isinstance(outcome, Answer), outcome
    found: dict[str, Any] = json.loads(outcome.raw)
    return found


async def names(asked: Call) -> list[str]:
    return [one["name"] for one in (await searched(asked))["tools"]]


async def test_what_no_list_has_is_not_found_either() -> None:
    assert "files__walk" in [one.tool.exposed for one in whole(OFFER.seen("", ANN))]
    assert "files__walk" not in await names(call(ANN, query="directory"))


async def test_only_what_the_user_may_use_is_searched() -> None:
    """GRH-disc-1: neither what is hidden from it nor what needs more than it holds."""
    assert await names(call(ANN, described=True)) == ["files__list", "mail__mail"]
    every = await names(call(Caller("root"), described=True))
    assert every == ["files__list", "mail__mail", "shell__run", "secret__dig"]
    nothing = call(ANN, frozenset(), described=True)
    assert await names(nothing) == ["mail__mail"]


async def test_filters_search_ranking_and_limit_come_in_this_order() -> None:
    """GRH-msg-2 and GRH-disc-2."""
    assert await names(call(ANN, category="FILESYSTEM")) == ["files__list"]
    assert await names(call(ANN, category="text")) == ["mail__mail"]
    assert await names(call(ANN, trust_level="Community")) == ["mail__mail"]
    assert await names(call(ANN, trust_level="system")) == []
    assert await names(call(ANN, query="list directory")) == ["files__list", "mail__mail"]
    limited = await searched(call(ANN, query="directory", limit=1))
    assert [one["name"] for one in limited["tools"]] == ["files__list"]
    assert limited["total_matches"] == 2
    none = await searched(call(ANN, query="directory", limit=None, category=None))
    assert len(none["tools"]) == 2


async def test_the_result_says_how_many_fit_and_how_long_it_took() -> None:
    """GRH-disc-3."""
    found = await searched(call(ANN, query="nothing of this"))
    assert found == {"tools": [], "total_matches": 0, "search_time": 0.1}


async def test_each_tool_says_what_mcp_has_no_place_for() -> None:
    files = (await searched(call(ANN, category="filesystem")))["tools"][0]
    assert files["_meta"][META_TOOL] == {
        "name": "list",
        "version": "1.2.0",
        "author": "us",
        "categories": ["filesystem"],
        "trust_level": "verified",
        "sandbox_level": "container",
        "resource_limits": {"max_memory": 5.0},
        "permissions": ["filesystem.read"],
        "risk_level": "moderate",
    }
    run = (await searched(call(Caller("root"), category="shell")))["tools"][0]
    assert run["_meta"]["own"] == 1


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"category": 1}, "params.category must be a text"),
        ({"trust_level": "high"}, f"params.trust_level must be one of {', '.join(TRUST_LEVELS)}"),
        ({"query": ["a"]}, "params.query must be a text"),
        ({"limit": 0}, f"params.limit must be a number from 1 to {LISTED_MOST}"),
        ({"limit": True}, f"params.limit must be a number from 1 to {LISTED_MOST}"),
        ({"query": "x", "cursor": "y"}, "this cursor was not given out by this gateway"),
    ],
)
async def test_a_wish_that_makes_no_sense_is_named(wish: dict[str, Any], words: str) -> None:
    outcome = await Search(lambda: OFFER, may_use, lambda: 0.0)(call(ANN, **wish), Nobody())
    assert outcome == Failure("invalid_params", words)


@pytest.mark.parametrize("right", ["sight", "use"])
async def test_what_is_taken_away_while_tools_are_ranked_is_not_listed(
    right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = Offered(
        *((made("s", f"t{n}", description="Find a directory"), About(f"t{n}")) for n in range(3))
    )
    gone = set[str]()

    def may(caller: Caller, tool: Tool, requested: frozenset[str] | None) -> bool:
        return tool.exposed not in gone

    def taking(*given: Any) -> Any:
        (offer.taken if right == "sight" else gone).add("s__t0")
        return ranked(*given)

    monkeypatch.setattr(search, "ranked", taking)
    outcome = await Search(lambda: offer, may, lambda: 0.0)(
        call(ANN, query="directory", limit=2), Nobody()
    )
    assert isinstance(outcome, Answer)
    found = json.loads(outcome.raw)
    assert [one["name"] for one in found["tools"]] == ["s__t1", "s__t2"]
    assert found["total_matches"] == 2
