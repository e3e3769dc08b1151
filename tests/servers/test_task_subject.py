"""Calls about tasks, arguments and subscriptions are decided like calls of what they mean, and recorded so."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants
from gatewright.access.permission_gate import Permission
from gatewright.access.resolve_gate import Resolve
from gatewright.access.resolver import CatalogueResolver
from gatewright.audit.call_records import _subject
from gatewright.audit.records import Subject
from gatewright.call import (
    Answer,
    Call,
    Caller,
    Failure,
    Outcome,
    Refusal,
    Security,
    Target,
    Tool,
    UserContext,
)
from gatewright.flow.filter import Flow
from gatewright.flow.taints import Taints
from gatewright.mcp.wire.permissions import INVOKE
from gatewright.pins.gate import Definition
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.output_filter import OutputSchema
from gatewright.servers.catalogue import Catalogue, Sight
from gatewright.servers.server_set import ServerSet
from gatewright.servers.task_subject import completed, sees, sees_tool
from tests.behaviour.task_places import BOB, House, speaker
from tests.gate_parts import Mute
from tests.servers.rig import dispatch, running

VERBS = ("get", "result", "cancel", "update")


class Policy:
    """Grants that change, before one server."""

    def __init__(self) -> None:
        self.grant()

    def grant(self, *grants: Grant) -> None:
        """From now on these hold, and no others."""
        self.access = Access(Grants(list(grants)), lambda: 1000.0)

    def sight(self) -> Sight:
        """What callers may see by them."""
        return Sight(self._tool, self._server, lambda: id(self.access))

    def _tool(self, caller: Caller, tool: Tool) -> bool:
        return self.access.may_see(caller, tool)

    def _server(self, caller: Caller, server: str) -> bool:
        return self.access.may_reach(caller, server)


def allow(tool: str | None, permission: str = "allow") -> Grant:
    return Grant(BOB.id, "one", tool, permission)  # type: ignore[arg-type]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[tuple[House, Policy]]:
    policy = Policy()
    async with running(speaker(tmp_path, "one", "legacy"), sight=policy.sight()) as supervisor:
        yield House(supervisor, "legacy"), policy


def judged(house: House, policy: Policy, call: Call) -> Call | Refusal:
    """The call as `resolve` and `access` hand it on, or why it may not pass."""
    access = policy.access
    servers = house.supervisor
    subjects = CatalogueResolver(
        servers.fleet, dispatch(servers), access.may_reach, may_use=access.may_see
    )
    found = Resolve(subjects, access.may_see)(call, Mute())
    if not isinstance(found, Call):
        assert isinstance(found, Refusal)
        return found
    verdict = access(found, Mute())
    assert isinstance(verdict, Call | Refusal)
    return verdict


async def walked(house: House, policy: Policy, call: Call) -> Outcome:
    found = judged(house, policy, call)
    return found if isinstance(found, Refusal) else await house.put(found)


async def test_a_task_is_its_tools(house: tuple[House, Policy]) -> None:
    """A grant of the tool is enough, and a denial that comes later holds for its tasks, while they are asked about, too."""
    home, policy = house
    policy.grant(allow("work"))
    task = await home.make(BOB)
    for verb in VERBS:
        call = home.method(BOB, f"tasks/{verb}", {"taskId": task})
        found = judged(home, policy, call)
        assert isinstance(found, Call), verb
        assert found.target == Target("one", "work")
        assert found.facts["access"] == "tool_grant"
        assert _subject(found) == Subject("one", "work", "")
        policy.grant(allow("work", "deny"), allow(None))
        refusal = policy.access.judge(found)
        assert refusal is not None
        assert refusal.reason == "access_denied", verb
        assert isinstance(judged(home, policy, call), Refusal)
        policy.grant(allow("work"))
    assert isinstance(
        await walked(home, policy, home.method(BOB, "tasks/get", {"taskId": task})), Answer
    )
    listed = await walked(home, policy, home.method(BOB, "tasks/list", {}))
    assert isinstance(listed, Answer)
    assert [one["taskId"] for one in json.loads(listed.raw)["tasks"]] == [task]
    policy.grant(allow("work", "deny"), allow(None))
    listed = await walked(home, policy, home.method(BOB, "tasks/list", {}))
    assert isinstance(listed, Answer)
    assert json.loads(listed.raw)["tasks"] == []


async def test_who_has_a_grant_of_the_tool_alone_hears_of_its_task(
    house: tuple[House, Policy],
) -> None:
    home, policy = house
    policy.grant(allow("work"), allow("say"))
    task = await home.make(BOB)
    home.take("bob")
    note = {
        "method": "notifications/tasks/status",
        "params": {"taskId": "T-1", "status": "working"},
    }
    await home.put(home.tool(BOB, "say", {"frames": [note]}))
    assert any(task in one for one in home.take("bob"))
    policy.grant(allow("say"))
    await home.put(home.tool(BOB, "say", {"frames": [note]}))
    assert not any(task in one for one in home.take("bob"))


@pytest.mark.parametrize("task", ["T-1", "task_" + "0" * 32, "", 7, None])
async def test_what_is_no_task_of_the_callers_is_nobodys(
    house: tuple[House, Policy], task: Any
) -> None:
    home, policy = house
    policy.grant(allow(None))
    await home.make(BOB)
    for verb in VERBS:
        found = await walked(home, policy, home.method(BOB, f"tasks/{verb}", {"taskId": task}))
        assert isinstance(found, Failure)
        assert found.reason == "invalid_params"


async def test_arguments_and_subscriptions_are_the_servers(
    house: tuple[House, Policy],
) -> None:
    home, policy = house
    policy.grant(allow(None))
    ref = {"ref": {"type": "ref/prompt", "name": "one__p"}, "argument": {"name": "a", "value": ""}}
    methods: dict[str, tuple[dict[str, Any], Target]] = {
        "completion/complete": (ref, Target("one", "p")),
        "resources/subscribe": ({"uri": "memo:///r"}, Target("one", "memo:///r")),
        "resources/unsubscribe": ({"uri": "memo:///r"}, Target("one", "memo:///r")),
    }
    for method, (params, target) in methods.items():
        found = judged(home, policy, home.method(BOB, method, params))
        assert isinstance(found, Call)
        assert found.target == target, method
        assert isinstance(await home.put(found), Answer), method
        policy.grant(allow("work"))
        refusal = policy.access.judge(found)
        assert refusal is not None, method
        policy.grant(allow(None))
        assert _subject(found).server_id == "one"


async def test_what_is_not_shown_to_somebody_is_completed_like_what_does_not_exist(
    house: tuple[House, Policy],
) -> None:
    home, policy = house
    policy.grant()
    said = []
    for name in ("one__p", "one__none"):
        ref = {"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "a", "value": ""}}
        call = home.method(BOB, "completion/complete", ref)
        assert completed(call, home.supervisor.catalogue) is None, name
        said.append(await walked(home, policy, call))
    assert said[0] == said[1]
    assert isinstance(said[0], Failure)


async def test_who_is_limited_to_other_places_follows_nothing_here(
    house: tuple[House, Policy],
) -> None:
    home, policy = house
    policy.grant(allow(None))
    for only, passes in (("memo:///r", True), ("memo:///q", False)):
        caller = Caller("bob", user=(UserContext(resources=(only,)),))
        call = replace(home.method(BOB, "resources/subscribe", {"uri": "memo:///r"}), caller=caller)
        assert isinstance(judged(home, policy, call), Call) is passes, only


async def test_who_is_limited_to_tools_has_the_tasks_of_those(
    house: tuple[House, Policy],
) -> None:
    home, policy = house
    policy.grant(allow(None))
    for named, passes in ((INVOKE + "one/work", True), (INVOKE + "one/say", False)):
        caller = Caller("bob", "agent", "k1", user=(UserContext(permissions=(named,)),))
        task = await home.make(replace(caller, user=()))  # and limited since, by the configuration
        call = replace(home.method(BOB, "tasks/get", {"taskId": task}), caller=caller)
        assert isinstance(judged(home, policy, call), Call) is passes, named


async def test_a_task_is_seen_with_the_limits_that_it_was_asked_for_with_alone(
    house: tuple[House, Policy],
) -> None:
    """Also where its server says how it stands."""
    home, policy = house
    policy.grant(allow(None))
    bob = Caller("bob", "agent", "k1")
    task = home.supervisor.tasks.made.of(
        home.method(bob, "tasks/get", {"taskId": await home.make(bob)})
    )
    assert task is not None
    for caller, seen in (
        (bob, True),
        (replace(bob, key_id="k2"), True),
        (replace(bob, key_id="k2", user=(UserContext(role="other"),)), False),
    ):
        assert sees(home.supervisor.catalogue, caller, "", task) is seen


async def test_who_may_know_of_a_task_is_asked_of_the_catalogue_that_there_is_when_it_is_told(
    house: tuple[House, Policy], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reload in between may have taken the tool from its owner."""
    home, policy = house
    policy.grant(allow(None))
    await home.make(BOB)
    told: list[Any] = []
    fleet = home.supervisor.fleet
    monkeypatch.setattr(home.supervisor.hub, "tell", lambda *_, **more: told.append(more["sees"]))
    status = {"taskId": "T-1", "status": "working"}
    home.supervisor._of_task(fleet.servers["one"], "notifications/tasks/status", status, None)
    assert told[0](BOB, "")
    without = ServerSet(fleet.specs, fleet.servers, {}, Catalogue([]))
    monkeypatch.setattr(home.supervisor, "fleet", without)
    assert not told[0](BOB, "")


async def test_the_other_gates_and_filters_judge_a_task_as_its_tool(
    house: tuple[House, Policy],
) -> None:
    home, policy = house
    policy.grant(allow("work"))
    task = await home.make(BOB, said={"result": {"content": []}})
    found = judged(home, policy, home.method(BOB, "tasks/result", {"taskId": task}))
    assert isinstance(found, Call)
    assert found.task_tool is not None
    assert isinstance(Definition(lambda _: "it has changed")(found, Mute()), Refusal)
    needs = replace(
        found.task_tool,
        security=Security(permissions_required=("network.outbound",), flow=("private",)),
    )
    found = replace(found, task_tool=needs)
    assert Permission(Grants(), lambda: 1000.0).judge(found) is not None
    taints = Taints(lambda: 1000.0)
    answer = Answer(b'{"content":[]}')
    assert (
        Flow(taints, lambda call: (*call.caller.who, ""), idle=False).outcome(found, answer)
        is answer
    )
    assert taints.of((*BOB.who, ""), 1000.0)


@pytest.mark.parametrize(
    ("method", "said", "fits"),
    [
        ("tasks/result", {"structuredContent": {"n": 1}}, True),
        ("tasks/result", {"structuredContent": {"n": "x"}}, False),
        ("tasks/result", {"structuredContent": {"n": "x"}, "isError": True}, True),
        ("tasks/get", {"status": "completed", "result": {"structuredContent": {"n": 1}}}, True),
        ("tasks/get", {"status": "completed", "result": {"structuredContent": {"n": "x"}}}, False),
        ("tasks/get", {"status": "working"}, True),
        ("tasks/get", {"result": 5}, False),
    ],
)
async def test_what_a_task_came_to_has_to_fit_the_schema(
    house: tuple[House, Policy], method: str, said: dict[str, Any], fits: bool
) -> None:
    home, policy = house
    policy.grant(allow("work"))
    task = await home.make(BOB)
    found = judged(home, policy, home.method(BOB, method, {"taskId": task}))
    assert isinstance(found, Call)
    assert found.task_tool is not None
    schema = b'{"type":"object","properties":{"n":{"type":"integer"}}}'
    definition = {**found.task_tool.definition, "outputSchema": Raw(schema)}
    found = replace(found, task_tool=replace(found.task_tool, definition=definition))
    answer = Answer(json.dumps(said).encode())
    outcome = OutputSchema(Compiled()).outcome(found, answer)
    assert (outcome is answer) is fits


@pytest.mark.parametrize("may", [True, False])
async def test_what_a_tool_gave_that_its_server_lists_no_more_is_for_whose_grants_still_say_so(
    tmp_path: Path, *, may: bool
) -> None:
    asked: list[Target] = []

    def unlisted(_: Caller, target: Target) -> bool:
        asked.append(target)
        return may

    sight = Sight(lambda *_: True, lambda *_: True, lambda: 0, unlisted=unlisted)
    async with running(speaker(tmp_path, "one", "legacy"), sight=sight) as supervisor:
        gone = Target("one", "was_listed")
        assert sees_tool(supervisor.catalogue, BOB, "", gone) is may
        assert asked == [gone]
        assert not sees_tool(supervisor.catalogue, BOB, "", Target("nowhere", "was_listed"))
        assert asked == [gone]
