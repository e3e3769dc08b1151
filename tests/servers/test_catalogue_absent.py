"""What is called by whose name while the owner is away."""

from __future__ import annotations

import msgspec
import pytest

from gatewright.config import ToolRule
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.catalogue import EVERYTHING, Catalogue, Sight
from gatewright.servers.listing import EMPTY, Listing
from gatewright.servers.reserved_names import Reserved
from gatewright.servers.spec import CatalogueLimits, ServerSpec
from gatewright.servers.view import Profile
from tests.servers.test_catalogue import ANN, BOB, two_servers
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
