from __future__ import annotations

from msgspec.structs import replace

from gatewright.call import KERNEL, SHIPPED, Caller, Target, Tool
from gatewright.config import Discovery
from gatewright.config.agents import Agent
from gatewright.config.model import Profile
from gatewright.discovery.lookup import described, exposing, pins_of, tokens_in, tokens_of
from tests.discovery.houses import AGENT, House, defined

GUARDED = defined("guarded", security={"permissions_required": ["memory.read"]})


def test_what_nobody_sees_is_not_there() -> None:
    """MGP-16.5-6."""
    house = House({"a": [defined("one"), defined("two")]}, hidden=["a/two"])
    offered = house.meta.lookup.of(house.call())
    one = offered("a__one")
    assert one is not None
    assert (one.id, one.state, one.missing) == ("a/one", "connected", ())
    assert offered("a/two") is offered("a/none") is None


def test_a_permission_that_is_lacking_marks_or_hides() -> None:
    """MGP-16.5-6."""
    house = House({"a": [GUARDED]})
    one = house.meta.lookup.of(house.call())("a/guarded")
    assert one is not None
    assert described(one)["status"] == "pending_approval"
    assert described(one)["missing_permissions"] == ["memory.read"]
    closed = replace(
        house.settings, permissions=type(house.settings.permissions)(policy="deny_all")
    )
    house.now.settings = closed
    assert house.meta.lookup.of(house.call())("a/guarded") is None
    held = House({"a": [GUARDED]}, held=["memory.read"])
    one = held.meta.lookup.of(held.call())("a/guarded")
    assert one is not None
    assert "status" not in described(one)


def test_without_the_gate_nobody_may_use_anything() -> None:
    house = House({"a": [defined("one")]})
    house.now.gates = {}
    assert house.meta.lookup.of(house.call())("a/one") is None
    assert house.meta.lookup.held(AGENT) == ()


def test_what_lists_have() -> None:
    """MGP-16.2-1, MGP-16.7-2: pins are the agent's, everybody's and the profile's."""
    settings = replace(
        House({}).settings,
        discovery=Discovery(expose="discover"),
        profiles={
            "kept": Profile(expose="pinned+discover", pinned=("a/two",)),
            "whole": Profile(expose="all"),
            "bare": Profile(pinned=("a/two",)),
        },
        agents={"ann": Agent(pinned=("a__one",)), "*": Agent(pinned=("a.three",))},
    )
    listed = exposing(settings)

    def names(profile: str, caller: Caller = AGENT) -> list[str]:
        tools = [Tool(Target("a", one), f"a__{one}", {}) for one in ("one", "two", "three", "four")]
        own = [
            Tool(Target(KERNEL, one), one, {})
            for one in ("tools.call", "tools.request", "access.query")
        ]
        shipped = Tool(Target(SHIPPED, "x"), "x", {})
        return [one.target.name for one in (*tools, *own, shipped) if listed(caller, profile, one)]

    assert names("") == ["one", "three", "tools.call"]
    assert names("kept") == ["one", "two", "three", "tools.call"]
    assert names("bare") == ["one", "three", "tools.call"]
    assert names("whole") == ["one", "two", "three", "four", "access.query", "x"]
    assert names("", Caller("bob")) == ["three", "tools.call"]
    assert names("", Caller("ann", "operator")) == ["tools.call"]
    assert pins_of(settings, "kept", AGENT) == ["a__one", "a.three", "a/two"]


def test_a_declared_id_counts_and_another_has_the_servers() -> None:
    """Decision C-20."""
    house = House({"a": [defined("one", tool_id="files.one"), defined("two", tool_id=5)]})
    offered = house.meta.lookup.of(house.call())
    assert [described(one)["tool_id"] for name in ("a/one", "a/two") if (one := offered(name))] == [
        "files.one",
        "a.two",
    ]


def test_tokens_are_those_of_name_description_and_schema() -> None:
    house = House(
        {"a": [defined("one", "Say it"), defined("two", "Say it " * 40, annotations={"x": 1})]}
    )
    offered = house.meta.lookup.of(house.call())
    one, two = offered("a/one"), offered("a/two")
    assert one is not None
    assert two is not None
    assert 0 < tokens_of(one.tool) < tokens_of(two.tool) < 200
    assert house.meta.lookup.tokens(one.tool) == tokens_of(one.tool)
    assert tokens_in(b"x" * 300_000) == 300_000


def test_who_may_make_tools() -> None:
    """MGP-16.6-8."""
    house = House({}, held=["code_execution"])
    boss = Caller("boss", "operator")
    lookup = house.meta.lookup
    assert not lookup.may_create(boss)
    house.now.settings = replace(
        house.settings, permissions=type(house.settings.permissions)(policy="auto_approve")
    )
    assert lookup.may_create(boss)
    assert not lookup.may_create(AGENT)
    house.now.gates = {**house.now.gates, "registration": house.now.gates["permission"]}
    assert not lookup.may_create(boss)
