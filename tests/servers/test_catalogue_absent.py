"""What is called by whose name while the owner is away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from gatewright.call import Target
from gatewright.config import ToolRule
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.catalogue import EVERYTHING, Catalogue, Sight
from gatewright.servers.listing import EMPTY, Listing, Section
from gatewright.servers.names import wrap_uri
from gatewright.servers.reserved_names import Reserved
from gatewright.servers.spec import CatalogueLimits, ServerSpec
from gatewright.servers.task_subject import away
from gatewright.servers.view import Profile
from tests.servers.rig import make_call
from tests.servers.test_catalogue import ANN, BOB, having, two_servers
from tests.servers.test_server_catalogue import listing, tool


class Absence:
    """Two servers of which one goes away, in every way in which that happens."""

    def __init__(self) -> None:
        self.gone, self.here = ServerSpec(id="a"), ServerSpec(id="a__b")
        self.profiles = {"alone": Profile(servers=("a",), unprefixed=True)}
        self.said = listing(tools=[tool("b__t"), tool("off"), tool("long", description="x" * 999)])

    def both(self) -> Catalogue:
        """Both are here."""
        found = Catalogue((self.gone, self.here, *LOCAL), self.profiles)
        found.put("a", self.said)
        return found

    def away(self, how: str) -> Catalogue:
        before = self.both()
        if how == "stopped":
            return before
        if how == "disabled":
            gone = msgspec.structs.replace(self.gone, enabled=False)
            return before.renewed([gone, self.here, *LOCAL], self.profiles, EVERYTHING, {})
        if how == "restarts":
            return before.renewed(
                [self.gone, self.here, *LOCAL], self.profiles, EVERYTHING, {"a": EMPTY}
            )
        off = how == "disabled, and the gateway starts anew"
        specs = [msgspec.structs.replace(self.gone, enabled=not off), self.here, *LOCAL]
        reserved = Reserved({"a": before.reserved.of("a")})
        found = Catalogue(specs, self.profiles, reserved=reserved)
        if how == "cannot say what it has":
            found.put("a", Listing(Hello("2025-11-25", {"tools": {}}), {}, {"tools": "failed"}))
        return found


LOCAL = (ServerSpec(id="gatewright", local=True),)
AWAY = (
    "stopped",
    "disabled",
    "restarts",
    "the gateway starts anew",
    "disabled, and the gateway starts anew",
    "cannot say what it has",
)


@pytest.mark.parametrize("how", AWAY)
def test_nobody_takes_a_name_while_its_owner_is_away(how: str) -> None:
    """Neither who registers, nor another server, nor by the name of the tool alone; not of a tool that is switched off either."""
    found = Absence().away(how)
    for name in ("b__t", "off", "long", "a__off"):
        assert found.user_of(name, "gatewright") == "a"
    assert found.user_of("a__b__t", "gatewright") in {"a", "a__b"}
    before = found.view("").tools.get("a__b__t")
    found.put("a__b", listing(tools=[tool("t"), tool("off")]))
    found.put("gatewright", listing(tools=[tool("off"), tool("free")]))
    assert "a__b__t" not in found.view("").tools  # as where both are here
    assert (before is not None) == (how == "stopped")
    alone = found.view("alone").tools
    assert how == "stopped" or "b__t" not in alone
    there = how == "stopped"
    assert found.is_missing("", ANN, "b__t") != there
    assert found.is_missing("alone", ANN, "off") == (not there)


def test_what_is_switched_off_or_left_out_keeps_its_name() -> None:
    spec = ServerSpec(
        id="a",
        tools={"off": ToolRule(enabled=False)},
        catalogue=CatalogueLimits(tools=3, description_bytes=100),
    )
    found = Catalogue(
        [spec, *LOCAL], {"alone": Profile(servers=("a", "gatewright"), unprefixed=True)}
    )
    long = tool("long", description="x" * 999)
    found.put(
        "a",
        listing(tools=[tool("off"), long, tool("t"), tool("u"), tool("v"), tool("w"), tool("x")]),
    )
    found.put("gatewright", listing(tools=[tool("off"), tool("long"), tool("free")]))
    assert {name for name in ("off", "long", "t", "free") if name in found.view("alone").tools} == {
        "t",
        "free",
    }
    assert [found.user_of(name, "gatewright") for name in ("off", "long", "v", "w")] == [
        "a",
        "a",
        "a",
        "",
    ]
    assert found.is_missing("alone", ANN, "off")


def test_a_name_is_free_when_its_owner_says_that_it_has_no_such_tool_or_is_gone_for_good() -> None:
    kept: list[tuple[str, list[str]]] = []
    reserved = Reserved({"a": ["t", "u"]}, lambda one, names: kept.append((one, sorted(names))))
    found = Catalogue([ServerSpec(id="a"), *LOCAL], reserved=reserved)
    assert found.user_of("u", "gatewright") == "a"
    found.put("a", listing(tools=[tool("t")]))
    assert found.user_of("u", "gatewright") == ""
    assert found.renewed(LOCAL, None, EVERYTHING, {}).user_of("t", "gatewright") == ""
    assert kept == [("a", ["t"])]


def test_a_tool_that_is_held_back_is_missing_for_who_may_see_its_server() -> None:
    sight = Sight(
        lambda *_: True,
        lambda caller, _: caller is ANN,
        lambda: 0,
        held=lambda one: "changed" if one.target.name == "t" else "",
    )
    found = two_servers(sight)
    assert [found.is_missing("", one, "t") for one in (ANN, BOB)] == [True, False]
    assert not found.is_missing("", ANN, "u")


NOTES: Mapping[str, Any] = {
    "resources": [{"uri": "notes://today", "name": "today"}],
    "resourceTemplates": [{"uriTemplate": "notes://day/{n}", "name": "day"}],
    "prompts": [{"name": "b__write"}],
}
CAN: Mapping[str, Any] = {"resources": {}, "prompts": {}}
LINKED = "memo://linked"
GONE_AWAY = ("disabled", "restarts", "restarts, and cannot list", "another in its place")


class Evil:
    """A server has resources, prompts and links that a caller was shown; it goes away, and a neighbour has what it likes."""

    def __init__(self) -> None:
        self.notes, self.evil = ServerSpec(id="a", command="notes"), ServerSpec(id="a__b")
        self.found = Catalogue([self.notes, self.evil, *LOCAL])
        self.found.put("a", having(dict(CAN), **NOTES))
        self.found.put("a__b", having(dict(CAN)))
        self.found.put("gatewright", having({"tools": {}}))
        assert self.found.shown_in("", ANN, Target("a", LINKED)) == LINKED

    def away(self, how: str) -> Catalogue:
        gone, fresh = self.notes, {"a": EMPTY}
        if how == "disabled":
            gone, fresh = msgspec.structs.replace(gone, enabled=False), {}
        elif how == "restarts, and cannot list":
            failed: dict[Section, str] = dict.fromkeys(
                ("resources", "resourceTemplates", "prompts"), "failed"
            )
            fresh = {"a": Listing(Hello("2025-11-25", dict(CAN)), {}, failed)}
        elif how == "another in its place":
            gone = msgspec.structs.replace(gone, command="other")
        now = self.found.renewed([gone, self.evil, *LOCAL], {}, EVERYTHING, fresh)
        return now.renewed([gone, self.evil, *LOCAL], {}, EVERYTHING, {})  # and once more


@pytest.mark.parametrize("how", GONE_AWAY)
@pytest.mark.parametrize("lists", [False, True])
def test_nobody_answers_for_what_another_one_has_while_that_is_away(how: str, lists: bool) -> None:
    """URIs that it lists or has a template for, links that it named, what is in no list, prompts: whether the neighbour lists the same
    or nothing."""
    found = Evil().away(how)
    if lists:
        found.put("a__b", having(dict(CAN), **{**NOTES, "prompts": [{"name": "write"}]}))
        assert found.shown_in("", ANN, Target("a__b", LINKED)) == wrap_uri(Target("a__b", LINKED))
    there = how == "restarts, and cannot list"
    for uri in ("notes://today", "NOTES://today", "notes://day/7"):
        assert found.resource("", uri, ANN) == (Target("a", uri) if there and not lists else None)
        having_it = ["a", "a__b"][: lists + 1]
        offered, claims = found.claimants("", uri, ANN)
        assert claims == len(having_it)
        # One that is switched off cannot be asked in qualified form either.
        assert [one.server for one in offered] == having_it[how == "disabled" :]
        assert found.away("", uri, ANN) == (None if there or lists else "a")
    assert found.template("", "notes://day/{n}", ANN) != Target("a__b", "notes://day/{n}")
    assert found.resource("", LINKED, ANN) in (Target("a", LINKED), None)
    assert found.resource("", "other://guess", ANN) is None
    assert found.prompt("", "a__b__write") is None
    named = found.prompt("", "a__b__write", there=False)
    assert named is None or named == Target("a", "b__write")
    shown = [bytes(one.text(mgp=False)) for one in found.view("").items("resources/list")]
    assert len(shown) == lists
    assert all(b"gatewright://a__b/" in one for one in shown)


def test_a_server_that_is_back_has_what_it_lists_then_and_what_it_lists_no_more_is_free() -> None:
    found = Evil().away("restarts")
    found.put("a", having(dict(CAN), resources=[{"uri": "notes://new", "name": "n"}]))
    found.put("a__b", having(dict(CAN), resources=NOTES["resources"]))
    assert found.resource("", "notes://new", ANN) == Target("a", "notes://new")
    assert found.resource("", "notes://today", ANN) == Target("a__b", "notes://today")
    assert found.resource("", LINKED, ANN) == Target("a", LINKED)
    left = found.renewed([ServerSpec(id="a__b"), *LOCAL], {}, EVERYTHING, {})
    assert left.resource("", "notes://new", ANN) == Target("a__b", "notes://new")


def test_a_link_is_led_neither_to_what_took_its_servers_place_nor_to_who_is_left_of_two() -> None:
    """Once contested, a plain link stays nobody's, also where its caller may see one of the two alone."""
    house = Evil()
    other = house.away("another in its place")
    other.put("a", having(dict(CAN)))
    assert other.resource("", LINKED, ANN) is None
    shown = other.shown_in("", ANN, Target("a", LINKED))
    assert other.resource("", shown, ANN) == Target("a", LINKED)
    assert other.resource("", LINKED, ANN) is None
    assert other.claimants("", LINKED, ANN) == ([Target("a", LINKED)], 2)
    both = Evil()
    assert both.found.shown_in("", ANN, Target("a__b", LINKED)) != LINKED
    gone = both.away("disabled")
    assert gone.resource("", LINKED, ANN) is None
    seen = Sight(lambda *_: True, lambda _, server: server == "a__b", lambda: 1)
    alone = house.found.renewed([house.notes, house.evil, *LOCAL], {}, seen, {})
    assert alone.resource("", LINKED, ANN) is None


def test_a_private_server_that_is_away_claims_nothing_of_others() -> None:
    private = ServerSpec(id="a", private=True)
    found = Catalogue([private, ServerSpec(id="b"), *LOCAL])
    for one in ("a", "b"):
        found.put(one, having(dict(CAN), **NOTES))
    specs = [private, ServerSpec(id="b"), *LOCAL]
    found = found.renewed(specs, {}, EVERYTHING, {"a": EMPTY})
    assert found.resource("", "notes://today", ANN) == Target("b", "notes://today")


@pytest.mark.parametrize("visible", [True, False])
def test_a_prompt_of_a_server_that_is_away_is_told_to_those_who_may_see_the_server(
    visible: bool,
) -> None:
    """Who may not see a server is not told either that it is away."""
    house = Evil()
    sight = Sight(lambda *_: visible, lambda *_: visible, lambda: 0)
    found = house.found.renewed([house.notes, house.evil, *LOCAL], {}, sight, {"a": EMPTY})
    ref = {"type": "ref/prompt", "name": "a__b__write"}
    call = make_call("method", "completion/complete", {"ref": ref}, caller=ANN)
    assert found.prompt("", "a__b__write", there=False) == Target("a", "b__write")
    assert away(call, found) == ("a" if visible else None)
