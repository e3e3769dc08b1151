"""Tasks of servers, kept beyond the process."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from gatewright.call import Caller, Target, UserContext
from gatewright.servers.task_store import ServerTask, ServerTaskStore
from gatewright.storage.errors import StoreError
from tests.storage.parts import state_in

ONE = ServerTask("task_1", "srv", "", "T-1", ("agent", "ann", ""), "work", 200.0)
TWO = replace(ONE, id="task_2", connection="s#p.1", owner=("anonymous", "anonymous", "s"), tool="")


async def test_tasks_and_their_owners_survive_and_go_with_their_time(tmp_path: Path) -> None:
    store = ServerTaskStore(state_in(tmp_path), clock=lambda: 100.0)
    await store.add(ONE)
    await store.add(TWO)
    await store.add(replace(ONE, id="task_3", ends=100.0))
    await store.drop(())
    await store.close()
    again = ServerTaskStore(state_in(tmp_path), clock=lambda: 100.0)
    assert again.all() == [ONE, TWO]
    await again.drop(["task_1", "task_none"])
    assert again.all() == [TWO]
    await again.close()


async def test_the_limits_of_whoever_asked_survive_as_well(tmp_path: Path) -> None:
    """Of a task of an earlier version nobody knows them: it is for whoever has none."""
    user = (UserContext(resources=("/srv",), trust="untrusted"), UserContext(scopes=("read",)))
    ann = Caller("ann", "agent", "k1", user=user)
    store = ServerTaskStore(state_in(tmp_path), clock=lambda: 100.0)
    await store.add(replace(ONE, rights=ServerTask.rights_of(ann)))
    await store.add(replace(ONE, id="task_2"))
    store._rows.execute("UPDATE server_tasks SET rights = NULL WHERE id = 'task_2'")
    first, second = store.all()
    assert first.maker == ann
    assert second == replace(ONE, id="task_2")
    assert second.maker == Caller("ann")
    await store.close()


async def test_what_cannot_be_kept_is_told(tmp_path: Path) -> None:
    store = ServerTaskStore(state_in(tmp_path), clock=lambda: 100.0)
    await store.add(ONE)
    with pytest.raises(StoreError, match="the tasks of servers"):
        await store.add(ONE)
    await store.close()


async def test_a_caller_who_is_gone_does_not_spoil_what_the_next_one_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread goes on, on the connection that all share."""
    store = ServerTaskStore(state_in(tmp_path), clock=lambda: 100.0)
    inside, go = threading.Event(), threading.Event()
    step = store._rows.step

    def slow() -> int:
        inside.set()
        go.wait()
        return step()

    monkeypatch.setattr(store._rows, "step", slow)
    gone = asyncio.create_task(store.add(ONE))
    await asyncio.to_thread(inside.wait)
    gone.cancel()
    kept = [asyncio.create_task(store.add(TWO)), asyncio.create_task(store.drop(["task_none"]))]
    await asyncio.wait(kept, timeout=0.05)  # time to go wrong
    go.set()
    await asyncio.gather(*kept)
    assert gone.cancelled()
    assert store.all() == [ONE, TWO]
    await store.close()


async def test_what_a_thread_still_writes_is_on_disk_when_the_store_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ServerTaskStore(state_in(tmp_path), clock=lambda: 100.0)
    inside, go = threading.Event(), threading.Event()
    step = store._rows.step

    def slow() -> int:
        inside.set()
        go.wait()
        return step()

    monkeypatch.setattr(store._rows, "step", slow)
    gone = asyncio.create_task(store.add(ONE))
    await asyncio.to_thread(inside.wait)
    gone.cancel()
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0.02)
    assert not closing.done()
    go.set()
    await closing
    again = ServerTaskStore(state_in(tmp_path), clock=lambda: 100.0)
    assert again.all() == [ONE]
    await again.close()


def test_a_task_says_whose_words_it_brings_and_what_tells_it_apart() -> None:
    assert ONE.of == Target("srv", "work")
    assert ONE.key == ("srv", "", "T-1")
