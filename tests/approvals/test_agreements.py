"""A yes to a tool holds for one caller, for a while, and for the tool as it was."""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import replace

from gatewright.approvals.agreements import KEPT, Agreements
from gatewright.call import ANONYMOUS, UserContext
from tests.gate_parts import AGENT, OPERATOR, a_tool, a_tool_call


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_yes_holds_for_its_caller_and_tool_until_it_ends() -> None:
    clock = Clock()
    kept = Agreements(clock)
    tool, other = a_tool("search"), a_tool("fetch")
    call = a_tool_call(tool)
    assert not kept.holds(call, tool, 60)
    kept.add(call, tool)
    assert kept.holds(call, tool, 60)
    assert not kept.holds(a_tool_call(tool, caller=OPERATOR), tool, 60)
    assert not kept.holds(a_tool_call(other), other, 60)
    assert not kept.holds(call, tool, 0)
    clock.now += 60
    assert not kept.holds(call, tool, 60)


def test_a_yes_to_one_key_of_a_caller_is_none_to_another_with_other_limits() -> None:
    kept = Agreements(Clock())
    tool = a_tool("search")
    kept.add(a_tool_call(tool), tool)
    less = replace(AGENT, key_id="key2", user=(UserContext(trust="untrusted"),))
    assert not kept.holds(a_tool_call(tool, caller=less), tool, 60)
    kept.add(a_tool_call(tool, caller=less), tool)
    assert kept.holds(a_tool_call(tool, caller=replace(AGENT, key_id="key3")), tool, 60)


def test_anonymous_callers_say_yes_for_their_own_session() -> None:
    kept = Agreements(Clock())
    tool = a_tool("search")
    ours = a_tool_call(tool, caller=ANONYMOUS, session="ours")
    kept.add(ours, tool)
    assert kept.holds(ours, tool, 60)
    assert not kept.holds(a_tool_call(tool, caller=ANONYMOUS, session="theirs"), tool, 60)
    alone = a_tool_call(tool, caller=ANONYMOUS, session=None)
    kept.add(alone, tool)
    assert not kept.holds(alone, tool, 60), "nobody knows whose the next one is"


def test_another_definition_of_the_tool_is_asked_about_again() -> None:
    kept = Agreements(Clock())
    tool = a_tool("search")
    kept.add(a_tool_call(tool), tool)
    changed = replace(tool, definition={**tool.definition, "title": Raw(b'"Send"')})
    assert not kept.holds(a_tool_call(changed), changed, 60)


def test_another_program_behind_the_id_of_its_server_is_asked_about_again() -> None:
    kept = Agreements(Clock())
    tool = a_tool("search")
    kept.add(a_tool_call(tool), tool, origin="one")
    assert kept.holds(a_tool_call(tool), tool, 60, "one")
    assert not kept.holds(a_tool_call(tool), tool, 60, "other")


def test_what_is_kept_has_a_bound_and_the_oldest_goes_first() -> None:
    kept = Agreements(Clock())
    tool = a_tool("search")
    calls = [
        a_tool_call(tool, caller=replace(AGENT, id=f"agent{number}")) for number in range(KEPT + 1)
    ]
    for call in calls:
        kept.add(call, tool)
    assert not kept.holds(calls[0], tool, 60)
    assert kept.holds(calls[1], tool, 60)
    assert kept.holds(calls[-1], tool, 60)


def test_what_operators_agreed_to_ends_when_their_approval_is_undone() -> None:
    keys = [1]
    asked: list[str] = []
    gone: set[str] = set()

    def undone(approval: str) -> bool:
        asked.append(approval)
        return approval in gone

    kept = Agreements(Clock(), undone, lambda: keys[0])
    tool, other = a_tool("search"), a_tool("fetch")
    kept.add(a_tool_call(tool), tool, "ap_1")
    kept.add(a_tool_call(other), other)
    assert kept.holds(a_tool_call(tool), tool, 600)
    assert not asked, "no key has changed"
    keys[0] += 1
    for _ in range(2):
        assert kept.holds(a_tool_call(tool), tool, 600)
    assert asked == ["ap_1"], "once for each change"
    gone.add("ap_1")
    keys[0] += 1
    assert not kept.holds(a_tool_call(tool), tool, 600)
    gone.clear()
    assert not kept.holds(a_tool_call(tool), tool, 600), "and it does not come back"
    assert kept.holds(a_tool_call(other), other, 600), "the caller's own user has no key"
