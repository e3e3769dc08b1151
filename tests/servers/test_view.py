"""Which name means what in a profile."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import KERNEL, Target
from gatewright.config.model import ToolRule
from gatewright.mcp.protocol.negotiate import SECURITY_META
from gatewright.servers.names import wrap_uri
from gatewright.servers.server_catalogue import ServerCatalogue, build_listing
from gatewright.servers.spec import ServerSpec
from gatewright.servers.view import LISTS, Item, Profile, View, view_of
from gatewright.transport.slices import whole
from tests.servers.test_server_catalogue import listing, tool


def shelves(**servers: dict[str, Any]) -> tuple[dict[str, ServerSpec], dict[str, ServerCatalogue]]:
    specs = {
        name: ServerSpec(id=name, prefix=one.pop("prefix", None)) for name, one in servers.items()
    }
    return specs, {
        name: build_listing(specs[name], listing(**one)) for name, one in servers.items()
    }


def view(profile: Profile | None = None, **servers: dict[str, Any]) -> View:
    return whole(view_of(profile or Profile(), *shelves(**servers)))


def listed(one: View, method: str, mgp: bool = False) -> list[Any]:
    return [json.loads(item.text(mgp)) for item in one.items(method)]


def test_a_tool_answers_to_its_exposed_canonical_and_dotted_name() -> None:
    one = view(a={"tools": [tool("t")]}, b={"tools": [tool("t")]})
    assert one.tools["a__t"] is one.tools["a/t"] is one.tools["a.t"]
    assert one.tools["a__t"].target == Target("a", "t")
    assert one.tools["b__t"].exposed == "b__t"
    assert "t" not in one.tools


def test_lists_show_exposed_names_in_the_order_of_the_configuration() -> None:
    one = view(z={"tools": [tool("b"), tool("a")]}, a={"tools": [tool("c")]})
    assert [each["name"] for each in listed(one, "tools/list")] == ["z__b", "z__a", "a__c"]


def test_a_prefix_of_its_own_replaces_the_id() -> None:
    one = view(a={"tools": [tool("t")], "prompts": [{"name": "p"}], "prefix": "x"})
    assert list(one.tools)[-1] == "x__t"
    assert one.prompt("x__p") == one.prompt("a/p") == Target("a", "p")
    assert one.prompt("a__p") is None


def test_a_single_server_can_be_shown_without_prefix() -> None:
    profile = Profile(unprefixed=True)
    one = view(profile, a={"tools": [tool("t.x")], "prompts": [{"name": "p"}]})
    assert one.unprefixed
    assert listed(one, "tools/list")[0]["name"] == "t.x"
    assert listed(one, "prompts/list")[0]["name"] == "p"
    assert not view(profile, a={"tools": []}, b={"tools": []}).unprefixed


def test_a_profile_shows_its_servers_and_tools_only() -> None:
    servers = {"a": {"tools": [tool("t"), tool("u")]}, "b": {"tools": [tool("t")]}}
    only_a = view(Profile(servers=("a",)), **servers)
    assert only_a.servers == ("a",)
    assert {one.exposed for one in only_a.tools.values()} == {"a__t", "a__u"}
    some = view(Profile(tools=("a/u", "b__t")), **servers)
    assert {one.exposed for one in some.tools.values()} == {"a__u", "b__t"}
    assert [each["name"] for each in listed(some, "tools/list")] == ["a__u", "b__t"]


def test_what_an_agent_registered_takes_no_uri_of_another_server() -> None:
    """Its own resources go by qualified URIs alone, also those that nobody else has; those of others stay theirs as they are."""
    specs, shelved = shelves(
        a={"resources": [{"uri": "x://1", "name": "r"}]},
        b={"resources": [{"uri": "x://1", "name": "r"}, {"uri": "x://2", "name": "r"}]},
    )
    specs["b"] = replace(specs["b"], private=True)
    one = whole(view_of(Profile(), specs, shelved))
    assert one.owners("x://1") == [Target("a", "x://1")]
    assert one.owners("x://2") == []
    assert [one.shared(Target("b", f"x://{n}")) for n in (1, 2)] == [True, True]
    assert not one.shared(Target("a", "x://1"))
    assert one.owners(wrap_uri(Target("b", "x://2"))) == [Target("b", "x://2")]


def test_a_uri_keeps_its_form_unless_two_servers_have_it() -> None:
    resource = {"uri": "x://1", "name": "r"}
    one = view(a={"resources": [resource]}, b={"resources": [resource, {"uri": "x://2"}]})
    shown = [each["uri"] for each in listed(one, "resources/list")]
    assert shown[2] == "x://2"
    assert len(set(shown)) == 3
    assert one.owners(shown[0]) == [Target("a", "x://1")]
    assert one.owners(shown[1]) == [Target("b", "x://1")]
    assert (one.shared(Target("b", "x://1")), one.shared(Target("b", "x://2"))) == (True, False)


def test_a_uri_that_nobody_lists_belongs_to_all_whose_template_it_fits() -> None:
    """The closer template is no better claim: anybody can write one."""
    one = view(
        a={"resourceTemplates": [{"uriTemplate": "x://{+all}", "name": "wide"}]},
        b={"resourceTemplates": [{"uriTemplate": "x://docs/{name}", "name": "close"}]},
    )
    assert one.owners("x://docs/1") == [Target("a", "x://docs/1"), Target("b", "x://docs/1")]
    assert one.owners("x://other/1") == [Target("a", "x://other/1")]
    assert one.owners("y://1") == []


@pytest.mark.parametrize("others", [{}, {"fs": {"resourceTemplates": []}}])
def test_a_template_that_reads_as_another_servers_is_shown_as_its_own_servers(others: Any) -> None:
    """A gateway behind this one lists such, and so could a server that wants to be taken for another."""
    theirs = "gatewright://fs/file:///{+path}"
    one = view(inner={"resourceTemplates": [{"uriTemplate": theirs, "name": "t"}]}, **others)
    (shown,) = (each["uriTemplate"] for each in listed(one, "resources/templates/list"))
    assert shown == f"gatewright://inner/{theirs}"
    assert one.templated(shown) == [Target("inner", theirs)]
    asked = shown.replace("{+path}", "x")
    assert one.owners(asked) == [Target("inner", "gatewright://fs/file:///x")]


def test_a_template_that_two_servers_have_is_told_apart() -> None:
    template = {"uriTemplate": "x://{id}", "name": "t"}
    one = view(a={"resourceTemplates": [template]}, b={"resourceTemplates": [template]})
    shown = [each["uriTemplate"] for each in listed(one, "resources/templates/list")]
    assert one.templated(shown[1]) == [Target("b", "x://{id}")]
    assert one.owners(shown[1].replace("{id}", "7")) == [Target("b", "x://7")]
    assert one.owners("gatewright://nobody/x%3A%2F%2F1") == []


def test_mgp_1_3_2_nobody_sees_security_who_did_not_ask_for_mgp() -> None:
    one = view(a={"tools": [tool("t", security={"risk_level": "safe"}, _meta={"k": 1})]})
    plain = listed(one, "tools/list")[0]
    assert "security" not in plain
    assert plain["_meta"] == {"k": 1}


def test_mgp_4_1_1_an_mgp_client_sees_the_effective_security_in_both_places() -> None:
    declared = {"risk_level": "dangerous", "side_effects": ["process"], "vendor": 1}
    one = view(a={"tools": [tool("t", security=declared, _meta={"k": 1}), tool("plain")]})
    mgp, plain = listed(one, "tools/list", mgp=True)
    assert mgp["security"] == {
        "risk_level": "dangerous",
        "side_effects": ["process"],
        "vendor": 1,
        "permissions_required": [],
        "validator": "none",
        "confirmation_required": False,
    }
    assert mgp["_meta"] == {"k": 1, SECURITY_META: mgp["security"]}
    assert plain["security"]["risk_level"] == "moderate"


def test_the_kernels_tools_have_the_names_of_their_methods_in_all_spellings() -> None:
    servers = {"a": {"tools": [tool("t")]}, KERNEL: {"tools": [tool("access.query")]}}
    one = view(Profile(unprefixed=True), **servers)
    assert one.unprefixed
    assert one.servers == ("a",)
    assert [each["name"] for each in listed(one, "tools/list")] == ["t", "mgp_access_query"]
    query = one.tools["mgp_access_query"]
    assert query.target == Target(KERNEL, "access.query")
    assert one.tools["mgp.access.query"] is one.tools["mgp/access/query"] is query
    narrow = view(Profile(servers=("a",)), **servers)
    assert "mgp_access_query" not in narrow.tools
    chosen = view(Profile(tools=("a/t",)), **servers)
    assert "mgp/access/query" not in chosen.tools


def test_no_server_takes_the_name_of_a_tool_of_the_kernel() -> None:
    one = view(
        a={"tools": [tool("mgp_access_query")], "prefix": ""},
        mgp={"tools": [tool("access.query")]},
    )
    assert one.tools["mgp_access_query"].target.server == KERNEL


def test_hosts_read_of_a_tool_that_it_may_be_called_as_a_task() -> None:
    """MCP 2025-11-25, `execution.taskSupport`; what the server wrote besides stays."""
    word = {"t": ToolRule(risk_level="dangerous")}
    spec = ServerSpec(id="a", approver="operator", tools=word)
    offered = listing(tools=[tool("t", execution={"x": 1}), tool("u")])
    one = whole(view_of(Profile(), {"a": spec}, {"a": build_listing(spec, offered)}))
    for mgp in (False, True):
        marked, other = listed(one, "tools/list", mgp)
        assert marked["execution"] == {"x": 1, "taskSupport": "optional"}
        assert "execution" not in other


HOSTILE = {
    "prompts that clash": {"prompts": [{"name": "".join(".: /"[n >> 2 * k & 3] for k in range(5))} for n in range(1000)]},
    "prompts that are too long": {"prompts": [{"name": "p" * 60 + str(n)} for n in range(1000)]},
    "wrapped resources": {"resources": [{"uri": f"gatewright://x/{n}", "name": "a"} for n in range(1000)]},
    "resources": {"resources": [{"uri": f"a://{n}", "name": "a"} for n in range(1000)]},
    "templates of one head": {"resourceTemplates": [{"uriTemplate": f"a://{{x}}/{n}", "name": "a"} for n in range(1000)]},
    "templates of many heads": {"resourceTemplates": [{"uriTemplate": "a" * n + "{x}", "name": "a"} for n in range(1000)]},
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_names_of_a_view_are_made_in_small_steps(kind: str) -> None:
    """Ten thousand prompts that clash, or resources that look wrapped, held everybody for a fifth of a second."""
    specs, shelved = shelves(a=HOSTILE[kind], b={"tools": [tool("t")]})
    steps, count = view_of(Profile(), specs, shelved), 0
    while True:
        try:
            next(steps)
        except StopIteration as done:
            made = done.value
            break
        count += 1
    assert count >= 1000
    assert sum(len(made.items(method)) for method in LISTS) in {501, 1001}  # of templates fewer


SAID = {
    "dev.cloto/security": {"risk_level": "safe"},
    "dev.gatewright/tool": {"trust_level": "system"},
    "vendor/x": 1,
}


def test_no_definition_of_a_server_has_words_of_the_gateway() -> None:
    sections = {
        "tools": [{**tool("t"), "_meta": SAID}],
        "prompts": [{"name": "p", "_meta": SAID}],
        "resources": [{"uri": "x://r", "_meta": SAID}],
        "resourceTemplates": [{"uriTemplate": "x://{r}", "_meta": SAID}],
    }
    one = view(a=sections)
    for method in LISTS:
        for shown in listed(one, method):
            assert shown["_meta"] == {"vendor/x": 1}
    shown = listed(one, "tools/list", mgp=True)[0]
    assert shown["_meta"] == {"vendor/x": 1, SECURITY_META: shown["security"]}


def test_what_the_gateway_defines_itself_keeps_its_words() -> None:
    spec = ServerSpec(id="a", local=True)
    shelf = build_listing(spec, listing(tools=[{**tool("t"), "_meta": SAID}]))
    own = whole(view_of(Profile(), {"a": spec}, {"a": shelf}))
    assert listed(own, "tools/list")[0]["_meta"] == SAID


def test_an_entry_reads_otherwise_only_to_who_sees_one_of_those_because_of_whom_it_does() -> None:
    entry = Item("one", {"uri": "x:1"}, {})
    assert entry.stands(lambda _: False)
    entry.apart(frozenset({"two", "three"}), Item("one", {"uri": "x:1"}, {}))
    assert entry.stands(lambda server: server == "two")
    assert not entry.stands(lambda server: server == "one")
