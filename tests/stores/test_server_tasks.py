"""Tasks of servers, kept beyond the process."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from gatewright.call import Target
from gatewright.stores.errors import StoreError
from gatewright.stores.server_tasks import DATABASE, ServerTask, ServerTaskStore

ONE = ServerTask("task_1", "srv", "", "T-1", ("agent", "ann", ""), "work", 200.0)
TWO = replace(ONE, id="task_2", connection="s#p.1", owner=("anonymous", "anonymous", "s"), tool="")


async def test_tasks_and_their_owners_survive_and_go_with_their_time(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    store = ServerTaskStore(path, clock=lambda: 100.0)
    await store.add(ONE)
    await store.add(TWO)
    await store.add(replace(ONE, id="task_3", ends=100.0))
    await store.drop(())
    store.close()
    assert path.stat().st_mode & 0o777 == 0o600
    again = ServerTaskStore(path, clock=lambda: 100.0)
    assert again.all() == [ONE, TWO]
    await again.drop(["task_1", "task_none"])
    assert again.all() == [TWO]
    again.close()


async def test_what_cannot_be_kept_is_told(tmp_path: Path) -> None:
    store = ServerTaskStore(tmp_path / DATABASE, clock=lambda: 100.0)
    await store.add(ONE)
    with pytest.raises(StoreError, match="the tasks of servers"):
        await store.add(ONE)
    store.close()


def test_a_task_says_whose_words_it_brings_and_what_tells_it_apart() -> None:
    assert ONE.of == Target("srv", "work")
    assert ONE.key == ("srv", "", "T-1")
