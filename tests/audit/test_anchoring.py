"""A store that was lost, cut or put back is never started on, and bars all calls of a gateway that runs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gatewright.access.grants import Grant
from gatewright.access.issued_grants import Issued
from gatewright.access.permissions import Permissions
from gatewright.access.permissions import Word as Permitted
from gatewright.approvals.request import Asked
from gatewright.audit.anchoring import (
    Anchoring,
    accept,
    anchoring_of,
    open_checked_state,
    open_trail,
    wrong_in,
)
from gatewright.audit.anchors import ACCEPTED, ANCHORED, STORES, Heads, anchors_of, lost_trail
from gatewright.audit.trail import AuditLog
from gatewright.call import Unrecorded
from gatewright.config import load
from gatewright.dialects.groundhog.registrations import RegisteredRequests
from gatewright.identity.keys import KeyStore
from gatewright.pins.store import Pins, Seen
from gatewright.registration.store import Kept, KeptServers
from gatewright.rooms.trust_store import ParticipantChanges, Word
from gatewright.servers.stopped_servers import StoppedServers
from gatewright.storage.errors import StoreDamagedError, StoreError
from gatewright.storage.state import StateDatabase
from tests.approvals.voting import Voting
from tests.audit.parts import a_call, fill, records
from tests.storage.parts import state_in


def _key(state: StateDatabase, number: int) -> None:
    KeyStore(state, clock=time.time, random=os.urandom).create(f"agent-{number}", by="ops")


def _grant(state: StateDatabase, number: int) -> None:
    Issued(state, clock=time.time).grant(
        Grant(f"agent-{number}", "files", permission="deny"), by="ops"
    )


def _permission(state: StateDatabase, number: int) -> None:
    word = Permitted(f"server-{number}", "network.outbound", "denied", "ops")
    Permissions(state, clock=time.time).put(word)


def _pin(state: StateDatabase, number: int) -> None:
    Pins(state, clock=time.time).judge(
        "files", [Seen(f"tool-{number}", "{}", "d")], ask_first=False
    )


def _approval(state: StateDatabase, number: int) -> None:
    asked = Asked("ann", "files", f"tool-{number}", "a", "d", "p")
    store = Voting(state, clock=time.time, random=os.urandom)
    store.ask(asked, arguments="{}", risk="safe", reason="", quorum=1, lasts_s=600.0)


def _room(state: StateDatabase, number: int) -> None:
    ParticipantChanges(state).put(f"member-{number}", Word(blocked=True, by="ops"))


def _registered(state: StateDatabase, number: int) -> None:
    store = RegisteredRequests(state)
    store._put(str(number), {"number": number}, ())
    assert store._beside is not None
    store._beside.close()


def _server(state: StateDatabase, number: int) -> None:
    KeptServers(state).put(f"dynamic.s{number}", Kept("agent", "ann"))


def _stopped(state: StateDatabase, number: int) -> None:
    StoppedServers(state).add(f"s{number}")


CHANGES: dict[str, Callable[[StateDatabase, int], None]] = dict(
    zip(
        STORES,
        (_key, _grant, _permission, _pin, _approval, _room, _registered, _server, _stopped),
        strict=True,
    )
)


def change(folder: Path, number: int, names: Iterable[str] = STORES) -> None:
    """Each of these sections takes a step."""
    with closing(state_in(folder)) as state:
        for name in names:
            CHANGES[name](state, number)


def record(folder: Path) -> AuditLog:
    """The record as a gateway opens it."""
    settings = load(folder.parent / "mgp.toml", environ={"HOME": str(folder.parent)})
    database = state_in(folder)
    log = open_trail(settings, database, os.urandom, taken=lambda: 1 << 60)
    database.close()
    return log


async def started(folder: Path) -> tuple[AuditLog, Anchoring]:
    """As a gateway starts."""
    settings = load(folder.parent / "mgp.toml", environ={"HOME": str(folder.parent)})
    database = open_checked_state(folder)
    log = open_trail(settings, database, os.urandom, taken=lambda: 1 << 60)
    return log, await anchoring_of(folder, log, database)


def watched(folder: Path, log: AuditLog) -> Anchoring:
    """The same of a record that is open."""
    return Anchoring(folder, log, state_in(folder))


def ended(log: AuditLog, anchoring: Anchoring) -> None:
    """As a gateway ends."""
    anchoring.close()
    log.finish()


def used(folder: Path, names: Iterable[str] = STORES) -> Path:
    """A state folder that a gateway has used: these sections have changed, and the record knows."""
    (folder.parent / "mgp.toml").write_text(f'[storage]\npath = "{folder}"\n')
    log = record(folder)
    anchoring = watched(folder, log)
    change(folder, 1, names)
    anchoring.look()
    anchoring._heads.close()
    shutil.copytree(folder, folder.parent / "early")
    change(folder, 2, names)
    ended(log, anchoring)
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """One in which every section has changed."""
    return used(tmp_path / "state")


def _gone(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _nonsense(path: Path) -> None:
    path.write_bytes(b"not a store " * 700)


def _older(path: Path) -> None:
    for suffix in ("", "-wal"):
        early = path.parent.parent / "early" / f"{path.name}{suffix}"
        if early.exists():
            shutil.copyfile(early, path.with_name(early.name))


def _another(path: Path) -> None:
    """Of a gateway that has changed as much."""
    path.unlink()
    for number in range(5):
        change(path.parent, number)


def _fresh(path: Path) -> None:
    """As a command would make it that finds none."""
    path.unlink()
    change(path.parent, 1, ["pins"])


HARMS: dict[Callable[[Path], None], str] = {
    _gone: r"state\.db is gone: the record knows 2 changes of {}",
    _empty: r"state\.db is gone: the record knows 2 changes of {}",
    _cut: r"state\.db cannot be used|behind its record",
    _nonsense: r"state\.db cannot be used",
    _older: r"{} in state\.db is an older copy: it has 1 change, the record knows 2",
    _another: r"{} in state\.db is another than the one that is recorded",
    _fresh: r"{} in state\.db is another than the one that is recorded",
}


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("name", STORES)
async def test_a_gateway_does_not_start_on_a_state_that_is_behind_its_record(
    tmp_path: Path, name: str, harm: Callable[[Path], None]
) -> None:
    """Whichever section it is that the record knows of."""
    state = used(tmp_path / "state", [name])
    harm(state / "state.db")
    with pytest.raises(StoreError, match=HARMS[harm].format(name)):
        await started(state)
    await _starts_after_accepting(state)


async def _starts_after_accepting(state: Path) -> None:
    """The record was closed, and an operator's word lets the next gateway start; a file that is none has to go."""
    wrong = wrong_in(state)
    assert len(wrong) == 1
    log = AuditLog(state, clock=time.time, monotonic=time.monotonic, random=os.urandom)
    accept(state, log, "root", wrong)
    log.finish()
    assert wrong_in(state) == []
    (said,) = records(state, event_type=ACCEPTED)
    assert (said["actor"]["id"], said["details"]["wrong"]) == ("root", wrong)
    if "cannot be used" in wrong[0]:
        (state / "state.db").unlink()
    ended(*await started(state))


@pytest.mark.parametrize("name", STORES)
async def test_a_section_that_is_ahead_of_its_record_is_none_to_refuse(
    state: Path, name: str
) -> None:
    """As after `kill -9` between the change and its record: nobody is alarmed, and the record catches up."""
    for number in range(3, 9):
        change(state, number, [name])
    log, anchoring = await started(state)
    anchoring.look()
    assert log.barred is None
    ended(log, anchoring)
    assert anchors_of(state)[name].steps == 8


@pytest.fixture
def running(state: Path) -> Iterator[tuple[AuditLog, Anchoring]]:
    """A gateway that has the state open."""
    log = record(state)
    anchoring = watched(state, log)
    database = state_in(state)
    anchoring.look()
    yield log, anchoring
    database.close()
    ended(log, anchoring)


@pytest.mark.parametrize("harm", [_gone, _another, _fresh, _nonsense])
def test_a_gateway_that_runs_takes_no_call_while_the_state_is_not_the_one_it_has_open(
    state: Path, running: tuple[AuditLog, Anchoring], harm: Callable[[Path], None]
) -> None:
    log, anchoring = running
    log.open(a_call())
    kept = (state / "state.db").rename(state / "kept")
    shutil.copyfile(kept, state / "state.db")
    harm(state / "state.db")
    anchoring.look()
    assert log.fault
    with pytest.raises(Unrecorded, match="behind its record"):
        log.open(a_call())
    (said,) = records(state, event_type="dev.gatewright.stores.behind")
    assert "state.db" in said["details"]["wrong"]
    anchoring.look()
    assert len(records(state, event_type="dev.gatewright.stores.behind")) == 1
    if harm is _gone:
        kept.replace(state / "state.db")
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
    log = record(state)
    anchoring = watched(state, log)
    known = anchors_of(state)
    log._prune({"first": 1, "last": 0, "hash": "0" * 64})
    anchoring.close()
    log.finish()
    assert anchors_of(state) == known
    assert set(known) == set(STORES)


def test_nothing_is_written_where_nothing_has_happened(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{state}"\n')
    log = record(state)
    anchoring = watched(state, log)
    state_in(state).close()
    anchoring.look()
    anchoring.close()
    assert log.written == 0
    log.finish()


@pytest.mark.parametrize("left", ["lock", "state.db"])
def test_a_record_that_is_gone_is_missed_where_anything_of_its_gateway_is_left(
    state: Path, left: str
) -> None:
    for path in list(state.iterdir()):
        if path.name != left:
            path.unlink()
    with pytest.raises(StoreError, match=r"record in .* is gone.*audit accept"):
        record(state)
    wrong = wrong_in(state)
    assert wrong == [f"the record is gone, though {lost_trail(state)}"]
    log = AuditLog(state, clock=time.time, monotonic=time.monotonic, random=os.urandom)
    accept(state, log, "root", wrong)
    log.finish()
    log = record(state)
    watched(state, log).close()
    log.finish()


async def test_a_record_that_lost_its_beginning_vouches_for_no_store(tmp_path: Path) -> None:
    """`audit.db` goes together with the state, when the newest segments say nothing of it any more."""
    state = tmp_path / "state"
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{state}"\n')
    state_in(state).close()
    log = AuditLog(
        state, clock=time.time, monotonic=time.monotonic, random=os.urandom, segment_bytes=4_000
    )
    anchoring = watched(state, log)
    change(state, 1, ["grants"])
    anchoring.close()
    log.finish()
    for _ in range(2):
        await fill(state, 40, segment_bytes=4_000)
    assert set(anchors_of(state)) == {"grants"}
    for name in ("audit.db", "state.db"):
        for suffix in ("", "-wal", "-shm"):
            (state / f"{name}{suffix}").unlink(missing_ok=True)
    for _ in range(2):  # also at the second try, when the rows go on behind the gap
        with pytest.raises(StoreDamagedError, match="has lost its beginning"):
            await started(state)
    await _starts_after_accepting(state)


def test_keys_and_grants_made_before_the_first_start_are_no_sign_of_a_lost_record(
    tmp_path: Path,
) -> None:
    change(tmp_path, 1, ["keys", "grants"])
    assert lost_trail(tmp_path) == ""


@pytest.mark.parametrize("left", STORES)
def test_a_record_that_is_gone_is_missed_by_each_section_that_a_gateway_has_written_down(
    tmp_path: Path, left: str
) -> None:
    change(tmp_path, 1, [left])
    waiting = {
        "keys": "key",
        "grants": "grant",
        "permissions": "permission",
        "pins": "pin",
        "approvals": "approval",
    }
    with closing(state_in(tmp_path)) as state:
        if left in waiting:
            state.engine.execute(f"DELETE FROM {waiting[left]}_changes")  # noqa: S608 - a constant
    assert f"{left} in state.db" in lost_trail(tmp_path)


def test_a_grant_that_was_bound_to_its_tool_is_a_step_as_well(state: Path) -> None:
    """An older copy would bind it to whatever the tool has become."""
    with closing(state_in(state)) as database:
        issued = Issued(database, clock=time.time)
        issued.grant(Grant("bob", "files", "read"), by="ops")
        heads = Heads(state)
        before = heads.found().heads["grants"].steps
        issued.bind(("bob", "files", "read"), "d" * 64)
        assert heads.found().heads["grants"].steps == before + 1
        heads.close()


def test_what_is_anchored_is_each_section_with_its_steps(state: Path) -> None:
    (first, *_, last) = records(state, event_type=ANCHORED)
    steps = {name: one["steps"] for name, one in last["details"]["stores"].items()}
    assert steps == dict.fromkeys(STORES, 2)
    assert all(one["steps"] == 1 for one in first["details"]["stores"].values())
