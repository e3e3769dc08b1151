"""Which server has a task, and whose it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gatewright.upstream.made_tasks
from gatewright.call import ANONYMOUS, Caller, Target
from gatewright.upstream.made_tasks import MadeTasks
from tests.gates.parts import a_call

ANN, BOB = Caller("ann"), Caller("bob")


def about(task: Any, caller: Caller = ANN, session: str | None = None) -> Any:
    found = a_call("method", method="tasks/get", caller=caller, session=session)
    found.params["taskId"] = task
    return found


def made(tasks: MadeTasks, name: str, server: str = "one", **whose: Any) -> None:
    tasks.remember(json.dumps({"task": {"taskId": name}}).encode(), server, about("", **whose))


@pytest.mark.parametrize("raw", [b'{"task":{"taskId":"t"}}', b'{"taskId":"t","status":"working"}'])
def test_a_task_is_its_callers_in_both_dialects(raw: bytes) -> None:
    tasks = MadeTasks()
    tasks.remember(raw, "one", about(""))
    assert tasks.maker(about("t")) == Target("one", "")
    assert not tasks.foreign(about("t"))
    assert tasks.foreign(about("t", BOB))
    assert tasks.foreign(about("t", Caller("ann", "operator")))
    for unknown in ("other", 7, None):
        assert tasks.maker(about(unknown, BOB)) is None
        assert not tasks.foreign(about(unknown, BOB))


@pytest.mark.parametrize(
    "raw", [b'{"content":[]}', b'{"task":7}', b'{"taskId":7}', b'{"task":{"taskId":null}}']
)
def test_what_is_no_task_is_none(raw: bytes) -> None:
    tasks = MadeTasks()
    tasks.remember(raw, "one", about(""))
    assert json.loads(
        tasks.listed(b'{"tasks":[{"taskId":"t"},{"taskId":7},7]}', "one", about(""))
    ) == {"tasks": []}


def test_a_task_of_somebody_without_a_name_belongs_to_its_session() -> None:
    tasks = MadeTasks()
    made(tasks, "t", caller=ANONYMOUS, session="s1")
    assert not tasks.foreign(about("t", ANONYMOUS, "s1"))
    assert tasks.foreign(about("t", ANONYMOUS, "s2"))
    made(tasks, "u", caller=ANN, session="s1")
    assert not tasks.foreign(about("u", ANN, "s2"))


def test_nobody_takes_a_task_over_by_its_name() -> None:
    tasks = MadeTasks()
    made(tasks, "t", caller=ANN)
    made(tasks, "t", "two", caller=BOB)
    assert tasks.maker(about("t")) == Target("one", "")
    assert tasks.foreign(about("t", BOB))


def test_a_list_has_the_callers_own_tasks_of_that_server_and_all_else_as_it_was() -> None:
    tasks = MadeTasks()
    made(tasks, "mine")
    made(tasks, "theirs", caller=BOB)
    made(tasks, "elsewhere", "two")
    every = [{"taskId": name, "n": 1.50} for name in ("mine", "theirs", "elsewhere", "unknown")]
    raw = json.dumps({"tasks": every, "nextCursor": "c"}).encode()
    assert json.loads(tasks.listed(raw, "one", about(""))) == {
        "tasks": [every[0]],
        "nextCursor": "c",
    }
    with pytest.raises(ValueError, match="array"):
        tasks.listed(b'{"tasks":{}}', "one", about(""))


def test_whoever_makes_tasks_without_end_pushes_out_only_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gatewright.upstream.made_tasks, "EACH", 3)
    monkeypatch.setattr(gatewright.upstream.made_tasks, "KEPT", 5)
    tasks = MadeTasks()
    made(tasks, "hers", caller=ANN)
    for number in range(10):
        made(tasks, f"b{number}", caller=BOB)
    assert tasks.foreign(about("hers", BOB))
    assert [n for n in range(10) if tasks.maker(about(f"b{n}"))] == [7, 8, 9]
    for number in range(10):
        made(tasks, "s", caller=Caller(f"c{number}"))
        made(tasks, f"c{number}", caller=Caller(f"c{number}"))
    assert len(tasks._made) == 5
    assert sum(len(mine) for mine in tasks._of_owner.values()) == 5
