"""What of a server's offer reaches the catalogue, and what is said about the rest."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from gatewright.call import Security
from gatewright.config.model import ToolRule
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.listing import Listing
from gatewright.servers.server_catalogue import (
    Built,
    ServerCatalogue,
    _steps,
    build_listing,
    encode_definition,
    shelve,
)
from gatewright.servers.spec import CatalogueLimits, ServerSpec


def listing(**sections: Any) -> Listing:
    made = {
        name: [jsonrpc.decode_members(json.dumps(one).encode()) for one in entries]
        for name, entries in sections.items()
    }
    return Listing(Hello("2025-11-25"), made)  # type: ignore[arg-type]


def shelf(spec: ServerSpec | None = None, **sections: Any) -> ServerCatalogue:
    return build_listing(spec or ServerSpec(id="s"), listing(**sections))


def tool(name: Any = "t", **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def test_a_tool_keeps_every_member_as_its_server_wrote_it() -> None:
    text = b'{"z":1.10,"name":"t","inputSchema":{"x":1e400},"vendor":null}'
    made = Listing(Hello("2025-11-25"), {"tools": [jsonrpc.decode_members(text)]})
    found = build_listing(ServerSpec(id="s"), made)
    assert encode_definition(found.tools[0].definition, {}) == text
    named = encode_definition(found.tools[0].definition, {"name": "s__t"})
    assert named == text.replace(b'"t"', b'"s__t"')


def test_what_policy_judges_is_decoded() -> None:
    found = shelf(
        tools=[
            tool(
                annotations={"readOnlyHint": True},
                security={"risk_level": "dangerous", "validator": "sandbox"},
            )
        ]
    ).tools[0]
    assert (found.target.server, found.target.name, found.schema) == ("s", "t", {"type": "object"})
    assert not found.repeatable  # the server's own hint is no word of the operator
    assert found.security == Security("dangerous", (), "sandbox", declared=True)


@pytest.mark.parametrize(
    "member", ["1" * 5000, "[" * 300 + "]" * 300, "1." + "1" * 5000], ids=["long", "deep", "exact"]
)
def test_a_tool_whose_definition_cannot_be_compared_is_left_out(member: str) -> None:
    texts = ['{"name":"good"}', f'{{"name":"odd","_meta":{{"n":{member}}}}}']
    entries = [jsonrpc.decode_members(text.encode()) for text in texts]
    found = build_listing(ServerSpec(id="s"), Listing(Hello("2025-11-25"), {"tools": entries}))
    assert [one.target.name for one in found.tools] == ["good"]
    (warning,) = found.warnings
    assert warning.startswith("tool 'odd' is left out: ")


def test_the_operators_word_counts_and_a_disabled_tool_does_not_exist() -> None:
    rules = {"a": ToolRule(risk_level="dangerous"), "b": ToolRule(enabled=False)}
    spec = ServerSpec(id="s", tools=rules)
    found = shelf(spec, tools=[tool("a"), tool("b"), tool("c")])
    assert [one.target.name for one in found.tools] == ["a", "c"]
    assert found.tools[0].security.risk_level == "dangerous"
    assert found.warnings == ()


def test_a_word_about_all_tools_is_for_those_that_are_not_named() -> None:
    rules = {"*": ToolRule(enabled=False), "a": ToolRule(), "b": ToolRule(enabled=True)}
    found = shelf(ServerSpec(id="s", tools=rules), tools=[tool("a"), tool("b"), tool("c")])
    assert [one.target.name for one in found.tools] == ["a", "b"]
    rules = {"*": ToolRule(risk_level="dangerous"), "a": ToolRule(risk_level="moderate")}
    found = shelf(ServerSpec(id="s", tools=rules), tools=[tool("a"), tool("b")])
    assert [one.security.risk_level for one in found.tools] == ["moderate", "dangerous"]


@pytest.mark.parametrize("name", [None, 3, "", {"a": 1}])
def test_an_entry_without_a_name_is_left_out_with_a_warning(name: Any) -> None:
    found = shelf(tools=[tool(name), tool("ok")], prompts=[{"name": name}], resources=[{}])
    assert [one.target.name for one in found.tools] == ["ok"]
    assert len(found.warnings) == 3


def test_a_name_that_comes_twice_counts_once() -> None:
    found = shelf(tools=[tool("t", n=1), tool("t", n=2)])
    assert [bytes(one.definition["n"]) for one in found.tools] == [b"1"]
    assert found.warnings == ("tools: 't' is listed twice; the first one counts",)


def test_more_tools_than_the_limit_are_left_out_with_one_warning() -> None:
    spec = ServerSpec(id="s", catalogue=CatalogueLimits(tools=2))
    found = shelf(spec, tools=[tool(f"t{n}") for n in range(9)])
    assert [one.target.name for one in found.tools] == ["t0", "t1"]
    assert found.warnings == ("only the first 2 tools are offered",)
    why = "only the first 2 tools are offered"
    assert found.left_out == tuple((f"t{n}", why) for n in range(2, 9))


def test_a_schema_out_of_bounds_costs_its_tool_and_no_other() -> None:
    deep: dict[str, Any] = {}
    for _ in range(70):
        deep = {"properties": {"a": deep}}
    wide = {"anyOf": [{"const": n} for n in range(1001)]}
    found = shelf(tools=[tool("deep", inputSchema=deep), tool("wide", inputSchema=wide), tool()])
    assert [one.target.name for one in found.tools] == ["t"]
    assert "'deep' is left out: its input schema is nested deeper" in found.warnings[0]
    assert "'wide' is left out: its input schema has more than" in found.warnings[1]


def test_tools_that_did_not_change_are_not_read_again() -> None:
    tools = [tool("a"), tool("b")]
    first = shelf(tools=tools)
    tools[1]["title"] = "changed"
    again = build_listing(ServerSpec(id="s"), listing(tools=tools), first)
    assert again.tools[0] is first.tools[0]
    assert bytes(again.tools[1].definition["title"]) == b'"changed"'


@pytest.mark.parametrize("word", ["pattern", "patt\\u0065rn", "patternProperties"])
def test_a_schema_with_patterns_is_measured_however_small_it_is(word: str) -> None:
    inner = {f"p{n}": {} for n in range(201)} if word == "patternProperties" else "a" * 20_000
    text = json.dumps({"type": "object", "WORD": inner}).replace("WORD", word)
    definition = b'{"name":"t","inputSchema":%s}' % text.encode()
    made = Listing(Hello("2025-11-25"), {"tools": [jsonrpc.decode_members(definition)]})
    assert build_listing(ServerSpec(id="s"), made).tools == ()


def test_a_tool_whose_description_is_over_the_limit_is_left_out_by_name() -> None:
    most = CatalogueLimits().description_bytes
    long = tool("long", description="x" * most)
    found = shelf(tools=[long, tool("fits", description="x" * (most - 2))])
    assert [one.target.name for one in found.tools] == ["fits"]
    assert found.warnings == (
        f"tool 'long' is left out: its description has {most + 2} bytes, and limits.description_bytes is {most}",
    )


def test_a_security_that_cannot_be_read_makes_its_tool_dangerous() -> None:
    found = shelf(tools=[tool(security={"risk_level": "harmless"})])
    assert found.tools[0].security.risk_level == "dangerous"
    assert "counts as dangerous" in found.warnings[0]


def test_header_annotations_count_where_http_is_spoken() -> None:
    good = {"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "Region"}}}
    bad = {"type": "object", "properties": {"r": {"type": "object", "x-mcp-header": "R"}}}
    tools = [tool("good", inputSchema=good), tool("bad", inputSchema=bad)]
    over_http = shelf(ServerSpec(id="s", transport="http"), tools=tools)
    assert [one.target.name for one in over_http.tools] == ["good"]
    assert over_http.tools[0].headers == {("r",): "Region"}
    assert "'bad' is left out" in over_http.warnings[0]
    assert len(shelf(tools=tools).tools) == 2


def test_prompts_resources_and_templates_are_known_by_their_own_member() -> None:
    found = shelf(
        prompts=[{"name": "p"}],
        resources=[{"uri": "x://1", "name": "r"}],
        resourceTemplates=[{"uriTemplate": "x://{id}", "name": "t"}],
    )
    assert [one.target.name for one in found.prompts] == ["p"]
    assert [one.target.name for one in found.resources] == ["x://1"]
    assert found.templates[0][1].matches("x://7")


def test_the_warnings_of_the_listing_come_first() -> None:
    made = Listing(Hello("2025-11-25"), {"tools": []}, {"tools": "tools/list failed: no"})
    assert build_listing(ServerSpec(id="s"), made).warnings == ("tools/list failed: no",)


@pytest.mark.parametrize(
    ("approver", "word", "more", "as_task"),
    [
        ("operator", ToolRule(risk_level="dangerous"), {}, True),
        ("either", ToolRule(confirmation_required=True), {}, True),
        ("operator", ToolRule(risk_level="safe"), {}, False),
        ("caller", ToolRule(risk_level="dangerous"), {}, False),
        ("caller", ToolRule(risk_level="dangerous", approver="operator"), {}, True),
        ("operator", ToolRule(risk_level="dangerous", approver="caller"), {}, False),
        (
            "operator",
            ToolRule(risk_level="dangerous"),
            {"execution": {"taskSupport": "optional"}},
            False,
        ),
    ],
)
def test_a_tool_that_may_wait_for_operators_may_be_a_task(
    approver: str, word: ToolRule, more: dict[str, Any], as_task: bool
) -> None:
    spec = ServerSpec(id="s", approver=approver, tools={"t": word})
    assert shelf(spec, tools=[tool(**more)]).tools[0].as_task is as_task


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (ServerSpec(id="s"), ("destructive", "open_world")),
        (ServerSpec(id="s", hints=False), ()),
        (ServerSpec(id="s", transport="openapi"), ("destructive",)),
        (ServerSpec(id="s", tools={"t": ToolRule(risk_level="moderate")}), ()),
        (ServerSpec(id="s", tools={"*": ToolRule(confirmation_required=False)}), ()),
        (ServerSpec(id="s", tools={"t": ToolRule(flow=())}), ("destructive", "open_world")),
        (
            ServerSpec(id="s", tools={"u": ToolRule(risk_level="safe")}),
            ("destructive", "open_world"),
        ),
    ],
)
def test_annotations_that_ask_for_a_person_count_where_nobody_vouched_for_the_tool(
    spec: ServerSpec, expected: tuple[str, ...]
) -> None:
    said = tool(annotations={"openWorldHint": True, "destructiveHint": True, "readOnlyHint": True})
    assert shelf(spec, tools=[said]).tools[0].security.hints == expected


@pytest.mark.parametrize(
    ("spec", "risk"),
    [
        (ServerSpec(id="s"), "moderate"),
        (ServerSpec(id="s", transport="http"), "moderate"),
        (ServerSpec(id="s", hints=False), "moderate"),
        (ServerSpec(id="s", trust_level="standard"), "moderate"),
        (ServerSpec(id="s", trust_level="sandboxed"), "moderate"),
        (ServerSpec(id="s", tools={"t": ToolRule(confirmation_required=False)}), "moderate"),
        (ServerSpec(id="s", tools={"*": ToolRule(risk_level="safe")}), "safe"),
        (ServerSpec(id="s", trust_level="trusted"), "safe"),
        (ServerSpec(id="s", transport="python"), "safe"),
        (ServerSpec(id="s", transport="openapi"), "safe"),
        (ServerSpec(id="s", local=True), "safe"),
    ],
)
def test_that_a_tool_is_safe_is_believed_of_the_operator_and_of_whom_they_trust(
    spec: ServerSpec, risk: str
) -> None:
    said = tool(security={"risk_level": "safe"}, annotations={"readOnlyHint": True})
    assert shelf(spec, tools=[said]).tools[0].security.risk_level == risk


@pytest.mark.parametrize(
    "members",
    [
        {"annotations": {"openWorldHint": True}},
        {"annotations": {"openWorldHint": True, "readOnlyHint": True, "idempotentHint": True}},
        {"annotations": {"open_world_hint": 1, "readOnlyHint": True}},
        {"_meta": {"x.example/annotations": {"OpenWorldHint": "yes"}}, "annotations": {}},
    ],
)
def test_a_tool_that_reaches_out_sends_whatever_else_it_says_of_itself(
    members: dict[str, Any],
) -> None:
    marks = ("untrusted", "outbound")
    for spec in (
        ServerSpec(id="s"),
        ServerSpec(id="s", hints=False),
        ServerSpec(id="s", transport="openapi"),
        ServerSpec(id="s", trust_level="trusted"),
    ):
        assert shelf(spec, tools=[tool(**members)]).tools[0].security.flow == marks
    reads = ServerSpec(id="s", tools={"t": ToolRule(flow=("untrusted",))})
    assert shelf(reads, tools=[tool(**members)]).tools[0].security.flow == ("untrusted",)


def test_a_definition_that_is_no_description_any_more_is_left_out_by_name() -> None:
    found = shelf(tools=[tool("large", vendor="x" * 300_000), tool("small")])
    assert [one.target.name for one in found.tools] == ["small"]
    assert any("'large' is left out: its definition has" in one for one in found.warnings)


def test_resources_without_number_are_offered_up_to_a_bound_that_is_named() -> None:
    many = [{"uri": f"file:///{n}", "name": "n"} for n in range(10_001)]
    found = shelf(resources=many)
    assert len(found.resources) == 10_000
    assert found.warnings == ("resources: only the first 10000 are offered",)


async def test_a_shelf_made_in_slices_is_the_one_that_is_made_at_once() -> None:
    spec, said = ServerSpec(id="s"), listing(tools=[tool("a"), tool("b")], prompts=[{"name": "p"}])
    made = await shelve(spec, said, None)
    assert made == Built(spec, said, build_listing(spec, said))
    again = await shelve(spec, listing(tools=[tool("a")]), made)
    assert again.shelf.tools[0] is made.shelf.tools[0]
    other = await shelve(ServerSpec(id="s", hints=False), listing(tools=[tool("a")]), made)
    assert other.shelf.tools[0] is not made.shelf.tools[0]


def test_of_warnings_without_number_a_few_are_said_and_the_rest_counted() -> None:
    twice = [{"uriTemplate": "x" * 5000}] * 2
    found = shelf(prompts=[{"title": "no name"}] * 150, resourceTemplates=twice)
    assert len(found.warnings) == 101
    assert found.warnings[-1] == "52 more of its entries are odd or left out"
    assert max(map(len, found.warnings)) == 400


@pytest.mark.parametrize(
    "entry", [{"title": "no name"}, {"name": "a", "uri": "a"}, {"name": "\x00" * 9}]
)
@pytest.mark.parametrize("section", ["tools", "prompts", "resources"])
def test_each_entry_is_a_step_after_which_others_have_a_turn(
    section: str, entry: dict[str, Any]
) -> None:
    """Those that are left out too: a list of nothing else is no reason to keep everybody waiting."""
    steps = _steps(ServerSpec(id="s"), listing(**{section: [entry] * 300}))
    assert len(list(steps)) in {300, 301}  # what is left is read once more


LARGE = ",".join(["1e1"] * 20_000)


@pytest.mark.parametrize(
    ("member", "why"),
    [
        (f"[{LARGE}]", "'x' cannot be compared: have more than 20000 values"),
        (f'{{"type":"object","default":[{LARGE}]}}', "have more than 20000 values"),
        (f'{{"a":["{"b" * 5000}",{"9" * 1001}]}}', "an integer of more than 1000 digits"),
        ("1." + "7" * 4300, "a number has more than 4300 digits"),
        ("[" * 300 + "]" * 300, "nested too deep"),
    ],
)
def test_a_definition_that_cannot_be_compared_while_others_wait_is_left_out(
    member: str, why: str
) -> None:
    text = b'{"name":"t","inputSchema":{"type":"object"},"x":%b}' % member.encode()
    made = Listing(Hello("2025-11-25"), {"tools": [jsonrpc.decode_members(text)]})
    found = build_listing(ServerSpec(id="s"), made)
    assert not found.tools
    assert why in found.left_out[0][1]


@pytest.mark.parametrize("zeros", [10, 30_000])
def test_zeros_at_the_end_of_a_number_are_no_reason(zeros: int) -> None:
    text = b'{"name":"t","inputSchema":{"type":"object"},"x":1.%b}' % (b"0" * zeros)
    made = Listing(Hello("2025-11-25"), {"tools": [jsonrpc.decode_members(text)]})
    assert len(build_listing(ServerSpec(id="s"), made).tools) == 1


@pytest.mark.parametrize("section", ["tools", "prompts", "resources", "resourceTemplates"])
def test_what_is_no_text_is_not_even_read_as_a_name(
    section: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = {"resources": "uri", "resourceTemplates": "uriTemplate"}.get(section, "name")
    read: list[int] = []
    real = jsonrpc.decode

    def counted(one: bytes) -> Any:
        read.append(len(bytes(one)))
        return real(one)

    monkeypatch.setattr(jsonrpc, "decode", counted)
    for name in (b"[%b1]" % (b"1e1," * 100_000), b'"%b"' % (b"x" * 8191), b"7", b"null"):
        made = Listing(Hello("2025-11-25"), {section: [{key: msgspec.Raw(name)}]})  # type: ignore[dict-item]
        found = build_listing(ServerSpec(id="s"), made)
        assert found.warnings == (f"{section}: an entry without a usable {key!r} is left out",)
    assert not read


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x://" + "{+a}" * 9, "it has 9 expressions, at most 8"),
        ("x://" + "a" * 2048 + "{b}", "it has 2055 characters, at most 2048"),
    ],
)
def test_a_template_that_nobody_can_be_held_against_is_left_out_by_name(
    text: str, why: str
) -> None:
    found = shelf(
        resourceTemplates=[{"uriTemplate": one, "name": "n"} for one in (text, "x://{a}")]
    )
    assert [template.text for _, template in found.templates] == ["x://{a}"]
    assert found.warnings == (f"resource template {text[:100]!r} is left out: {why}",)


@pytest.mark.parametrize("letter", ["a", "\u0430", "\ufdfa"])
def test_a_tool_whose_name_is_longer_than_mcp_has_names_is_left_out_by_name(letter: str) -> None:
    """MCP 2025-11-25, tools: "between 1 and 128 characters"; each is compared as it looks with all others."""
    found = shelf(tools=[tool(letter * 129), tool(letter * 128), tool("plain")])
    assert [one.target.name for one in found.tools] == [letter * 128, "plain"]
    assert found.named == (letter * 128, "plain")
    (said,) = found.warnings
    assert said == f"tool {letter * 128!r}… is left out: its name has more than 128 characters"
