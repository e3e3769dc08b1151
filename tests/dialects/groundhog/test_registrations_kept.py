"""Registrations outlive the gateway; each is a step, written beside the loop, by itself and in order."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from gatewright.dialects.groundhog.registrations import RegisteredRequests
from gatewright.storage.documents import Documents
from gatewright.storage.errors import StoreError
from gatewright.storage.sqlite import Database
from tests.storage.parts import only_read, state_in

KEYS = [json.dumps(["a", str(at)], separators=(",", ":")) for at in range(3)]


async def test_requests_are_kept_for_the_next_gateway_and_every_change_is_counted(
    tmp_path: Path,
) -> None:
    state = state_in(tmp_path)
    store = RegisteredRequests(state)
    assert state.heads()["registrations"].steps == 0
    for at in range(3):
        await store.add("a", str(at), {"a": at})
    assert state.heads()["registrations"].steps == 3
    again = RegisteredRequests(state_in(tmp_path))
    assert [*again.all.items()] == [(key, {"a": at}) for at, key in enumerate(KEYS)]
    again.leave(KEYS[0])
    await again.add("a", "1", {"a": "anew"})
    assert again.all == {KEYS[1]: {"a": "anew"}, KEYS[2]: {"a": 2}}
    last = RegisteredRequests(state_in(tmp_path))
    assert [*last.all.items()] == [(KEYS[2], {"a": 2}), (KEYS[1], {"a": "anew"})]
    for one in (store, again):
        await one.close()


async def test_what_a_former_gateway_kept_stands_before_what_is_added(tmp_path: Path) -> None:
    """It kept all of them anew each time, under their numbers."""
    state = state_in(tmp_path)
    Documents(state.section("registrations", "")).replace(
        {str(at): f'{{"a":{at}}}' for at in range(12)}
    )
    store = RegisteredRequests(state)
    await store.add("b", "1", {"b": 1})
    await store.close()
    again = RegisteredRequests(state_in(tmp_path))
    assert [*again.all.values()] == [*({"a": at} for at in range(12)), {"b": 1}]


async def test_what_cannot_be_written_is_not_kept_and_what_cannot_be_read_refuses(
    tmp_path: Path,
) -> None:
    state = state_in(tmp_path)
    store = RegisteredRequests(state)
    await store.add("a", "0", {"a": 1})
    state.engine.execute("UPDATE documents SET body = '7'")
    with pytest.raises(StoreError, match="registered tool cannot be read"):
        RegisteredRequests(state)
    assert store._beside is not None
    only_read(store._beside)
    with pytest.raises(StoreError, match="the registered tools in"):
        await store.add("a", "1", {"a": 2})
    assert store.all == {KEYS[0]: {"a": 1}}
    await store.close()
    with pytest.raises(StoreError, match="nothing more is kept"):
        await store.add("a", "2", {"a": 3})


async def test_one_more_costs_what_one_costs_in_a_thread_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop that is held up by a disk is held up for everybody."""
    written: list[tuple[int, int]] = []
    may_write = threading.Event()
    plain = Database.execute

    def execute(self: Database, sql: str, parameters: Any = ()) -> Any:
        if sql.startswith("INSERT INTO documents"):
            may_write.wait(20)
            written.append((threading.get_ident(), len(str(parameters))))
        return plain(self, sql, parameters)

    monkeypatch.setattr(Database, "execute", execute)
    store = RegisteredRequests(state_in(tmp_path))
    adding = [asyncio.ensure_future(store.add("a", str(at), {"a": "x" * 1000})) for at in range(50)]
    await asyncio.sleep(0.05)  # the loop goes on
    assert not written
    adding[1].cancel()
    may_write.set()
    await asyncio.wait(adding)
    await store.close()
    assert threading.get_ident() not in {thread for thread, _ in written}
    assert len(written) == 50, "also that of somebody who is gone"
    assert max(size for _, size in written) < 1200
    assert [*RegisteredRequests(state_in(tmp_path)).all] == [*store.all]
    assert [json.loads(key)[1] for key in store.all] == [str(at) for at in range(50)]
