from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Caller, Client, Failure, Outcome
from gatewright.dialects.groundhog.tool_registry import Conflict, Registered, Registry, TooMany
from gatewright.mcp.wire.groundhog import META_TOOL
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.objection import Objection
from gatewright.schemas.output_filter import OutputSchema
from tests.gate_parts import a_tool

SCHEMA = {"type": "object"}


def one(
    version: str = "1.0.0", fingerprint: str = "f", shipped: bool = False, **more: Any
) -> Registered:
    def run(arguments: dict[str, Any], call: Call, back: Back) -> Any:
        return {"version": version, **arguments}

    definition = {"description": version, "inputSchema": SCHEMA, **more}
    return Registered(
        name="tool",
        version=version,
        definition=definition,
        run=run,
        fingerprint=fingerprint,
        shipped=shipped,
    )


def listed(registry: Registry) -> dict[str, str]:
    """Name → version."""
    found = {}
    for definition in registry.listing.of("tools"):
        meta = json.loads(bytes(definition["_meta"]))[META_TOOL]
        found[json.loads(bytes(definition["name"]))] = meta["version"]
        assert meta["name"] == "tool"
    return found


def call(**arguments: Any) -> Call:
    return Call(
        id="1",
        door="test",
        kind="tool",
        method="tools/call",
        name="tool",
        params={"name": "tool", "arguments": arguments},
        caller=Caller("ann"),
        client=Client("2025-11-25"),
        trace_id="t",
    )


async def ran(registry: Registry, name: str = "tool", **arguments: Any) -> Any:
    nobody: Any = None
    return await registry.call("tools/call", {"name": name}, call(**arguments), nobody)


async def test_the_newest_version_has_the_plain_name_and_the_others_their_own() -> None:
    """GRH-msg-4 and GRH-reg-5."""
    told: list[int] = []
    registry = Registry()
    registry.changed.listen(lambda _: told.append(1))
    for version in ("1.0.0", "1.10.0", "1.9.0"):
        assert registry.add(one(version))
    assert listed(registry) == {"tool": "1.10.0", "tool.v1.9.0": "1.9.0", "tool.v1.0.0": "1.0.0"}
    assert len(told) == 3
    assert json.loads((await ran(registry)).raw)["structuredContent"]["version"] == "1.10.0"
    older = await ran(registry, "tool.v1.0.0", n=1)
    assert json.loads(older.raw)["structuredContent"] == {"version": "1.0.0", "n": 1}
    registry.remove(("tool", "1.10.0"))
    assert listed(registry) == {"tool": "1.9.0", "tool.v1.0.0": "1.0.0"}
    registry.remove(("tool", "1.10.0"))
    assert len(told) == 4


async def test_what_is_shipped_gives_way_and_comes_back() -> None:
    """GRH-reg-5."""
    registry = Registry()
    registry.add(one(fingerprint="ours", shipped=True, author="gateway"))
    registry.add(one(fingerprint="theirs", author="somebody"))
    assert [found.shipped for found in registry.tools] == [False]
    registry.remove(("tool", "1.0.0"))
    assert [found.shipped for found in registry.tools] == [True]
    assert listed(registry) == {"tool": "1.0.0"}


def test_the_same_registration_again_changes_nothing() -> None:
    """GRH-reg-4: decision C-44."""
    registry = Registry()
    assert registry.add(one()) is True
    assert registry.add(one()) is False


def test_another_tool_of_the_same_name_and_version_is_a_conflict() -> None:
    """GRH-reg-4."""
    registry = Registry()
    registry.add(one())
    with pytest.raises(Conflict, match=r"tool 1\.0\.0"):
        registry.add(one(fingerprint="another"))
    assert registry.get("tool", "1.0.0") is not None
    assert len(registry.tools) == 1


def test_what_is_shipped_gives_way_to_a_registration() -> None:
    """GRH-msg-5."""
    registry = Registry()
    registry.add(one(shipped=True))
    assert registry.add(one(fingerprint="another", description="registered"))
    (kept,) = registry.tools
    assert kept.definition["description"] == "registered"
    with pytest.raises(Conflict):
        registry.add(one())


async def test_what_a_tool_returns_has_to_fit_its_output_schema() -> None:
    """GRH-reg-8."""
    registry = Registry()
    output = {"type": "object", "properties": {"version": {"type": "integer"}}}
    registry.add(one(outputSchema=output))
    outcome = await ran(registry)
    assert isinstance(outcome, Failure)
    assert outcome.reason == "output_invalid"
    assert outcome.details == {"path": "/version", "rule": "type"}
    assert "tool" in outcome.message
    assert isinstance(await ran(registry, version=7), Answer)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"maxLength": 1}, "x" * 100_000),
        ({"items": {"oneOf": [{"maximum": number} for number in range(500)]}}, [1.5] * 15_000),
    ],
)
async def test_what_takes_long_to_check_is_left_to_who_checks_beside_the_loop(
    schema: dict[str, Any], value: Any
) -> None:
    """The filter `output_schema` judges every result of a tool that lists an output schema, in a worker where that takes long."""
    registry = Registry()
    output = {"type": "object", "properties": {"found": schema}, "required": ["found"]}
    registry.add(one(outputSchema=output))
    left = await ran(registry, found=value)
    assert isinstance(left, Answer)
    assert isinstance(await ran(registry), Failure)
    tool = msgspec.structs.replace(a_tool("tool"), definition=registry.listing.of("tools")[0])
    asked: list[bytes] = []

    async def beside(call: Call, raw: bytes, schema: bytes, bounds: tuple[int, int]) -> Objection:
        asked.append(schema)
        return Objection("/found", "late", "does not fit")

    judges = OutputSchema(Compiled(64, 5000), beside=beside)
    judged = await outcome_of(judges.outcome(replace(call(), tool=tool), left))
    assert isinstance(judged, Failure)
    assert judged.reason == "output_invalid"
    assert [json.loads(one) for one in asked] == [output]


async def outcome_of(said: Any) -> Outcome:
    found: Outcome = await said if isinstance(said, Awaitable) else said
    return found


async def test_a_tool_that_failed_is_not_held_against_a_schema() -> None:
    """GRH-reg-8."""
    registry = Registry()

    def broken(arguments: dict[str, Any], call: Call, back: Back) -> Any:
        raise RuntimeError("on fire")

    definition = {"inputSchema": SCHEMA, "outputSchema": {"type": "object", "required": ["x"]}}
    registry.add(
        Registered(name="tool", version="1", definition=definition, run=broken, fingerprint="f")
    )
    outcome = await ran(registry)
    assert isinstance(outcome, Answer)
    assert outcome.tool_error


def test_a_name_stays_its_owners_while_nobody_answers_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gatewright.dialects.groundhog.tool_registry._MOST_LEFT", 1)
    registry = Registry()
    mine = msgspec.structs.replace(one(), owner="agent ann")
    registry.add(mine)
    registry.remove(("tool", "1.0.0"))
    for owner in ("agent bob", ""):
        with pytest.raises(Conflict, match="who is not connected") as caught:
            registry.add(msgspec.structs.replace(one("2.0.0"), owner=owner))
        assert caught.value.field == "name"
    assert registry.add(msgspec.structs.replace(one("2.0.0"), owner="agent ann"))
    registry.remove(("tool", "2.0.0"))
    other = msgspec.structs.replace(one(), name="other", owner="agent ann")
    registry.add(other)
    registry.remove(("other", "1.0.0"))
    assert registry.add(msgspec.structs.replace(one("3.0.0"), owner="agent bob"))


def test_whoever_leaves_names_without_end_pushes_out_only_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gatewright.dialects.groundhog.tool_registry._MOST_LEFT", 3)
    registry = Registry()

    def offered(name: str, owner: str) -> Registered:
        return msgspec.structs.replace(one(), name=name, owner=owner)

    for name, owner in (("pay", "ann"), *((f"m{n}", "mallory") for n in (1, 2, 1, 3, 4))):
        registry.add(offered(name, owner))
        registry.remove((name, "1.0.0"))
    for name in ("pay", "m3", "m4"):
        with pytest.raises(Conflict):
            registry.add(offered(name, "bob"))
    assert registry.add(offered("m1", "bob"))
    assert registry.add(offered("pay", "ann"))


def several(count: int) -> list[Registered]:
    return [msgspec.structs.replace(one(), name=f"tool-{number}") for number in range(count)]


def test_many_that_go_together_are_taken_from_the_list_once() -> None:
    told: list[int] = []
    registry = Registry()
    registry.changed.listen(lambda listing: told.append(len(listing.of("tools"))))
    for each in several(5):
        registry.add(each)
    registry.remove(*((f"tool-{number}", "1.0.0") for number in range(4)), ("none", "1.0.0"))
    assert told == [1, 2, 3, 4, 5, 1]


def test_what_was_offered_before_is_not_made_again_for_a_new_tool() -> None:
    """Or each registration would cost as much as all before it."""
    registry = Registry()
    *most, last = several(5)
    for each in most:
        registry.add(each)
    before = list(registry.listing.of("tools"))
    registry.add(last)
    after = registry.listing.of("tools")
    assert [known is found for known, found in zip(before, after, strict=False)] == [True] * 4


@pytest.mark.parametrize(("name", "reads"), [("Tool", "tool"), ("t00l", "tool"), ("tools", "")])
def test_a_tool_of_another_that_reads_as_one_is_found(name: str, reads: str) -> None:
    registry = Registry()
    registry.add(replace(one(), owner="key ann"))
    anothers = replace(one(), name=name, owner="key eve")
    assert registry.reads_as(anothers) == reads
    assert registry.reads_as(replace(anothers, owner="key ann")) == ""
    registry.remove(("tool", "1.0.0"))
    assert registry.reads_as(anothers) == reads


def test_one_owner_answers_for_so_many_tools_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are listed anew with each, and one more version is one more tool."""
    monkeypatch.setattr("gatewright.dialects.groundhog.tool_registry.MOST_EACH", 2)
    registry = Registry()
    registry.add(one(shipped=True))
    registry.add(replace(one("2.0.0"), name="other", owner="ann"))
    registry.add(replace(one("3.0.0"), name="other", owner="ann"))
    assert not registry.add(replace(one("3.0.0"), name="other", owner="ann"))  # the same again
    with pytest.raises(TooMany, match="2 tools are registered by this caller"):
        registry.add(replace(one("4.0.0"), name="other", owner="ann"))
    registry.add(replace(one(), name="his", owner="bob"))
    registry.remove(("other", "2.0.0"))
    assert registry.add(replace(one("4.0.0"), name="other", owner="ann"))
    registry.remove(("other", "3.0.0"), ("other", "4.0.0"), ("his", "1.0.0"))
    assert registry._each == {"": 1}


def test_what_is_called_like_an_older_version_leaves_nothing_behind() -> None:
    """No registration is called so (`registration`); what is shipped may be."""
    registry = Registry()
    tools = [one("1.0.0-a.vx"), one("2.0.0"), replace(one(), name="tool.v1.0.0-a.vx")]
    for each in tools:
        registry.add(each)
    for each in reversed(tools):
        registry.remove((each.name, each.version))
    assert ([*registry.listing.of("tools")], len(registry.tools)) == ([], 0)
