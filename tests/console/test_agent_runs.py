"""Runs of agents out of the record: which there are, one of them in the order of its calls, what it has read, and its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from gatewright.audit.call_records import context_of, intent_of
from gatewright.audit.records import encode
from gatewright.call import Answer, Caller, Refusal
from gatewright.console import agent_runs
from gatewright.console.agent_runs import AgentRuns, RunAsked, RunsAsked
from gatewright.console.changes import Changes
from gatewright.console.operations import ApiError
from gatewright.console.people import Person
from gatewright.console.recent import Recent
from gatewright.mcp.server.server_context import Standing
from tests.audit.parts import a_call, a_log, records, run
from tests.gate_parts import a_tool

ANN = Caller("ann", "agent", "k1")
SESSION = "ab" * 32
SHORT = SESSION[:12]


class World:
    """A record, sessions, and a catalogue."""

    now = 1_790_000_000.0

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = a_log(folder, clock=lambda: self.now)
        self.recent = Recent(self.log)
        self.standing: dict[str, Standing] = {}
        self.tools = [
            a_tool("get", flow=("untrusted",)),
            a_tool("read", flow=("private",)),
            a_tool("send", flow=("outbound",)),
        ]
        catalogue = SimpleNamespace(shelf=lambda server: SimpleNamespace(tools=self.tools))
        self.changes = Changes(lambda: 1.0)
        parts: Any = SimpleNamespace(
            gateway=SimpleNamespace(
                front=SimpleNamespace(standing=self.standing, clock=lambda: self.now),
                inside=SimpleNamespace(servers=SimpleNamespace(catalogue=catalogue)),
            ),
            ground=SimpleNamespace(
                audit=self.log,
                settings=SimpleNamespace(storage=SimpleNamespace(path=folder)),
            ),
            recent=self.recent,
            changes=self.changes,
            clock=lambda: self.now,
        )
        self.runs = AgentRuns(parts)
        self.count = 0

    def call(
        self, tool: int = 0, outcome: Any = None, session: str | None = SESSION, **more: Any
    ) -> None:
        """An agent has called."""
        self.count += 1
        made = replace(a_call(self.count, self.tools[tool], **more), caller=ANN, session=session)
        run(self.log, made, outcome or Answer(b"{}"))

    def close(self) -> None:
        self.recent.close()
        self.log.finish()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


async def status_of(coroutine: Any) -> int:
    with pytest.raises(ApiError) as caught:
        await coroutine
    return caught.value.status


async def test_calls_that_a_person_can_still_let_run_are_told_apart(world: World) -> None:
    for reason in ("access_denied", "permission_deferred", "permission_deferred"):
        world.call(outcome=Refusal(reason, "no"))
    (found,) = (await world.runs.page(RunsAsked())).rows
    assert (found.calls, found.refused, found.deferred) == (3, 3, 2)


async def test_a_run_is_told_in_the_order_of_its_calls_with_its_pauses(world: World) -> None:
    world.call(0)
    world.now += 60
    world.call(1)
    world.call(2, Refusal("policy_violation", "no", gate="flow"))
    world.call(2, session=None)
    found = await world.runs.timeline(RunAsked(agent="ann", session=SHORT))
    assert [(one.call.name, one.call.decision) for one in found.steps] == [
        ("get", "allowed"),
        ("read", "allowed"),
        ("send", "refused"),
    ]
    assert [round(one.pause_s) for one in found.steps] == [0, 60, 0]
    assert [one.marks for one in found.steps] == [("untrusted",), ("private",), ("outbound",)]
    assert len(found.held) == 2
    assert (found.open, found.earlier, found.looked_at) == (False, 0, 0)
    alone = await world.runs.timeline(RunAsked(agent="ann"))
    assert [one.call.name for one in alone.steps] == ["send"]


async def test_a_refused_call_brought_nothing(world: World) -> None:
    world.call(0, Refusal("policy_violation", "no", gate="flow"))
    assert (await world.runs.timeline(RunAsked(agent="ann", session=SHORT))).held == {}


async def test_a_wait_for_a_person_is_told(world: World) -> None:
    world.call(2, facts={"waited_ms": 2500.0, "confirmed_by": "olga"})
    (step,) = (await world.runs.timeline(RunAsked(agent="ann", session=SHORT))).steps
    assert (step.waited_s, step.by, step.call.decision) == (2.5, "olga", "approved")


async def test_of_many_calls_the_last_are_shown_and_the_others_page_by_page(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_runs, "STEPS", 2)
    for number in range(5):
        world.now += number % 2  # some are of one millisecond
        world.call(0)
    seen: list[str] = []
    before = 0
    while True:
        found = await world.runs.timeline(RunAsked(agent="ann", session=SHORT, before=before))
        seen = [one.call.id for one in found.steps] + seen
        before = found.earlier
        if not before:
            break
    assert len(seen) == 5
    assert len(set(seen)) == 5


async def test_runs_are_listed_the_last_used_first_page_by_page(world: World) -> None:
    world.call(0, session="cd" * 32)
    world.now += 10
    world.call(0, Refusal("policy_violation", "no", gate="flow"))
    world.now += 10
    world.call(0, session=None)
    world.standing[SESSION] = Standing("http", "", ANN, world.now - 20, world.now - 10)
    first = await world.runs.page(RunsAsked(limit=2))
    assert [(one.session, one.open, one.calls, one.refused) for one in first.rows] == [
        ("", False, 1, 0),
        (SHORT, True, 1, 1),
    ]
    rest = await world.runs.page(RunsAsked(limit=2, after=first.next))
    assert ([one.session for one in rest.rows], rest.total, rest.next) == (["cd" * 6], 3, "")
    assert await world.runs.page(RunsAsked(agent="bob")) == ([], 0, "")
    by_refused = await world.runs.page(RunsAsked(sort="refused"))
    assert by_refused.rows[0].session == SHORT
    words: tuple[Literal["open", "ended", "none"], ...] = ("open", "ended", "none")
    states = [(await world.runs.page(RunsAsked(state=one))).rows for one in words]
    assert [[one.session for one in rows] for rows in states] == [[SHORT], ["cd" * 6], [""]]


async def test_a_session_is_ended_once_and_it_is_in_the_record(world: World) -> None:
    ended: list[str] = []

    def end() -> None:
        ended.append(SESSION)
        del world.standing[SESSION]

    world.standing[SESSION] = Standing("http", "", ANN, 1.0, 2.0, end=end)
    olga = Person("olga", "operator", "key")
    gone = world.runs.end(SHORT, olga)
    assert (gone.agent, gone.session, ended) == ("ann", SHORT, [SESSION])
    (record,) = records(world.folder, event_type="dev.gatewright.session.ended")
    assert (record["actor"]["id"], record["details"]) == (
        "olga",
        {"session": SHORT, "agent": "ann"},
    )
    for session in (SHORT, "", SHORT[:4]):
        with pytest.raises(ApiError):
            world.runs.end(session, olga)


async def test_a_run_that_never_was_is_not_found(world: World) -> None:
    assert await status_of(world.runs.timeline(RunAsked(agent="eve", session=SHORT))) == 404
    world.standing[SESSION] = Standing("http", "", ANN, 1.0, 2.0)
    found = await world.runs.timeline(RunAsked(agent="ann", session=SHORT))
    assert (found.steps, found.open) == ([], True)
    assert await status_of(world.runs.timeline(RunAsked(agent="eve", session=SHORT))) == 404


async def test_a_call_that_ended_on_a_later_page_is_on_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its intent is an earlier record, between those of other calls."""
    monkeypatch.setattr(agent_runs, "STEPS", 2)
    wipe = a_tool("wipe", risk_level="dangerous")
    trails = []
    for number in range(3):
        made = replace(a_call(number, wipe), caller=ANN, session=SESSION)
        trail = world.log.open(made)
        trail.intent(made)
        trails.append((made, trail))
    for made, trail in trails:
        trail.close(made, Answer(b"{}"))
    await world.log.on_disk()  # those that end together are written in the next turn
    seen: list[tuple[str, str]] = []
    before = 0
    while True:
        found = await world.runs.timeline(RunAsked(agent="ann", session=SHORT, before=before))
        seen = [(one.call.id, one.call.decision) for one in found.steps] + seen
        before = found.earlier
        if not before:
            break
    assert [decision for _, decision in seen] == ["allowed"] * 3
    assert len({id for id, _ in seen}) == 3


async def test_a_call_of_which_there_are_several_records_counts_once(world: World) -> None:
    wipe = a_tool("wipe", risk_level="dangerous")
    made = replace(a_call(1, wipe), caller=ANN, session=SESSION)
    context = context_of(made)
    intent = encode(intent_of(made, ("2026-01-01T00:00:00.000Z", "0" * 36), context))
    world.log.turns.send([intent])
    run(world.log, made)
    (listed,) = (await world.runs.page(RunsAsked())).rows
    assert (listed.calls, listed.refused) == (1, 0)


async def test_a_run_behind_many_records_of_others_says_how_many_were_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And goes on from there."""
    monkeypatch.setattr(agent_runs, "_LOOKED_AT", 4)
    world.call(1)
    for _ in range(6):
        world.call(0, session="cd" * 32)
    first = await world.runs.timeline(RunAsked(agent="ann", session=SHORT))
    assert (first.steps, first.looked_at) == ([], 4)
    asked = RunAsked(agent="ann", session=SHORT, before=first.earlier)
    rest = await world.runs.timeline(asked)
    assert [one.call.name for one in rest.steps] == ["read"]
    assert (rest.earlier, rest.looked_at) == (0, 0)


async def test_sessions_keep_their_places_while_the_time_of_the_machine_is_set(
    world: World,
) -> None:
    for number in range(5):
        world.standing[f"{number:02}" * 32] = Standing("http", "", ANN, 1.0, 2.0 + number // 2)
    found: list[str] = []
    after = ""
    while True:
        page = await world.runs.page(RunsAsked(limit=2, after=after))
        world.now += 7.0
        found += [one.session for one in page.rows]
        after = page.next
        if not after:
            break
    assert sorted(found) == [f"{number:02}" * 6 for number in range(5)]
