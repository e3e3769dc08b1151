"""What servers may have: the four policies, what goes over them, who is asked, told and recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gatewright.access.permission_policy import ServerPermissions
from gatewright.access.permissions import Permissions, Word
from gatewright.approvals.queue import ApprovalQueue
from gatewright.audit.records import Actor, Subject
from gatewright.call import Unrecorded
from gatewright.config import Settings, load
from gatewright.servers.permission_admission import TooManyPermissions
from tests.approvals.voting import Voting
from tests.storage.parts import look, operated_state_in, state_in

POLICIES = ("interactive", "auto_approve", "deny_all", "config_only")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class World:
    """One gateway's permissions, the queue beside them, and the record."""

    def __init__(self, folder: Path, **mgp: Any) -> None:
        self.clock = Clock()
        self.folder = folder
        self.record: list[tuple[str, str, str]] = []
        self.full = False
        self.store = Permissions(state_in(folder), clock=self.clock)
        self.queue = Voting(operated_state_in(folder), clock=self.clock, random=os.urandom)
        self.desk = ApprovalQueue(self.queue, self.write)
        self.permitting = ServerPermissions(self.store, self.desk, self.write)
        self.desk.ruled.listen(self.permitting.ruled)
        self.permitting.adopt(self.settings(**mgp))

    def settings(self, **mgp: Any) -> Settings:
        lines = [f"{key} = {value!r}" for key, value in mgp.items()]
        text = "\n".join(['[[servers]]\nid = "files"\ncommand = "x"\n[servers.mgp]', *lines])
        path = self.folder / "mgp.toml"
        path.write_text(text)
        return load(path, environ={"HOME": str(self.folder)})

    def write(
        self, event_type: str, *, actor: Actor, target: Subject, details: dict[str, Any]
    ) -> int:
        if self.full:
            raise Unrecorded("the disk is full")
        if event_type.startswith("PERMISSION_"):
            self.record.append((event_type, details["permission"], details["decided_by"]))
        return 1

    def declare(self, *names: str) -> dict[str, str]:
        return {k: one.value for k, one in self.permitting.declared("files", names).items()}

    def say(self, name: str, value: Any, **more: Any) -> None:
        self.permitting.say(Word("files", name, value, "olga", **more))

    def waiting(self) -> list[str]:
        return [one.tool for one in self.queue.waiting()]

    def close(self) -> None:
        self.desk.close()
        self.permitting.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("policy", "listed", "other"),
    [
        ("interactive", "approved", "deferred"),
        ("auto_approve", "approved", "approved"),
        ("deny_all", "approved", "denied"),
        ("config_only", "approved", "denied"),
    ],
)
def test_each_policy_decides_as_the_specification_says(
    tmp_path: Path, policy: str, listed: str, other: str
) -> None:
    """MGP-3.1-1, MGP-3.3-1 … 3.3-4: one decision for each permission, recorded; asked only where a person decides."""
    world = World(tmp_path, permission_policy=policy, permissions_required=["memory.read"])
    assert world.declare("memory.read", "camera") == {"memory.read": listed, "camera": other}
    assert world.waiting() == (["camera"] if policy == "interactive" else [])
    word = {"approved": "PERMISSION_GRANTED", "denied": "PERMISSION_DENIED"}
    wanted = [("PERMISSION_GRANTED", "memory.read")]
    wanted += [(word[other], "camera")] if other in word else []
    assert [(event, name) for event, name, _ in world.record] == wanted
    world.declare("memory.read", "camera")
    assert len(world.record) == len(wanted)  # a new connection is no new decision


def test_without_a_queue_what_nobody_decided_stays_undecided_and_what_the_policy_says_holds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path, permission_policy="interactive", permissions_required=["memory.read"])
    alone = ServerPermissions(world.store, None, world.write)
    alone.adopt(world.settings(permission_policy="interactive"))
    found = alone.declared("files", ["camera"])
    assert {one.value for one in found.values()} == {"deferred"}
    assert "nobody is asked about camera: no queue is there" in caplog.text
    assert "files" in alone.barred
    assert world.waiting() == []
    alone.adopt(world.settings(permission_policy="deny_all"))
    assert ("PERMISSION_DENIED", "camera") in [(event, name) for event, name, _ in world.record]


@pytest.mark.parametrize("policy", POLICIES)
def test_an_operators_no_goes_over_every_policy_and_over_the_configuration(
    tmp_path: Path, policy: str
) -> None:
    """MGP-6.4-5"""
    world = World(tmp_path, permission_policy=policy, permissions_required=["camera"])
    assert world.declare("camera") == {"camera": "approved"}
    world.say("camera", "denied")
    assert world.declare("camera") == {"camera": "denied"}
    assert world.permitting.barred["files"].reason == "permission_denied"


@pytest.mark.parametrize(
    ("policy", "holds"),
    [("interactive", True), ("auto_approve", True), ("deny_all", True), ("config_only", False)],
)
def test_an_operators_yes_holds_unless_the_configuration_alone_counts(
    tmp_path: Path, policy: str, holds: bool
) -> None:
    """MGP-3.3-3 and MGP-3.3-4"""
    world = World(tmp_path, permission_policy=policy)
    world.say("camera", "approved")
    assert (world.declare("camera") == {"camera": "approved"}) == holds


def test_a_decision_in_the_queue_is_applied_once_and_kept(world: World) -> None:
    """MGP-3.6-2, MGP-6.4-3 and MGP-6.4-4"""
    world.declare("camera", "shell.execute")
    assert set(world.permitting.barred) == {"files"}
    assert world.permitting.barred["files"].reason == "permission_deferred"
    yes, no = sorted(world.queue.waiting(), key=lambda one: one.tool)
    world.queue.approve(yes.id, by="olga")
    world.queue.deny(no.id, by="olga")
    world.desk.look()
    assert world.record == [
        ("PERMISSION_GRANTED", "camera", "olga"),
        ("PERMISSION_DENIED", "shell.execute", "olga"),
    ]
    world.desk.look()
    assert len(world.record) == 2
    assert world.waiting() == []
    assert world.permitting.barred["files"].reason == "permission_denied"
    assert {name: one.by for name, one in world.permitting.of("files").items()} == {
        "camera": "olga",
        "shell.execute": "olga",
    }


def test_what_was_approved_for_a_time_is_asked_for_again_when_it_is_over(world: World) -> None:
    """MGP-3.6-5"""
    world.declare("camera")
    (one,) = world.queue.waiting()
    world.queue.approve(one.id, by="olga", scope="arguments", lasts_s=60)
    world.desk.look()
    assert not world.permitting.barred
    world.clock.now += 60
    world.permitting.look()
    assert set(world.permitting.barred) == {"files"}
    assert world.waiting() == ["camera"]
    assert [one[0] for one in world.record] == ["PERMISSION_GRANTED", "PERMISSION_REVOKED"]


def test_nobody_is_asked_any_more_about_what_was_said_elsewhere(world: World) -> None:
    world.declare("camera")
    assert world.waiting() == ["camera"]
    other = Permissions(state_in(world.folder), clock=world.clock)
    other.put(Word("files", "camera", "approved", "olga"))
    look(world.store)
    world.permitting.look()
    assert world.waiting() == []
    assert not world.permitting.barred


def test_words_that_are_read_again_and_are_the_same_make_nobody_look_again(world: World) -> None:
    world.say("camera", "approved")
    other = Permissions(state_in(world.folder), clock=world.clock)
    word = Word("other", "camera", "approved", "olga")
    for moves in (True, False):
        before = world.permitting.version
        other.put(word)
        look(world.store)
        world.permitting.look()
        assert (world.permitting.version > before) is moves


async def test_whoever_waits_is_woken_by_every_change(world: World) -> None:
    """MGP-3.6-4"""
    changes: list[int] = []
    world.permitting.changed.listen(lambda _: changes.append(world.permitting.version))
    turn = world.permitting.turn()
    assert world.permitting.turn() is turn
    world.say("camera", "approved")
    assert turn.done()
    assert not world.permitting.turn().done()
    world.permitting.adopt(world.settings(permission_policy="deny_all"))
    world.permitting.adopt(world.settings(permission_policy="deny_all"))  # which changes nothing
    assert len(changes) == 2


def test_what_is_only_wished_for_bars_nobody(world: World) -> None:
    """MGP-3.6-3: a server asks while it runs, and goes on without it."""
    found = world.permitting.asked("files", ["camera"])
    assert found["camera"].value == "deferred"
    assert not world.permitting.barred
    assert world.permitting.value("files", "camera") == "deferred"
    assert world.permitting.value("files", "memory.read") is None
    assert world.permitting.value("unknown", "camera") is None


@pytest.mark.parametrize("ask", ["asked", "declared"])
def test_a_server_cannot_fill_the_queue(world: World, ask: str) -> None:
    """Neither with what it asks for nor with what it declares anew each time; others are not held for it."""
    for number in range(64):
        getattr(world.permitting, ask)("files", [f"com.example.p{number}"])
    for number in range(64, 100):
        with pytest.raises(TooManyPermissions, match="64 permissions at most"):
            getattr(world.permitting, ask)("files", [f"com.example.p{number}"])
    assert len(world.waiting()) == 64
    assert world.record == [
        ("PERMISSION_DENIED", "com.example.p64", "the bound of a server's requests")
    ]
    assert world.permitting.asked("files", ["com.example.p0"])
    assert world.permitting.asked("other", ["com.example.p64"])


def test_who_is_put_to_nobody_is_said(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """What waits outlives a gateway, so a server may have as much waiting as the queue takes before it asks anything."""
    for number in range(100):
        world.desk.want("files", f"com.example.p{number}", risk="safe", quorum=1)
    assert world.permitting.asked("files", ["camera"])["camera"].value == "deferred"
    assert "camera" not in world.waiting()
    assert "nobody is asked about camera: too many of its requests wait already" in caplog.text


def test_a_server_that_numbers_its_requests_without_end_is_forgotten_and_nobody_else(
    world: World,
) -> None:
    world.permitting.named("other", "r1")
    for number in range(5000):
        world.permitting.named("files", f"r{number}")
    kept = [
        number for number in range(5000) if "files" in world.permitting.servers_of(f"r{number}")
    ]
    assert kept == [*range(4000, 5000)]
    assert world.permitting.servers_of("r1") == {"other"}


def test_a_server_that_is_not_configured_has_nothing(world: World) -> None:
    assert world.permitting.declared("other", ["camera"])["camera"].value == "denied"


def test_what_nobody_chose_is_never_approved_by_itself(world: World) -> None:
    """A server that an agent registered as plain MCP has no table of its own that would say so."""
    said = world.settings()
    policy = replace(said.permissions, policy="auto_approve")
    server = replace(said.servers[0], mgp=None, registered_by=("agent", "ann"))
    world.permitting.adopt(replace(said, permissions=policy, servers=(server,)))
    assert world.declare("camera") == {"camera": "deferred"}
    assert world.permitting.value("files", "shell.execute") is None


def test_what_was_approved_for_the_program_before_is_asked_again(world: World) -> None:
    said = world.settings()
    world.say("camera", "approved")
    world.say("shell.execute", "denied")
    for now, stands in ((99.0, "approved"), (101.0, "deferred")):
        server = replace(said.servers[0], registered_by=("agent", "ann"), registered_at=now)
        world.permitting.adopt(replace(said, servers=(server,)))
        found = world.declare("camera", "shell.execute")
        assert found == {"camera": stands, "shell.execute": "denied"}
    world.clock.now = 102.0
    world.say("camera", "approved")
    assert world.declare("camera") == {"camera": "approved"}


def test_a_server_may_do_with_less_where_the_configuration_says_so(tmp_path: Path) -> None:
    """MGP-3.6-3"""
    world = World(tmp_path, permission_policy="deny_all", missing_permissions="degrade")
    world.declare("camera")
    assert not world.permitting.barred
    assert world.permitting.value("files", "camera") == "denied"


@given(
    policy=st.sampled_from(POLICIES),
    listed=st.booleans(),
    word=st.sampled_from([None, "approved", "denied"]),
)
def test_every_state_of_a_permission_is_one_of_three_and_as_a_table_says(
    tmp_path_factory: pytest.TempPathFactory, policy: str, listed: bool, word: Any
) -> None:
    """MGP-3.1-1: the rules once more, written as a table."""
    names = ["camera"] if listed else []
    world = World(
        tmp_path_factory.mktemp("w"), permission_policy=policy, permissions_required=names
    )
    if word is not None:
        world.say("camera", word)
    said_yes = listed or (word == "approved" and policy != "config_only")
    wanted = {
        "interactive": "deferred",
        "auto_approve": "approved",
        "deny_all": "denied",
        "config_only": "denied",
    }[policy]
    wanted = "denied" if word == "denied" else "approved" if said_yes else wanted
    assert world.declare("camera") == {"camera": wanted}
    world.close()


def test_a_no_that_cannot_be_recorded_just_now_holds_at_once_and_is_recorded_later(
    tmp_path: Path,
) -> None:
    """Of another process: nothing but this look hears of it."""
    world = World(tmp_path, permission_policy="auto_approve")
    world.declare("camera")
    heard: list[int] = []
    world.permitting.changed.listen(lambda _: heard.append(1))
    operator = Permissions(state_in(tmp_path), clock=world.clock)
    operator.put(Word("files", "camera", "denied", "olga"))
    look(world.store)
    world.full = True
    with pytest.raises(Unrecorded):
        world.permitting.look()
    assert world.permitting.barred["files"].reason == "permission_denied"
    assert heard == [1]
    world.full = False
    world.permitting.look()
    assert world.record[-1] == ("PERMISSION_DENIED", "camera", "olga")
    known = len(world.record)
    world.permitting.look()
    assert (len(world.record), heard) == (known, [1, 1])
    world.close()


def test_a_server_that_left_the_configuration_is_forgotten(world: World, tmp_path: Path) -> None:
    """And asks anew when it comes back, also one that had asked about too much."""
    world.declare("camera")
    world.permitting.asked("files", ["memory.read"])
    world.permitting.named("files", "perm-1")
    with pytest.raises(TooManyPermissions):
        world.permitting.asked("files", [f"com.example.p{number}" for number in range(65)])
    (tmp_path / "other.toml").write_text("")
    world.permitting.adopt(load(tmp_path / "other.toml", environ={"HOME": str(tmp_path)}))
    found = world.permitting
    for known in (found._needs, found._wishes, found._known, found._requests, found._refused):
        assert not known
    assert not found._recorded
    assert not found.barred
    world.permitting.adopt(world.settings())
    assert world.declare("camera") == {"camera": "deferred"}


def test_of_a_server_that_left_the_configuration_nothing_waits(
    world: World, tmp_path: Path
) -> None:
    world.declare("a", "b")
    world.permitting.asked("files", ["c"])
    assert sorted(world.waiting()) == ["a", "b", "c"]
    path = tmp_path / "mgp.toml"
    path.write_text("")
    world.permitting.adopt(load(path, environ={"HOME": str(tmp_path)}))
    assert world.waiting() == []
    world.permitting.adopt(world.settings())
    world.declare("a")
    assert world.waiting() == ["a"]
