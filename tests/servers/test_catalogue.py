"""Who owns a name, and what each caller sees listed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import cycle
from typing import Any

import pytest

from gatewright.call import Caller, Client, Mgp, Target, Tool
from gatewright.config import ToolRule
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.catalogue import EVERYTHING, Catalogue, Sight
from gatewright.servers.listing import Listing
from gatewright.servers.names import wrap_template, wrap_uri
from gatewright.servers.server_catalogue import Built, build_listing
from gatewright.servers.spec import ServerSpec
from gatewright.servers.view import Item, Profile
from gatewright.transport.slices import in_slices, whole
from tests.servers.rig import LEGACY
from tests.servers.test_server_catalogue import listing, tool

ANN, BOB = Caller("ann"), Caller("bob")
MGP = Client("2025-11-25", mgp=Mgp("0.2.0", ("security",)))


def drawn(method: Callable[..., Coroutine[Any, Any, bytes]], *given: Any) -> bytes:
    return asyncio.run(method(*given))


def having(capabilities: dict[str, Any], **sections: Any) -> Listing:
    made = listing(**sections)
    return Listing(Hello("2025-11-25", capabilities), made.sections)


class Grants:
    """Who may see what, with the version that a change bumps."""

    def __init__(self, **tools: set[str]) -> None:
        self.tools = tools
        self.number = 0

    @property
    def sight(self) -> Sight:
        def tool_(caller: Caller, one: Tool) -> bool:
            return one.exposed in self.tools.get(caller.id, set())

        def server(caller: Caller, name: str) -> bool:
            return any(one.startswith(f"{name}__") for one in self.tools.get(caller.id, set()))

        return Sight(tool_, server, lambda: self.number)


def names(raw: bytes) -> list[str]:
    found = json.loads(raw)
    return [one["name"] for one in found["tools"]]


def two_servers(sight: Sight | None = None, **profiles: Profile) -> Catalogue:
    specs = [ServerSpec(id="a"), ServerSpec(id="b")]
    found = Catalogue(specs, profiles, EVERYTHING if sight is None else sight)
    found.put("b", listing(tools=[tool("t")]))
    found.put("a", listing(tools=[tool("t"), tool("u")]))
    return found


def test_lists_come_in_the_order_of_the_configuration_not_of_arrival() -> None:
    assert names(drawn(two_servers().list, "tools/list", "", ANN, LEGACY)) == [
        "a__t",
        "a__u",
        "b__t",
    ]


def test_a_caller_sees_only_what_it_may_call() -> None:
    found = two_servers(Grants(ann={"a__u", "b__t"}, bob={"b__t"}).sight)
    assert names(drawn(found.list, "tools/list", "", ANN, LEGACY)) == ["a__u", "b__t"]
    assert names(drawn(found.list, "tools/list", "", BOB, LEGACY)) == ["b__t"]
    assert names(drawn(found.list, "tools/list", "", Caller("eve"), LEGACY)) == []


def test_a_new_grant_shows_as_soon_as_its_version_counts() -> None:
    grants = Grants(ann={"b__t"})
    found = two_servers(grants.sight)
    assert names(drawn(found.list, "tools/list", "", ANN, LEGACY)) == ["b__t"]
    grants.tools["ann"] = {"a__t", "b__t"}
    grants.number += 1
    assert names(drawn(found.list, "tools/list", "", ANN, LEGACY)) == ["a__t", "b__t"]


def test_callers_who_see_the_same_share_one_text() -> None:
    found = two_servers(Grants(ann={"a__t"}, bob={"a__t"}).sight)
    first = drawn(found.list, "tools/list", "", ANN, LEGACY)
    assert drawn(found.list, "tools/list", "", BOB, LEGACY) is first


def test_every_change_has_a_new_version_and_a_new_list() -> None:
    found = two_servers()
    version = found.version
    assert not found.put("b", listing(tools=[tool("t")]))
    assert found.version == version
    assert found.put("b", listing(tools=[tool("new")]))
    assert found.version == version + 1
    assert names(drawn(found.list, "tools/list", "", ANN, LEGACY)) == ["a__t", "a__u", "b__new"]


def test_a_tool_is_found_by_whose_it_is_as_it_is_listed_now() -> None:
    found = two_servers(b=Profile(servers=("b",)))
    known, shown = found.present(Target("a", "u")), found.tool("", "a__u")
    assert known is not None
    assert shown is not None
    assert known.definition is shown.definition
    found.put("a", listing(tools=[tool("t")]))
    assert found.present(Target("a", "u")) is None
    assert found.present(Target("c", "t")) is None


def test_the_catalogue_of_another_configuration_keeps_what_servers_said() -> None:
    found = two_servers(Grants(ann={"a__t", "a__u", "b__t"}).sight)
    specs = [ServerSpec(id="c"), ServerSpec(id="b", prefix="bee")]
    sight = Grants(ann={"bee__t", "c__n"}).sight
    after = found.renewed(specs, {}, sight, {"c": listing(tools=[tool("n")])})
    assert names(drawn(after.list, "tools/list", "", ANN, LEGACY)) == ["c__n", "bee__t"]
    assert names(drawn(found.list, "tools/list", "", ANN, LEGACY)) == ["a__t", "a__u", "b__t"]


def test_another_catalogue_judges_anew_only_what_other_words_are_about() -> None:
    found = two_servers()
    word = ToolRule(risk_level="dangerous")
    after = found.renewed(
        [ServerSpec(id="a", tools={"t": word}), ServerSpec(id="b", call_s=1)], {}, EVERYTHING, {}
    )
    assert after.view("").tools["a__t"].security.risk_level == "dangerous"
    assert found.view("").tools["a__t"].security.risk_level == "moderate"
    assert after.shelf("b") is found.shelf("b")


def test_what_a_server_says_later_does_not_reach_the_catalogue_before() -> None:
    found = two_servers()
    drawn(found.list, "tools/list", "", ANN, LEGACY)
    after = found.renewed([ServerSpec(id="a"), ServerSpec(id="b")], {}, EVERYTHING, {})
    assert drawn(after.shown, "tools/list", "", ANN) == drawn(found.shown, "tools/list", "", ANN)
    after.put("b", listing(tools=[tool("new")]))
    assert names(drawn(found.list, "tools/list", "", ANN, LEGACY)) == ["a__t", "a__u", "b__t"]
    assert names(drawn(after.list, "tools/list", "", ANN, LEGACY)) == ["a__t", "a__u", "b__new"]


def test_of_a_profile_that_is_gone_nothing_can_be_seen() -> None:
    found = two_servers(small=Profile(servers=("b",)))
    after = found.renewed([ServerSpec(id="a"), ServerSpec(id="b")], {}, EVERYTHING, {})
    assert found.tool("small", "b__t") is not None
    assert after.tool("small", "b__t") is None
    assert names(drawn(after.list, "tools/list", "small", ANN, LEGACY)) == []


def test_a_client_with_mgp_security_has_a_list_of_its_own() -> None:
    found = two_servers()
    assert b'"security"' not in drawn(found.list, "tools/list", "", ANN, LEGACY)
    assert drawn(found.list, "tools/list", "", ANN, MGP).count(b'"security"') == 3
    assert b'"security"' not in drawn(found.list, "tools/list", "", ANN, LEGACY)


@pytest.mark.parametrize(
    ("method", "member"),
    [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ],
)
def test_every_list_is_an_object_with_its_own_member_also_when_empty(
    method: str, member: str
) -> None:
    assert json.loads(drawn(two_servers().list, method, "", ANN, LEGACY)) == {member: []}


def test_profiles_are_views_of_one_catalogue() -> None:
    found = two_servers(small=Profile(servers=("b",), unprefixed=True))
    assert names(drawn(found.list, "tools/list", "small", ANN, LEGACY)) == ["t"]
    assert found.tool("small", "t") is not None
    assert found.tool("small", "a__t") is None
    assert found.servers("small", ANN) == ["b"]
    assert (found.knows("small"), found.knows("none")) == (True, False)
    assert names(drawn(found.list, "tools/list", "none", ANN, LEGACY)) == []


def test_a_resource_belongs_to_who_lists_it_then_to_a_template_then_to_the_only_one() -> None:
    capable: dict[str, Any] = {"resources": {}}
    found = Catalogue([ServerSpec(id="a"), ServerSpec(id="b"), ServerSpec(id="c")])
    found.put("a", having(capable, resources=[{"uri": "x://1", "name": "r"}]))
    found.put("c", having({"tools": {}}))
    assert found.resource("", "x://1", ANN) == Target("a", "x://1")
    assert found.resource("", "y://?", ANN) is None  # b has not said yet whether it has any
    assert found.away("", "y://?", ANN) == "b"
    found.put("b", having({"tools": {}}))
    assert found.resource("", "y://?", ANN) == Target("a", "y://?")
    template = {"uriTemplate": "y://{id}", "name": "t"}
    found.put("b", having(capable, resourceTemplates=[template]))
    assert found.resource("", "y://7", ANN) == Target("b", "y://7")
    assert found.resource("", "z://7", ANN) is None
    assert found.template("", "y://{id}", ANN) == Target("b", "y://{id}")
    assert found.template("", "x://1", ANN) == Target("a", "x://1")


def test_a_resource_of_an_invisible_server_does_not_exist() -> None:
    found = Catalogue([ServerSpec(id="a")], sight=Grants(ann={"a__x"}).sight)
    template = {"uriTemplate": "y://{id}", "name": "t"}
    resources = [{"uri": "x://1", "name": "r"}]
    offer = having({"resources": {}}, resources=resources, resourceTemplates=[template])
    found.put("a", offer)
    assert found.resource("", "x://1", ANN) == Target("a", "x://1")
    for uri in ("x://1", "y://2", "z://3"):
        assert found.resource("", uri, BOB) is None
    assert found.template("", "y://{id}", BOB) is None
    assert drawn(found.list, "resources/list", "", BOB, LEGACY) == b'{"resources":[]}'


def test_a_list_is_made_once_and_then_only_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Catalogue([ServerSpec(id="s")])
    found.put("s", listing(tools=[tool(f"tool_{n}") for n in range(100)]))
    first = drawn(found.list, "tools/list", "", ANN, LEGACY)
    assert len(names(first)) == 100
    monkeypatch.setattr(Item, "text", lambda *_: pytest.fail("it is made again"))
    monkeypatch.setattr(Catalogue, "_may_see", lambda *_: pytest.fail("it is judged again"))
    assert drawn(found.list, "tools/list", "", ANN, LEGACY) is first


class Turns:
    """How often the loop had a turn while something was made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = iter(range(10**9))
        slow = partial(in_slices, clock=lambda: float(next(clock)))
        monkeypatch.setattr("gatewright.servers.catalogue.in_slices", slow)

    async def during(self, work: Coroutine[Any, Any, Any]) -> tuple[Any, int]:
        task, turns = asyncio.ensure_future(work), 0
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        return task.result(), turns


def many(number: int = 300) -> Listing:
    return having(
        {"resources": {}}, resources=[{"uri": f"a://{n}", "name": "a"} for n in range(number)]
    )


def shelved(spec: ServerSpec, offer: Listing) -> Built:
    return Built(spec, offer, build_listing(spec, offer))


async def test_a_list_is_made_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand resources were named, judged and written in one step."""
    turns, found = Turns(monkeypatch), Catalogue([ServerSpec(id="s")])
    found.put("s", many())
    raw, taken = await turns.during(found.list("resources/list", "", ANN, LEGACY))
    assert len(json.loads(raw)["resources"]) == 300
    assert taken >= 5 * 300  # claimed, named twice, judged, written


async def test_a_list_that_changes_while_it_is_made_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No caller is shown what nobody may see any more because a list took long."""
    turns, rights = Turns(monkeypatch), Grants(ann={"s__t"})
    hidden: set[str] = set()
    sight = Sight(rights.sight.tool, lambda _, one: one not in hidden, lambda: len(hidden))
    found = Catalogue([ServerSpec(id="s"), ServerSpec(id="t")], {}, sight)
    found.put("s", many(50))
    making = asyncio.ensure_future(found.list("resources/list", "", ANN, LEGACY))
    for _ in range(220):
        await asyncio.sleep(0)
    assert not making.done()
    hidden.add("s")
    assert json.loads(await making) == {"resources": []}
    hidden.clear()
    found.put("s", many(5))
    for number in range(4):  # and where it never comes to rest
        listings = cycle((many(number + 1), many(10)))
        task = asyncio.ensure_future(found.list("resources/list", "", ANN, LEGACY))
        while not task.done():
            await asyncio.sleep(0)
            found.put("t", next(listings))
        assert len(json.loads(task.result())["resources"]) in {5 + number + 1, 5 + 10}
    assert turns is not None


async def test_the_views_in_use_are_made_before_an_offer_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec, turns = ServerSpec(id="s"), Turns(monkeypatch)
    found = Catalogue([spec], {"p": Profile()})
    found.put("s", many(3))
    used = found.view(""), found.view("p")
    offer = shelved(spec, many())
    _, taken = await turns.during(found.ahead("s", offer))
    assert taken >= 2 * 300
    assert (found.view(""), found.view("p")) == used
    monkeypatch.setattr(
        "gatewright.servers.profile_views.whole", lambda _: pytest.fail("in one step")
    )
    assert found.put("s", offer.listing, offer)
    assert len(found.view("").items("resources/list")) == 300
    assert len(found.view("p").items("resources/list")) == 300


async def test_what_was_made_ahead_of_another_offer_is_not_used() -> None:
    spec, other = ServerSpec(id="s"), ServerSpec(id="t")
    found = Catalogue([spec, other])
    found.view("")
    offer = shelved(spec, many(3))
    await found.ahead("s", offer)
    found.put("t", many(5))
    found.put("s", offer.listing, offer)
    assert len(found.view("").items("resources/list")) == 8
    await found.ahead("s", shelved(spec, many(7)))
    late = shelved(spec, many(9))
    found.put("s", late.listing, late)
    assert len(found.view("").items("resources/list")) == 14
    await found.ahead("gone", late)
    assert found.viewed == {""}


def test_a_shelf_that_was_made_is_taken_where_it_is_of_this_list_and_these_words() -> None:
    spec, said = ServerSpec(id="a"), listing(tools=[tool("t")])
    made = Built(spec, said, build_listing(spec, said))
    found = Catalogue([spec])
    assert found.put("a", said, made)
    assert found.shelf("a") is made.shelf
    for other in (ServerSpec(id="a", hints=False), spec):
        fresh = Catalogue([other])
        fresh.put("a", said if other is not spec else listing(tools=[tool("u")]), made)
        assert fresh.shelf("a") is not made.shelf
    again = Catalogue([]).renewed([spec], None, EVERYTHING, {"a": said}, {"a": made})
    assert again.shelf("a") is made.shelf


@pytest.mark.parametrize(
    ("name", "server"),
    [
        ("t", "a"),
        ("a__t", "a"),
        ("a.t", "a"),
        ("b__t", "b"),
        ("b.gone", "b"),
        ("b__gone", "b"),
        ("short__u", "c"),
        ("SHORT__u", "c"),
        ("sh\u043ert__u", "c"),
        ("B.x", "b"),
        ("c__anything", "c"),
        ("a_t", ""),
        ("free", ""),
        ("at", ""),
    ],
)
def test_a_name_that_a_servers_tool_is_found_by_or_gives_itself_is_used(
    name: str, server: str
) -> None:
    """In any profile, and also while the server is away."""
    specs = [ServerSpec(id="a"), ServerSpec(id="b"), ServerSpec(id="c", prefix="short")]
    found = Catalogue(specs, {"alone": Profile(servers=("a",), unprefixed=True)})
    found.put("a", listing(tools=[tool("t")]))
    assert found.user_of(name, "own") == server
    if server == "a":
        assert found.user_of(name, "a") == ""


def test_a_qualified_uri_of_a_server_that_is_not_seen_goes_to_no_other() -> None:
    """Not to the only one that the caller sees, either: that would be somebody else's request."""
    sight = Sight(lambda *_: True, lambda _, server: server == "a", lambda: 0)
    found = Catalogue([ServerSpec(id="a"), ServerSpec(id="b")], {}, sight)
    for server in "ab":
        found.put(server, having({"resources": {}}, resources=[{"uri": "x://1", "name": "x"}]))
    assert found.resource("", "y://free", ANN) == Target("a", "y://free")
    for name in (wrap_uri(Target("b", "x://1")), wrap_template(Target("b", "x://1"))):
        assert found.resource("", name, ANN) is None


def test_what_a_caller_sees_is_asked_about_one_tool_a_step() -> None:
    grants = Grants(ann={"s__t1"})
    catalogue = Catalogue([ServerSpec(id="s")], sight=grants.sight)
    catalogue.put("s", listing(tools=[tool(f"t{number}") for number in range(50)]))
    steps = catalogue.seen("", ANN)
    assert sum(1 for _ in steps) == 50
    assert [one.tool.exposed for one in whole(catalogue.seen("", ANN)) if one.tool] == ["s__t1"]
