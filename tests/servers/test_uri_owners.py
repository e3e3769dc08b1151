"""Whose a URI is, where nobody has said anything of it; the rest is in `test_catalogue` and `test_catalogue_absent`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import Caller, Client, Target
from gatewright.servers.catalogue import EVERYTHING, Catalogue, Sight
from gatewright.servers.names import unwrap_uri, wrap_uri
from gatewright.servers.spec import ServerSpec
from gatewright.servers.stopped_servers import word_of
from tests.servers.test_catalogue import ANN, BOB, having
from tests.servers.test_server_catalogue import listing

SPECS = [ServerSpec(id="a"), ServerSpec(id="b"), ServerSpec(id="off", enabled=False)]


def test_a_guess_waits_for_every_server_that_its_caller_may_see() -> None:
    """One that is switched off and was never heard is waited for by nobody."""
    sight = Sight(lambda *_: True, lambda caller, server: caller is ANN or server == "a", lambda: 0)
    found = Catalogue(SPECS, {}, sight)
    found.put("a", having({"resources": {}}))
    assert [found.resource("", "x://1", one) for one in (ANN, BOB)] == [None, Target("a", "x://1")]
    assert [found.away("", "x://1", one) for one in (ANN, BOB)] == ["b", None]
    found.put("b", having({"tools": {}}))
    assert found.resource("", "x://1", ANN) == Target("a", "x://1")
    found.put("b", having({"resources": {}}))
    assert found.resource("", "x://1", ANN) is None
    assert found.away("", "x://1", ANN) is None


def test_a_qualified_uri_waits_for_its_server_and_a_plain_one_says_who_is_away() -> None:
    found = Catalogue(SPECS[:2], {}, EVERYTHING)
    found.put("a", having({"resources": {}}))
    assert found.resource("", "gatewright://b/x%3A%2F%2F1", ANN) == Target("b", "x://1")
    assert found.resource("", "gatewright://off/x%3A%2F%2F1", ANN) is None
    assert found.away("", "gatewright://off/x%3A%2F%2F1", ANN) is None


@pytest.mark.parametrize(
    "down",
    [
        ServerSpec(id="b", enabled=False),
        word_of(ServerSpec(id="b"), ["b"]),
        ServerSpec(id="b", problem="its secret is missing"),
    ],
)
def test_no_guess_waits_for_a_server_that_stays_down_and_was_never_heard(down: ServerSpec) -> None:
    """One that was heard is waited for: what it has is its own while it is down."""
    found = Catalogue([ServerSpec(id="a"), down], {}, EVERYTHING)
    found.put("a", having({"resources": {}}))
    assert found.resource("", "x://1", ANN) == Target("a", "x://1")
    before = Catalogue(SPECS[:2], {}, EVERYTHING)
    before.put("b", having({"resources": {}}))
    found = before.renewed([ServerSpec(id="a"), down], {}, EVERYTHING, {})
    found.put("a", having({"resources": {}}))
    assert found.resource("", "x://1", ANN) is None


HAVE: dict[str, Any] = {
    "resources": [{"uri": f"x://{one}", "name": one} for one in ("listed", "fits", "own")],
    "resourceTemplates": [
        {"uriTemplate": f"{one}://{{id}}", "name": one} for one in ("y", "zz", "w")
    ],
}
THEIRS: dict[str, Any] = {
    "resources": [{"uri": "x://listed", "name": "it"}],
    "resourceTemplates": [
        {"uriTemplate": one, "name": "t"} for one in ("x://f{rest}", "y://{id}", "z{rest}")
    ],
}


async def _shown(found: Catalogue, caller: Caller) -> list[str]:
    lists = {"resources/list": "uri", "resources/templates/list": "uriTemplate"}
    texts = [
        (json.loads(await found.list(method, "", caller, Client("2025-11-25"))), member)
        for method, member in lists.items()
    ]
    return [one[member] for text, member in texts for every in text.values() for one in every]


async def test_what_is_listed_says_nothing_of_what_unseen_servers_have() -> None:
    """Plain or qualified was an answer to: does a server that I may not see have this?"""
    sees_all = False
    sight = Sight(
        lambda *_: True,
        lambda caller, server: caller is ANN or sees_all or server == "a",
        lambda: 0,
    )
    found, alone = Catalogue(SPECS[:2], {}, sight), Catalogue(SPECS[:1], {}, sight)
    for each in (found, alone):
        each.put("a", listing(**HAVE))
    found.put("b", listing(**THEIRS))
    shown = await _shown(found, BOB)
    assert shown == await _shown(alone, BOB)
    for uri in shown[:3]:
        assert found.resource("", uri, BOB) == Target("a", uri)
        assert found.shown_in("", BOB, Target("a", uri)) == uri
    assert [found.template("", text, BOB) for text in shown[3:]] == [
        Target("a", text) for text in shown[3:]
    ]
    seen = [one for one in await _shown(found, ANN) if one.startswith("gatewright://a/")]
    assert [unwrap_uri(one) for one in seen[:2]] == [
        Target("a", f"x://{n}") for n in ("listed", "fits")
    ]
    assert seen[2:] == ["gatewright://a/y://{id}", "gatewright://a/zz://{id}"]
    # What was shown plainly is nobody's once the other one is seen: never the other one's.
    sees_all = True
    found.changed()
    assert [found.resource("", f"x://{n}", BOB) for n in ("listed", "fits", "own")] == [
        None,
        None,
        Target("a", "x://own"),
    ]


def test_what_a_result_calls_a_resource_says_nothing_of_unseen_servers_and_stays_its_servers() -> (
    None
):
    sees_all = False
    sight = Sight(
        lambda *_: True,
        lambda caller, server: caller is ANN or sees_all or server == "a",
        lambda: 0,
    )
    found = Catalogue(SPECS[:2], {}, sight)
    found.put("a", listing(resources=[{"uri": "x://other", "name": "o"}]))
    found.put("b", listing(**THEIRS))
    link = Target("a", "x://listed")
    assert found.shown_in("", ANN, link) == wrap_uri(link)
    assert found.shown_in("", BOB, link) == "x://listed"
    assert found.resource("", "x://listed", BOB) == link
    sees_all = True
    found.changed()
    assert found.resource("", "x://listed", BOB) is None
    assert found.claimants("", "x://listed", BOB) == ([Target("b", "x://listed"), link], 2)


async def test_what_is_listed_or_linked_leads_back_whoever_else_named_it_to_its_reader() -> None:
    """A server that guesses what another one will list makes it nobody's as it stands, and no more than that."""
    found = Catalogue(SPECS[:2], {}, EVERYTHING)
    found.put("a", listing(resources=[{"uri": "x://0", "name": "0"}]))
    found.put("b", listing(resources=[{"uri": "y://0", "name": "0"}]))
    assert found.shown_in("", BOB, Target("b", "x://1")) == "x://1"
    found.put("a", listing(resources=[{"uri": f"x://{n}", "name": "n"} for n in range(2)]))
    for uri in await _shown(found, BOB):
        assert found.resource("", uri, BOB) is not None
    qualified = wrap_uri(Target("a", "x://1"))
    assert await _shown(found, BOB) == ["x://0", qualified, "y://0"]
    assert await _shown(found, ANN) == ["x://0", "x://1", "y://0"]
    # What is listed already cannot be named by another one as it stands.
    assert found.shown_in("", BOB, Target("b", "x://0")) == wrap_uri(Target("b", "x://0"))
    assert await _shown(found, BOB) == ["x://0", qualified, "y://0"]
    for name in ("x://0", "x://1"):
        shown = found.shown_in("", BOB, Target("a", name))
        assert found.resource("", shown, BOB) == Target("a", name)
    assert found.shown_in("", ANN, Target("a", "x://1")) == "x://1"
    assert found.resource("", "x://1", BOB) is None


async def test_what_is_named_to_another_key_of_a_caller_changes_what_it_reads_in_lists_at_once() -> (
    None
):
    one, two = Caller("bob", key_id="k1"), Caller("bob", key_id="k2")
    sight = Sight(
        lambda *_: True, lambda who, server: server == ("b" if who is one else "a"), lambda: 0
    )
    found = Catalogue(SPECS[:2], {}, sight)
    found.put("a", listing(resources=[{"uri": "x://1", "name": "1"}]))
    found.put("b", listing(resources=[{"uri": "y://1", "name": "1"}]))
    assert await _shown(found, two) == ["x://1"]
    found.shown_in("", one, Target("b", "x://1"))
    (uri,) = await _shown(found, two)
    assert uri == wrap_uri(Target("a", "x://1"))
    assert found.resource("", uri, two) == Target("a", "x://1")
