"""Calls that run now, with a whole gateway: listed with whom, where and since when; one of them stopped, which its caller is told."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Call
from gatewright.console.operations import Asking
from gatewright.console.people import Person
from gatewright.console.running_calls import RunningAsked, RunningCalls, Stopping
from gatewright.gate_waits import Present
from tests.console.asking import Api, signed_in
from tests.console.inbox_parts import OPERATOR, World
from tests.console.running import Console, eventually, running
from tests.gate_parts import a_tool, a_tool_call


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running(tmp_path_factory.mktemp("console")) as found:
        yield found


@pytest.fixture(scope="module")
def api(console: Console) -> Api:
    return Api(console)


def those(api: Api, count: int, **asked: Any) -> list[Any]:
    """The calls that run, once so many do."""
    eventually(lambda: bool(api.get("/calls/running", **asked)["total"] == count))
    found: list[Any] = api.get("/calls/running", **asked)["calls"]
    return found


def test_a_call_that_runs_is_listed_and_stopped_with_a_reason(api: Api, console: Console) -> None:
    with console.calling("demo__count", to=50) as call:
        (one,) = those(api, 1, server="demo")
        assert (one["agent"], one["server"], one["name"], one["gate"]) == (
            "local",
            "demo",
            "count",
            "",
        )
        (server,) = api.get("/servers")["servers"]
        assert server["running"] == 1
        assert api.get("/calls/running", server="none")["calls"] == []
        assert api.get("/calls/running", least_s=600)["calls"] == []
        assert api.post(f"/calls/{one['id']}/stop", reason=" ")["code"] == "no_reason"
        assert api.post("/calls/none/stop", reason="x")["code"] == "over"
        assert api.post(f"/calls/{one['id']}/stop", reason="it hangs")["id"] == one["id"]
        said = call.communicate(timeout=20)[0]
    assert "an operator stopped it: it hangs" in said
    assert "counted" not in said
    those(api, 0)
    shown = console.command("audit", "query", "--event", "dev.gatewright.call.stopped", "--json")
    (record,) = [json.loads(line) for line in shown.stdout.splitlines()]
    assert (record["target"]["tool_name"], record["details"]["reason"]) == ("count", "it hangs")
    (ended,) = [row for row in api.get("/calls")["calls"] if row["id"] == one["id"]]
    assert (ended["decision"], ended["reason"]) == ("refused", "cancelled")
    assert api.post(f"/calls/{one['id']}/stop", reason="again")["code"] == "over"


def test_a_call_that_waits_for_a_person_is_one_of_them(api: Api, console: Console) -> None:
    """Stopped, it leaves nothing to decide."""
    with console.calling("demo__delete_all_notes") as call:
        (one,) = those(api, 1)
        assert (one["gate"], one["name"]) == ("confirm", "delete_all_notes")
        api.post(f"/calls/{one['id']}/stop", reason="nobody asked for it")
        assert "nobody asked for it" in call.communicate(timeout=20)[0]
    eventually(lambda: api.get("/approvals")["approvals"] == [])


def test_they_are_sorted_and_paged(api: Api, console: Console) -> None:
    with console.calling("demo__write_note", name="a", text="b"):
        (first,) = those(api, 1)
        with console.calling("demo__count", to=50):
            assert those(api, 2)[0]["id"] == first["id"]  # the longest first
            page = api.get("/calls/running", sort="tool", limit=1)
            rest = api.get("/calls/running", sort="tool", limit=1, after=page["next"])
            names = [one["name"] for one in (*page["calls"], *rest["calls"])]
            assert (names, rest["next"]) == (["count", "write_note"], "")


def test_a_viewer_sees_them_and_stops_none(tmp_path: Path) -> None:
    with running(tmp_path, gateway='operators = "key"') as console:
        viewer = signed_in(console)
        assert viewer.get("/calls/running") == {"calls": [], "total": 0, "next": ""}
        assert viewer.post("/calls/any/stop", reason="x")["code"] == "role"


WIPE = a_tool("wipe", risk_level="dangerous")


class Stage:
    """Calls that run or wait, of a test, before a real queue."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self.there: list[Present] = []
        self.ticks = itertools.count(1_000)
        recorded = SimpleNamespace(event=lambda *_, **__: 1)
        kernel = SimpleNamespace(present=lambda: self.there, end_refused=lambda judges: 1)
        parts: Any = SimpleNamespace(
            ground=SimpleNamespace(of=self._of, audit=recorded),
            gateway=SimpleNamespace(inside=SimpleNamespace(kernel=kernel)),
            changes=self.world.changes,
            # A clock that is set while requests come, as the time of a machine is.
            clock=lambda: float(next(self.ticks)),
        )
        self.calls = RunningCalls(parts)

    def _of(self, kind: type) -> Any:
        offers = (self.world.queue, self.world.asked)
        return next((one for one in offers if isinstance(one, kind)), None)

    def call(self, id: str, gate: str = "confirm", since: float = 1.0) -> Call:
        made = replace(a_tool_call(WIPE), id=id)
        self.there.append(Present(made, since, gate))
        return made

    async def stop(self, id: str) -> None:
        given = Stopping(reason="enough")
        await self.calls.stop(Asking(OPERATOR, {"id": id}, given))

    def state(self, approval: str) -> str:
        found = self.world.queue.get(approval)
        return "" if found is None else found.state


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.world.close()


async def test_two_that_wait_for_one_request_leave_it_with_the_last(stage: Stage) -> None:
    """In whatever order they are stopped."""
    asked, one = stage.world.asked, stage.world.ask()
    first, second = stage.call("c1"), stage.call("c2")
    with asked.waiting(one.id, first, WIPE), asked.waiting(one.id, second, WIPE):
        await stage.stop("c2")
        assert stage.state(one.id) == "pending"
        await stage.stop("c1")
        assert stage.state(one.id) == "denied"


async def test_the_first_is_still_known_when_the_second_has_left(stage: Stage) -> None:
    asked, one = stage.world.asked, stage.world.ask()
    first, second = stage.call("c1"), stage.call("c2")
    with asked.waiting(one.id, first, WIPE):
        with asked.waiting(one.id, second, WIPE):
            pass
        await stage.stop("c1")
    assert stage.state(one.id) == "denied"


@pytest.mark.parametrize("gate", ["", "confirm", "session"])
async def test_what_was_agreed_to_stays_agreed_to(stage: Stage, gate: str) -> None:
    """A call that runs by a standing approval is stopped, or one that is about to: the next one like it needs nobody."""
    asked, one = stage.world.asked, stage.world.ask()
    call = stage.call("c1", gate)
    with asked.waiting(one.id, call, WIPE):
        stage.world.store.approve(one.id, by="ana", scope="arguments", lasts_s=3600.0)
        await stage.stop("c1")
    assert stage.state(one.id) == "approved"


@pytest.mark.parametrize("gate", ["", "session"])
async def test_a_call_that_waits_for_something_else_decides_nothing(
    stage: Stage, gate: str
) -> None:
    asked, one = stage.world.asked, stage.world.ask()
    with asked.waiting(one.id, stage.call("c1", gate), WIPE):
        await stage.stop("c1")
    assert stage.state(one.id) == "pending"


async def test_a_clock_that_is_set_moves_no_place_in_the_list(stage: Stage) -> None:
    """Each page of the list is the next part of it, however often the time is asked for in between."""
    for number in range(7):
        stage.call(f"c{number}", since=float(number // 2))
    found: list[str] = []
    after = ""
    while True:
        given = RunningAsked(limit=2, after=after)
        page = await stage.calls.all(Asking(Person("vera", "viewer", "url"), {}, given))
        found += [one.id for one in page.calls]
        after = page.next
        if not after:
            break
    assert found == [f"c{number}" for number in range(7)]


@pytest.mark.parametrize(
    ("desc", "said"), [(None, "descending"), (False, "descending"), (True, "ascending")]
)
async def test_the_head_of_how_long_says_which_stand_first(
    stage: Stage, desc: bool | None, said: str
) -> None:
    """They are sorted by since when, which falls as the time grows that they have been there."""
    for number in (2.0, 1.0, 3.0):
        stage.call(f"c{number:.0f}", since=number)
    asked = RunningAsked(desc=desc)
    page = await stage.calls.all(Asking(OPERATOR, {}, asked))
    falls = said == "descending"
    assert [one.id for one in page.calls] == (["c1", "c2", "c3"] if falls else ["c3", "c2", "c1"])
    head = stage.calls.shown(asked, page).heads[0]
    assert (head.title, head.sorted) == ("How long", said)
