"""What a caller was given before its grant was taken back: whether it is still handed out after that."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import KERNEL
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.server.kept_answers import About
from gatewright.servers.catalogue import Catalogue, Sight
from gatewright.servers.kept_answers import withheld
from gatewright.servers.listing import Listing
from gatewright.servers.spec import ServerSpec
from tests.servers.test_catalogue import ANN, BOB
from tests.servers.test_server_catalogue import listing, tool

OFFER: dict[str, Any] = {
    "tools": [tool("t"), tool("u")],
    "prompts": [{"name": "p"}],
    "resources": [{"uri": "x:1", "name": "x"}, {"uri": "x:2", "name": "y"}],
}


def _catalogue() -> Catalogue:
    """Bob sees nothing of `b`, and of `a` no `u` and no `x:2`."""
    sight = Sight(
        lambda who, one: who is ANN or (one.target.server, one.target.name) == ("a", "t"),
        lambda who, server: who is ANN or server == "a",
        lambda: 0,
        lambda who, one: who is ANN or one.name == "x:1",
    )
    found = Catalogue([ServerSpec(id="a"), ServerSpec(id="b")], {}, sight)
    found.put("a", listing(**OFFER))
    found.put("b", listing(tools=[tool("t")], prompts=[{"name": "p"}]))
    return found


@pytest.mark.parametrize(
    ("about", "kept_from_bob"),
    [
        (About("tool", "a__t"), False),
        (About("tool", "a__u"), True),
        (About("tool", "b__t"), True),
        (About("tool", "nobody__t"), True),
        (About("prompt", "a__p"), False),
        (About("prompt", "b__p"), True),
        (About("resource", "x:1"), False),
        (About("resource", "x:2"), True),
        (About("server", "a"), False),
        (About("server", "b"), True),
        (About("server", ""), False),
        (About("list", ""), False),
        (About("method", "x"), False),
    ],
)
def test_what_is_handed_out_is_what_may_still_be_seen(about: About, kept_from_bob: bool) -> None:
    found = _catalogue()
    assert withheld(found, BOB, "", about) is kept_from_bob
    assert withheld(found, ANN, "", about) is (about.name == "nobody__t")
    assert withheld(found, ANN, "gone", about) is (
        about.kind not in ("list", "method") and about.name != ""
    )


@pytest.mark.parametrize(("server", "kept"), [("a", False), ("b", True)])
def test_of_a_server_that_is_away_its_answers_are_its_callers(server: str, kept: bool) -> None:
    """It may have gone right after it answered, and nobody is to make the call again for that."""
    found = _catalogue()
    found.put(server, Listing(Hello("2025-11-25", {"tools": {}}), {}, {"tools": "failed"}))
    assert withheld(found, BOB, "", About("tool", f"{server}__t")) is kept


def test_a_tool_that_was_called_through_one_of_the_gateways_is_judged_itself() -> None:
    sight = Sight(lambda _, one: one.exposed != "a__u", lambda *_: True, lambda: 0)
    found = Catalogue([ServerSpec(id="a"), ServerSpec(id=KERNEL, local=True)], {}, sight)
    found.put("a", listing(**OFFER))
    found.put(KERNEL, listing(tools=[tool("tools.call")]))
    for inner, kept in (("a__t", False), ("a__u", True), ("", False)):
        assert withheld(found, BOB, "", About("tool", "mgp_tools_call", inner)) is kept
        assert not withheld(found, BOB, "", About("tool", "a__t", inner))
