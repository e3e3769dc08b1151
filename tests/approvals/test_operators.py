"""The gate `confirm` where operators decide: the queue, the wait, the second call that uses the approval up."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants
from gatewright.approvals import Confirm, Rule
from gatewright.approvals.request import Approval, Asked, CannotDecideError
from gatewright.call import ANONYMOUS, Call, Caller, Client, Event, Refusal, verdict_of
from gatewright.transport import slices
from tests.approvals.queues import NEVER, OPERATOR_RULE, WIPE, Hearing, Showing, World, refused
from tests.gate_parts import AGENT, a_tool, a_tool_call
from tests.gate_parts import Asked as Answering

YES = {"action": "accept", "content": {"confirm": True}}


async def test_a_call_that_nobody_decides_on_is_told_to_come_back(tmp_path: Path) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    found = refused(await world.run(arguments={"path": "/a"}), "permission_deferred")
    (waiting,) = world.desk.store.waiting()
    assert found.details == {
        "status": "pending_approval",
        "approval_id": waiting.id,
        "missing": "approval",
    }
    assert waiting.id in found.message
    assert (waiting.agent, waiting.server, waiting.tool) == (AGENT.id, "srv", "wipe")
    assert (waiting.arguments, waiting.risk, waiting.policy) == ('{"path":"/a"}', "dangerous", "p1")


async def test_who_asks_what_an_earlier_process_asked_did_not_begin_that_request(
    tmp_path: Path,
) -> None:
    before = World(tmp_path, OPERATOR_RULE, hold_s=0.0)
    await before.run()
    await before.run()
    after = World(tmp_path, OPERATOR_RULE, hold_s=0.0)
    await after.run()
    assert (len(before.began), after.began) == (1, [])


async def test_the_same_call_repeated_after_the_approval_runs_once(tmp_path: Path) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    await world.run(arguments={"a": 1, "b": 2.0})
    world.desk.store.approve((await world.desk.first()).id, by="olga")
    passed = await world.run(arguments={"b": 2, "a": 1})
    assert isinstance(passed, Call)
    assert passed.facts["confirmed_by"] == "olga"
    assert passed.facts["approval"].startswith("ap_")
    refused(await world.run(arguments={"a": 1, "b": 2.0}), "permission_deferred")


async def test_a_call_goes_on_when_it_is_approved_while_it_waits(tmp_path: Path) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=NEVER)
    back = Hearing()
    running = asyncio.ensure_future(world.run(back=back, deadline=60.0))
    waiting = await world.desk.first()
    world.now += 500.0
    world.desk.store.approve(waiting.id, by="olga")
    passed = await running
    assert isinstance(passed, Call)
    assert passed.deadline == 560.0
    assert [one.method for one in back.events] == ["notifications/progress"]
    assert waiting.id in back.events[0].params["message"]


async def test_a_no_reaches_the_call_that_waits_and_those_after_it(tmp_path: Path) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=NEVER)
    running = asyncio.ensure_future(world.run())
    waiting = await world.desk.first()
    world.desk.store.deny(waiting.id, by="olga", comment="not on a \u202eSunday")
    found = refused(await running, "permission_denied")
    assert "olga" in found.message
    assert "\\u202eSunday" in found.message
    assert refused(await world.run(), "permission_denied").details["approval_id"] == waiting.id


@pytest.mark.parametrize(
    "other",
    [
        {"arguments": {"path": "/b"}},
        {"caller": replace(AGENT, id="agent.two")},
        {
            "tool": replace(
                WIPE, definition={"name": msgspec.Raw(b'"wipe"'), "x": msgspec.Raw(b"1")}
            )
        },
    ],
    ids=["arguments", "caller", "definition"],
)
async def test_an_approval_lets_nothing_else_pass(tmp_path: Path, other: dict[str, Any]) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    await world.run(arguments={"path": "/a"})
    world.desk.store.approve((await world.desk.first()).id, by="olga")
    call = {"arguments": {"path": "/a"}} | other
    assert refused(await world.run(**call), "permission_deferred").details["missing"] == "approval"


async def test_a_caller_without_a_name_uses_up_no_approval_of_another_session(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    call: dict[str, Any] = {"caller": ANONYMOUS, "arguments": {"path": "/a"}}
    refused(await world.run(**call, session="one"), "permission_deferred")
    world.desk.store.approve((await world.desk.first()).id, by="olga")
    for session in ("other", None):
        refused(await world.run(**call, session=session), "permission_deferred")
    assert isinstance(await world.run(**call, session="one"), Call)


async def test_an_approval_of_another_policy_counts_for_nothing(tmp_path: Path) -> None:
    first = World(tmp_path, OPERATOR_RULE, hold_s=0)
    await first.run()
    first.desk.store.approve((await first.desk.first()).id, by="olga")
    found = await World(tmp_path, OPERATOR_RULE, 0, policy="p2").run()
    assert refused(found, "permission_deferred").details["missing"] == "approval"


async def test_with_a_quorum_one_yes_is_not_enough(tmp_path: Path) -> None:
    world = World(tmp_path, Rule("operator", 2), hold_s=0)
    await world.run()
    waiting = await world.desk.first()
    world.desk.store.approve(waiting.id, by="olga")
    refused(await world.run(), "permission_deferred")
    world.desk.store.approve(waiting.id, by="otto")
    assert isinstance(await world.run(), Call)


async def test_a_grant_that_was_revoked_meanwhile_is_gone(tmp_path: Path) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=NEVER)
    running = asyncio.ensure_future(world.run())
    waiting = await world.desk.first()
    world.confirm._access = Access(Grants(()), lambda: 0.0)
    world.desk.store.approve(waiting.id, by="olga")
    assert refused(await running, "access_denied").details == {}


async def test_either_asks_the_caller_first_and_then_the_operators(tmp_path: Path) -> None:
    world = World(tmp_path, Rule("either"), hold_s=0)
    passed = await world.run(back=Answering(YES))
    assert isinstance(passed, Call)
    assert passed.facts["confirmed_by"] == AGENT.id
    assert world.desk.store.all() == []
    refused(await world.run(back=Hearing()), "permission_deferred")
    assert len(world.desk.store.waiting()) == 1


async def test_a_caller_that_said_no_does_not_go_on_to_the_operators(tmp_path: Path) -> None:
    world = World(tmp_path, Rule("either"), hold_s=0)
    refused(await world.run(back=Answering({"action": "decline"})), "permission_denied")
    assert world.desk.store.all() == []


async def test_under_the_rule_operator_the_caller_is_never_asked(tmp_path: Path) -> None:
    """Consent of the calling host's user is not an operator's approval."""
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)

    class Eager(Answering):
        def emit(self, event: Event) -> None:
            return None

    back = Eager(YES)
    refused(await world.run(back=back), "permission_deferred")
    assert back.questions == []


async def test_a_caller_that_gives_up_leaves_its_request_in_the_queue(tmp_path: Path) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=NEVER)
    running = asyncio.ensure_future(world.run())
    waiting = await world.desk.first()
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    assert world.desk.store.waiting() == [waiting]


async def test_without_a_queue_a_rule_that_wants_an_operator_refuses() -> None:
    access = Access(Grants((Grant(AGENT.id, "srv"),)), lambda: 0.0)
    confirm = Confirm(access, lambda: 0.0, rule=lambda _: OPERATOR_RULE)
    found = refused(
        await verdict_of(confirm, a_tool_call(WIPE, facts={}), Hearing()), "confirmation_required"
    )
    assert "no queue" in found.message


async def test_whoever_fills_the_queue_has_to_wait(tmp_path: Path) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    for number in range(100):
        await world.run(arguments={"n": number})
    found = refused(await world.run(arguments={"n": 100}), "resource_exhausted")
    assert "gatewright approve" in found.message


async def test_whoever_finds_the_queue_full_after_the_wait_is_told_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not that something waits which does not."""
    world = World(tmp_path, OPERATOR_RULE, 0.01)
    put, puts = world.desk.ask, 0

    def ask(asked: Asked, **more: Any) -> Approval | None:
        nonlocal puts
        puts += 1
        return put(asked, **more) if puts == 1 else None

    monkeypatch.setattr(world.desk, "ask", ask)
    found = refused(await world.run(), "resource_exhausted")
    assert "too many requests" in found.message
    assert puts == 2


async def test_an_operator_that_asks_is_another_one_than_the_host_of_that_name(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    for caller in (Caller("local", "owner"), Caller("local", "operator")):
        refused(await world.run(caller=caller), "permission_deferred")
    operator, host = sorted(world.desk.store.waiting(), key=lambda one: one.kind)
    assert [(one.kind, one.agent) for one in (host, operator)] == [
        ("owner", "local"),
        ("operator", "local"),
    ]
    assert world.desk.store.approve(host.id, by="local").state == "approved"
    with pytest.raises(CannotDecideError, match="somebody else"):
        world.desk.store.approve(operator.id, by="local")


SHOWS = Client("2025-11-25", {"elicitation": {"url": {}}})


async def test_an_operator_may_change_the_arguments_and_the_record_has_both(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    refused(await world.run(arguments={"path": "/"}), "permission_deferred")
    one = await world.desk.first()
    world.desk.store.approve(one.id, by="olga", edited='{"path": "/tmp"}')
    found = await world.run(arguments={"path": "/"}, size=25)
    assert isinstance(found, Call)
    assert found.arguments == {"path": "/tmp"}
    assert found.size == 0  # nobody knows how much an operator wrote
    assert found.facts["edited_from"] == one.arguments_digest
    assert found.facts["confirmed_by"] == "olga"
    refused(await world.run(arguments={"path": "/"}), "permission_deferred")  # used up


async def test_a_changed_call_is_judged_once_more(tmp_path: Path) -> None:
    """What an operator writes passes the same gates as what an agent writes."""
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    refused(await world.run(arguments={"path": "/"}), "permission_deferred")
    one = await world.desk.first()
    world.desk.store.approve(one.id, by="olga", edited='{"path": "/etc"}')
    found = refused(await world.run(arguments={"path": "/"}), "validation_blocked")
    assert found.gate == "strict"
    assert "an operator changed the arguments" in found.message


async def test_a_caller_that_can_show_pages_is_given_one_and_its_word_decides_nothing(
    tmp_path: Path,
) -> None:
    world, back = World(tmp_path, OPERATOR_RULE, hold_s=NEVER), Showing()
    world.desk.address = "http://127.0.0.1:1/approvals"
    calling = asyncio.ensure_future(world.run(back=back, client=SHOWS))
    one = await world.desk.first()
    while not back.shown:
        await asyncio.sleep(0)
    assert not calling.done()
    assert back.shown == [
        {
            "mode": "url",
            "elicitationId": one.id,
            "url": f"http://127.0.0.1:1/approvals/{one.id}",
            "message": f"{AGENT.id} wants to run srv/wipe. An operator decides on it on this page.",
        }
    ]
    world.desk.store.approve(one.id, by="olga")
    assert isinstance(await calling, Call)


@pytest.mark.parametrize("can", [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}])
async def test_nobody_else_is_shown_a_page(tmp_path: Path, can: dict[str, Any]) -> None:
    world, back = World(tmp_path, OPERATOR_RULE, hold_s=0.05), Showing()
    world.desk.address = "http://127.0.0.1:1/approvals"
    refused(await world.run(back=back, client=Client("2025-11-25", can)), "permission_deferred")
    assert back.shown == []


async def test_the_request_says_that_data_would_flow_out_and_so_does_the_answer(
    tmp_path: Path,
) -> None:
    """What the gate `flow` found out is why a person is asked, whoever the rule says is asked otherwise."""
    world = World(tmp_path, Rule("caller"), hold_s=0)
    brought = {"untrusted": "web__read", "private": "files__read"}
    found = await world.run(facts={"flow": brought, "access": "tool_grant"})
    late = refused(found, "permission_deferred")
    (waiting,) = world.desk.store.waiting()
    why = "it sends data out after the session has read what strangers wrote (web__read) and private data (files__read)"
    assert waiting.reason == why
    assert f"because {why}" in late.message


async def test_nobody_would_be_asked_about_a_call_that_needs_nobody(tmp_path: Path) -> None:
    world = World(tmp_path, Rule("operator"), hold_s=0)
    call = a_tool_call(a_tool("quiet"), facts={})
    assert await world.confirm.rehearse(call) is call
    assert isinstance(await world.confirm.rehearse(a_tool_call(WIPE, facts={})), Refusal)


async def test_a_call_whose_caller_takes_a_task_is_not_held(tmp_path: Path) -> None:
    """It waits by the task, which needs to know at once that it does."""
    world, back = World(tmp_path, OPERATOR_RULE, hold_s=NEVER), Showing()
    world.desk.address = "http://127.0.0.1:1/approvals"
    found = await world.run(back=back, facts={"task": "taken"}, client=SHOWS)
    assert refused(found, "permission_deferred").details["status"] == "pending_approval"
    assert (back.events, back.shown) == ([], [])


async def test_others_have_their_turn_while_large_arguments_are_put_into_one_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice that may take no time at all is over after each step."""
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    world = World(tmp_path, OPERATOR_RULE, hold_s=0)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    running = asyncio.ensure_future(other())
    try:
        await world.run(arguments={"x": [1.5] * 10})
        few, turns = turns, 0
        await world.run(arguments={"x": [1.5] * 20_000})
        assert turns - few >= 20_000 // 256
    finally:
        running.cancel()
