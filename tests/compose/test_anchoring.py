"""A store that was lost, cut or put back is never started on, and bars all calls of a gateway that runs."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gatewright.call import Unrecorded
from gatewright.compose.anchoring import Anchoring, accept, anchoring_of, record_of, wrong_in
from gatewright.settings import load
from gatewright.stores.anchors import ACCEPTED, ANCHORED, STORES, Heads, anchors_of, bereft
from gatewright.stores.approval import Asked
from gatewright.stores.approvals import Approvals
from gatewright.stores.audit import AuditLog
from gatewright.stores.callers import Callers
from gatewright.stores.database import Database
from gatewright.stores.errors import StoreDamagedError, StoreError
from gatewright.stores.grants import Grant
from gatewright.stores.issued import Issued
from gatewright.stores.permissions import Permissions
from gatewright.stores.permissions import Word as Permitted
from gatewright.stores.pins import Pins, Seen
from gatewright.stores.registered import RegisteredRequests
from gatewright.stores.room_trust import RoomTrust, Word
from tests.stores.parts import a_call, fill, records

Change = Callable[[Path, int], None]


def _key(state: Path, number: int) -> None:
    with closing(Callers(state / "keys.db", clock=time.time, random=os.urandom)) as store:
        store.create(f"agent-{number}", by="ops")


def _grant(state: Path, number: int) -> None:
    with closing(Issued(state / "grants.db", clock=time.time)) as store:
        store.grant(Grant(f"agent-{number}", "files", permission="deny"), by="ops")


def _permission(state: Path, number: int) -> None:
    with closing(Permissions(state / "permissions.db", clock=time.time)) as store:
        store.put(Permitted(f"server-{number}", "network.outbound", "denied", "ops"))


def _pin(state: Path, number: int) -> None:
    with closing(Pins(state / "pins.db", clock=time.time)) as store:
        store.judge("files", [Seen(f"tool-{number}", "{}", "d")], ask_first=False)


def _approval(state: Path, number: int) -> None:
    asked = Asked("ann", "files", f"tool-{number}", "a", "d", "p")
    with closing(Approvals(state / "approvals.db", clock=time.time, random=os.urandom)) as store:
        store.ask(asked, arguments="{}", risk="safe", reason="", quorum=1, lasts_s=600.0)


def _room(state: Path, number: int) -> None:
    RoomTrust(state).put(f"member-{number}", Word(blocked=True, by="ops"))


def _registered(state: Path, number: int) -> None:
    store = RegisteredRequests(state)
    store.put([*store.all, {"number": number}])


CHANGES: dict[str, Change] = dict(
    zip(STORES, (_key, _grant, _permission, _pin, _approval, _room, _registered), strict=True)
)


def _record(state: Path) -> AuditLog:
    settings = load(state.parent / "mgp.toml", environ={"HOME": str(state.parent)})
    return record_of(settings, os.urandom, took=lambda *_: None, taken=lambda: 1 << 60)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder that a gateway has used: each store has changed, and the record knows."""
    folder = tmp_path / "state"
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{folder}"\n')
    log = _record(folder)
    anchoring = Anchoring(folder, log)
    for change in CHANGES.values():
        change(folder, 1)
    anchoring.look()
    shutil.copytree(folder, tmp_path / "early")
    for change in CHANGES.values():
        change(folder, 2)
    anchoring.close()
    log.finish()
    return folder


def _without_log(path: Path) -> None:
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _gone(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _nonsense(path: Path) -> None:
    path.write_bytes(b"not a store " * 700)


def _older(path: Path) -> None:
    shutil.copyfile(path.parent.parent / "early" / path.name, path)


def _another(path: Path) -> None:
    """Of a gateway that has changed as much."""
    path.unlink()
    for number in range(5):
        CHANGES[path.name](path.parent, number)


def _fresh(path: Path) -> None:
    """As a command makes it that finds none."""
    path.unlink()
    CHANGES[path.name](path.parent, 1)


HARMS = [_gone, _empty, _cut, _nonsense, _older, _another, _fresh]


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("name", STORES)
async def test_a_gateway_does_not_start_on_a_store_that_is_behind_its_record(
    state: Path, name: str, harm: Callable[[Path], None]
) -> None:
    _without_log(state / name)
    harm(state / name)
    with pytest.raises(StoreDamagedError, match=rf"behind its record: {name}.*audit accept"):
        await anchoring_of(state, _record(state))
    await anchoring_of_after_accepting(state)


async def anchoring_of_after_accepting(state: Path) -> None:
    """The record was closed, and an operator's word lets the next gateway start, but for a file that is none."""
    wrong = wrong_in(state)
    assert len(wrong) == 1
    log = _record(state)
    accept(state, log, "root", wrong)
    log.finish()
    assert wrong_in(state) == []
    (said,) = records(state, event_type=ACCEPTED)
    assert (said["actor"]["id"], said["details"]["wrong"]) == ("root", wrong)
    log = _record(state)
    (await anchoring_of(state, log)).close()
    log.finish()


@pytest.mark.parametrize("name", STORES)
async def test_a_store_that_is_ahead_of_its_record_is_none_to_refuse(
    state: Path, name: str
) -> None:
    """As after `kill -9` between the change and its record: nobody is alarmed, and the record catches up."""
    for number in range(3, 9):
        CHANGES[name](state, number)
    log = _record(state)
    anchoring = await anchoring_of(state, log)
    anchoring.look()
    assert log.barred is None
    anchoring.close()
    log.finish()
    assert anchors_of(state)[name].steps == 8


@pytest.fixture
def running(state: Path) -> Iterator[tuple[AuditLog, Anchoring]]:
    """A gateway that has every store open."""
    log = _record(state)
    anchoring = Anchoring(state, log)
    files = [one for one in STORES if one.endswith(".db")]
    with_open = [Database.open_to_look(state / one) for one in files]
    anchoring.look()
    yield log, anchoring
    for one in with_open:
        one.close()
    anchoring.close()
    log.finish()


@pytest.mark.parametrize("harm", [_gone, _another, _fresh, _nonsense])
@pytest.mark.parametrize("name", STORES)
def test_a_gateway_that_runs_takes_no_call_while_a_store_is_not_the_one_it_has_open(
    state: Path,
    running: tuple[AuditLog, Anchoring],
    name: str,
    harm: Callable[[Path], None],
) -> None:
    log, anchoring = running
    log.open(a_call())
    kept = (state / name).rename(state / "kept")
    shutil.copyfile(kept, state / name)
    harm(state / name)
    anchoring.look()
    assert log.fault
    with pytest.raises(Unrecorded, match="behind its record"):
        log.open(a_call())
    (said,) = records(state, event_type="dev.gatewright.stores.behind")
    assert name in said["details"]["wrong"]
    anchoring.look()
    assert len(records(state, event_type="dev.gatewright.stores.behind")) == 1
    if harm is _gone:
        kept.replace(state / name)
        anchoring.look()
        assert not log.fault
        log.open(a_call())


def test_stores_that_cannot_be_looked_at_are_taken_for_behind(
    running: tuple[AuditLog, Anchoring], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look is repeated for ever, whatever goes wrong in it."""
    log, anchoring = running
    with monkeypatch.context() as broken:
        broken.setattr(Heads, "found", lambda _: 1 / 0)
        anchoring._try()
        with pytest.raises(Unrecorded):
            log.open(a_call())
    anchoring._try()
    log.open(a_call())


def test_the_record_keeps_what_it_knows_when_its_beginning_goes(state: Path) -> None:
    log = _record(state)
    anchoring = Anchoring(state, log)
    known = anchors_of(state)
    log._prune({"first": 1, "last": 0, "hash": "0" * 64})
    anchoring.close()
    log.finish()
    assert anchors_of(state) == known
    assert set(known) == set(STORES)


def test_a_folder_of_a_gateway_that_did_not_anchor_is_taken_as_it_is(tmp_path: Path) -> None:
    """Records and stores, no anchors, no marks."""
    state = tmp_path / "state"
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{state}"\n')
    log = _record(state)
    log.event("dev.example.before")
    log.finish()
    for name, change in CHANGES.items():
        change(state, 1)
        if name.endswith(".db"):
            with closing(sqlite3.connect(state / name)) as database:
                database.execute("PRAGMA application_id = 0")
    (state / "rooms.json").write_text('{"eve":{"blocked":true}}')
    (state / "registered-tools.json").write_text('[{"number":1}]')
    log = _record(state)
    anchoring = Anchoring(state, log)
    for change in CHANGES.values():
        change(state, 2)
    anchoring.look()
    assert log.barred is None
    anchoring.close()
    log.finish()
    assert all(one.mark and one.steps for one in anchors_of(state).values())
    word = RoomTrust(state).word("eve")
    assert word is not None
    assert word.blocked


def test_nothing_is_written_where_nothing_has_happened(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{state}"\n')
    log = _record(state)
    anchoring = Anchoring(state, log)
    Issued(state / "grants.db", clock=time.time).close()
    anchoring.look()
    anchoring.close()
    assert log.written == 0
    log.finish()


@pytest.mark.parametrize("left", ["lock", "grants.db"])
def test_a_record_that_is_gone_is_missed_where_anything_of_its_gateway_is_left(
    state: Path, left: str
) -> None:
    with closing(Issued(state / "grants.db", clock=time.time)) as issued:
        issued.recorded(issued.changes()[-1].number)
    for path in list(state.iterdir()):
        if path.name != left:
            path.unlink()
    with pytest.raises(StoreError, match=r"record in .* is gone.*audit accept"):
        _record(state)
    wrong = wrong_in(state)
    assert wrong == [f"the record is gone, though {bereft(state)}"]
    settings = load(state.parent / "mgp.toml", environ={"HOME": str(state.parent)})
    log = AuditLog(
        settings.storage.path, clock=time.time, monotonic=time.monotonic, random=os.urandom
    )
    accept(state, log, "root", wrong)
    log.finish()
    log = _record(state)
    Anchoring(state, log).close()
    log.finish()


async def test_a_record_that_lost_its_beginning_vouches_for_no_store(tmp_path: Path) -> None:
    """`audit.db` goes together with a store, when the newest segments say nothing of stores any more."""
    state = tmp_path / "state"
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{state}"\n')
    log = AuditLog(
        state, clock=time.time, monotonic=time.monotonic, random=os.urandom, segment_bytes=4_000
    )
    anchoring = Anchoring(state, log)
    _grant(state, 1)
    anchoring.close()
    log.finish()
    for _ in range(2):
        await fill(state, 40, segment_bytes=4_000)
    assert set(anchors_of(state)) == {"grants.db"}
    for name in ("audit.db", "grants.db"):
        for suffix in ("", "-wal", "-shm"):
            (state / f"{name}{suffix}").unlink(missing_ok=True)
    for _ in range(2):  # also at the second try, when the rows go on behind the gap
        with pytest.raises(StoreDamagedError, match="has lost its beginning"):
            await anchoring_of(state, _record(state))
    await anchoring_of_after_accepting(state)


def test_keys_and_grants_made_before_the_first_start_are_no_sign_of_a_lost_record(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    for name in ("keys.db", "grants.db"):
        CHANGES[name](state, 1)
    assert bereft(state) == ""


def test_a_grant_that_was_bound_to_its_tool_is_a_step_as_well(state: Path) -> None:
    """An older copy would bind it to whatever the tool has become."""
    with closing(Issued(state / "grants.db", clock=time.time)) as issued:
        issued.grant(Grant("bob", "files", "read"), by="ops")
        heads = Heads(state)
        before = heads.found()[0]["grants.db"].steps
        issued.bind(("bob", "files", "read"), "d" * 64)
        assert heads.found()[0]["grants.db"].steps == before + 1
        heads.close()


def test_what_is_anchored_is_each_store_with_its_steps(state: Path) -> None:
    (first, *_, last) = records(state, event_type=ANCHORED)
    steps = {name: one["steps"] for name, one in last["details"]["stores"].items()}
    assert steps == dict.fromkeys(STORES, 2)
    assert all(one["steps"] == 1 for one in first["details"]["stores"].values())
