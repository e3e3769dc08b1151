"""Issued grants: they outlive the gateway, other processes see them, and every answer is the model's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from msgspec.structs import replace

from gatewright.access.grants import EVERYBODY, Grant, Grants, Permission, Policy
from gatewright.access.issued_grants import Issued
from gatewright.storage.errors import StoreError
from tests.memory_folders import memory_folder
from tests.storage.parts import NO_DATABASE, look, state_in

NOW = 1000.0


class Clock:
    """Unix seconds that only the test moves."""

    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def issued(tmp_path: Path, clock: Clock) -> Iterator[Issued]:
    found = Issued(state_in(tmp_path), clock=clock)
    yield found
    found.close()


def test_what_was_issued_is_there_after_a_restart(tmp_path: Path, clock: Clock) -> None:
    """MGP-5.4-2"""
    first = Issued(state_in(tmp_path), clock=clock)
    given = first.grant(
        Grant(
            "ann",
            "files",
            "read",
            granted_by="admin",
            expires_at=NOW + 60,
            justification="needed \u2713",
            permissions=("filesystem.read",),
            tool_digest="d1",
        ),
        by="root",
    )
    first.grant(Grant("*", "web", None, "deny"), by="root")
    first.close()
    again = Issued(state_in(tmp_path), clock=clock)
    assert given.granted_at == NOW
    assert again.grants() == [Grant("*", "web", None, "deny", granted_at=NOW), given]
    assert sorted(one.agent for one in again.layer) == ["*", "ann"]
    again.close()
    assert (tmp_path / "state.db").stat().st_mode & 0o777 == 0o600


def test_another_process_sees_a_change_when_it_looks(
    tmp_path: Path, clock: Clock, issued: Issued
) -> None:
    other = Issued(state_in(tmp_path), clock=clock)
    issued.grant(Grant("ann", "files"), by="root")
    assert other.layer.get(("ann", "files", None), NOW) is None
    assert look(other).layer.get(("ann", "files", None), NOW) is not None
    other.revoke(("ann", "files", None), by="root")
    assert list(look(issued).layer) == []
    other.close()


def test_what_was_not_issued_cannot_be_revoked(issued: Issued) -> None:
    """MGP-5.4-3"""
    issued.grant(Grant("ann", "files", "read"), by="root")
    with pytest.raises(KeyError):
        issued.revoke(("ann", "files", None), by="root")
    gone = issued.revoke(("ann", "files", "read"), by="root")
    assert (gone.agent, gone.tool) == ("ann", "read")
    with pytest.raises(KeyError):
        issued.revoke(("ann", "files", "read"), by="root")


def test_every_change_waits_for_the_record_and_says_who(issued: Issued, clock: Clock) -> None:
    issued.grant(Grant("ann", "files"), by="root")
    clock.now += 5
    issued.revoke(("ann", "files", None), by="boss")
    found = issued.changes()
    assert [(one.action, one.by, one.time, one.grant.agent) for one in found] == [
        ("granted", "root", NOW, "ann"),
        ("revoked", "boss", NOW + 5, "ann"),
    ]
    issued.recorded(found[0].number)
    assert issued.changes() == found[1:]


def test_a_grant_is_bound_to_one_definition_once(issued: Issued) -> None:
    for tool in ("read", "write", None):
        issued.grant(Grant("ann", "files", tool), by="root")
    issued.grant(Grant("bob", "files", "read", "deny"), by="root")
    assert [one.tool for one in issued.unbound()] == ["read", "write"]
    issued.bind(("ann", "files", "read"), "d1")
    issued.bind(("ann", "files", "read"), "d2")
    assert [(one.tool, one.tool_digest) for one in issued.layer if one.agent == "ann"] == [
        (None, None),
        ("read", "d1"),
        ("write", None),
    ]
    assert [one.tool for one in issued.unbound()] == ["write"]
    # Given anew meanwhile, by another process: it is for what the tool is by then.
    (write,) = issued.unbound()
    issued.bind(write.key, "d1", granted_at=write.granted_at - 1)
    assert issued.unbound() == [write]
    issued.bind(write.key, "d1", granted_at=write.granted_at)
    assert issued.unbound() == []


def test_an_expired_grant_is_still_shown_to_the_operator(issued: Issued, clock: Clock) -> None:
    """MGP-5.4-5"""
    issued.grant(Grant("ann", "files", expires_at=NOW - 1), by="root")
    assert Grants(issued=issued.layer).decide("ann", "files", "x", NOW).source == "default_policy"
    assert [one.agent for one in issued.grants()] == ["ann"]


@pytest.mark.parametrize(
    ("grant", "said"),
    [
        (Grant("", "files"), "names an agent"),
        (Grant("ann", ""), "names an agent"),
        (Grant("ann", "files", ""), "names an agent"),
        (Grant(" ann", "files"), "names an agent"),
        (Grant("a\x1bnn", "files"), "names an agent"),
        (Grant("a" * 257, "files"), "names an agent"),
        (Grant("ann", "files", granted_by=""), "granted_by is a name"),
        (Grant("ann", "files", justification="x" * 2001), "justification"),
        (Grant("ann", "files", permission="maybe"), "allow or deny"),  # type: ignore[arg-type]
        (Grant("ann", "files", permissions=("shell",)), "'shell' is no permission"),
        (Grant("ann", "files", None, "deny", permissions=("camera",)), "permissions go with"),
    ],
)
def test_a_grant_that_cannot_be_is_refused_and_leaves_nothing(
    issued: Issued, grant: Grant, said: str
) -> None:
    """MGP-5.4-4"""
    with pytest.raises(ValueError, match=said):
        issued.grant(grant, by="root")
    assert issued.grants() == []
    assert issued.changes() == []


def test_a_database_that_cannot_be_used_is_named(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "state.db").write_bytes(NO_DATABASE)
    with pytest.raises(StoreError, match=r"state\.db"):
        Issued(state_in(tmp_path), clock=clock)


# -- against a model -----------------------------------------------------------------------------

AGENTS = ("ann", "bob", EVERYBODY)
SERVERS = ("files", "web")
TOOLS = ("read", "write", None)
POLICIES: tuple[Policy, ...] = ("opt-in", "opt-out")
WORDS: tuple[Permission, ...] = ("allow", "deny")
PERMISSIONS = ("camera", "memory.read")

agents, servers, tools = (st.sampled_from(each) for each in (AGENTS, SERVERS, TOOLS))
ends = st.none() | st.integers(-2, 12).map(float)


class AgainstTheModel(RuleBasedStateMachine):
    """Two processes share what is issued; the configuration, the tools and the time change. Every
    question gets the answer of whoever reads all words, one after the other."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = memory_folder()
        self.clock = Clock()
        self.processes = [self._opened(), self._opened()]
        self.intended: list[Grant] = []
        self.given: dict[tuple[str, str, str | None], Grant] = {}
        self.defaults: dict[str, Policy] = {}
        self.digests = {(server, tool): "d0" for server in SERVERS for tool in ("read", "write")}
        self._configure()

    def teardown(self) -> None:
        for one in self.processes:
            one.close()
        shutil.rmtree(self.folder)

    def _opened(self) -> Issued:
        return Issued(state_in(self.folder), clock=self.clock)

    def _configure(self) -> None:
        self.tables = [Grants(self.intended, self.defaults, one.layer) for one in self.processes]

    def _changed(self) -> None:
        AgainstTheModel.steps += 1
        for one in self.processes:
            look(one)

    @rule(
        who=st.integers(0, 1),
        agent=agents,
        server=servers,
        tool=tools,
        word=st.sampled_from(WORDS),
        end=ends,
        digest=st.sampled_from((None, "d0", "d1")),
        held=st.sets(st.sampled_from(PERMISSIONS)),
    )
    def grant(
        self,
        who: int,
        agent: str,
        server: str,
        tool: str | None,
        word: Permission,
        end: float | None,
        digest: str | None,
        held: set[str],
    ) -> None:
        found = Grant(
            agent,
            server,
            tool,
            word,
            "ops",
            0.0,
            None if end is None else self.clock.now + end,
            "",
            tuple(sorted(held)) if word == "allow" else (),
            digest if tool is not None else None,
        )
        made = self.processes[who].grant(found, by="root")
        assert made == replace(found, granted_at=self.clock.now)
        self.given[made.key] = made
        self._changed()

    @rule(who=st.integers(0, 1), agent=agents, server=servers, tool=tools)
    def revoke(self, who: int, agent: str, server: str, tool: str | None) -> None:
        expected = self.given.pop((agent, server, tool), None)
        try:
            gone = self.processes[who].revoke((agent, server, tool), by="root")
        except KeyError:
            gone = None
        assert gone == expected
        self._changed()

    @rule(who=st.integers(0, 1))
    def bind_what_names_no_definition(self, who: int) -> None:
        for one in self.processes[who].unbound():
            digest = self.digests[one.server, str(one.tool)]
            self.processes[who].bind(one.key, digest)
            self.given[one.key] = replace(self.given[one.key], tool_digest=digest)
        self._changed()

    @rule(server=servers, tool=st.sampled_from(("read", "write")), digest=st.sampled_from("01"))
    def redefine(self, server: str, tool: str, digest: str) -> None:
        self.digests[server, tool] = f"d{digest}"
        self._changed()

    @rule(step=st.integers(1, 5))
    def wait(self, step: int) -> None:
        self.clock.now += step
        self._changed()

    @rule(
        words=st.lists(st.tuples(agents, servers, tools, st.sampled_from(WORDS), ends), max_size=4),
        policies=st.tuples(st.sampled_from(POLICIES), st.sampled_from(POLICIES)),
    )
    def configure(
        self,
        words: list[tuple[str, str, str | None, Permission, float | None]],
        policies: tuple[Policy, Policy],
    ) -> None:
        now = self.clock.now
        self.intended = [
            Grant(agent, server, tool, word, "file", 0.0, None if end is None else now + end)
            for agent, server, tool, word, end in words
        ]
        self.defaults = dict(zip(SERVERS, policies, strict=True))
        self._configure()
        self._changed()

    @rule(who=st.integers(0, 1))
    def restart(self, who: int) -> None:
        self.processes[who].close()
        self.processes[who] = self._opened()
        self._configure()
        self._changed()

    def _words(self, agent: str, server: str, tool: str | None) -> list[Grant]:
        """All that count: a configuration's `allow` counts for nothing beside its own `deny`."""
        found = [*self.given.values(), *self.intended]
        return [
            one
            for one in found
            if one.agent in {agent, EVERYBODY}
            and (one.server, one.tool) == (server, tool)
            and (one.expires_at is None or one.expires_at > self.clock.now)
            and not (one.granted_by == "file" and self._outweighed(one))
            and (
                one.permission == "deny"
                or one.tool_digest is None
                or one.tool_digest == self.digests.get((server, str(tool)))
            )
        ]

    def _outweighed(self, word: Grant) -> bool:
        """One key in one file holds one word: a deny, or else the last."""
        same = [one for one in self.intended if one.key == word.key]
        denied = [one for one in same if one.permission == "deny"]
        return word is not (denied or same)[-1]

    def _expected(self, agent: str, server: str, tool: str) -> tuple[str, str]:
        for level, name in ((tool, "tool_grant"), (None, "server_grant")):
            if words := self._words(agent, server, level):
                denied = any(one.permission == "deny" for one in words)
                return ("deny" if denied else "allow"), name
        opt_out = self.defaults.get(server) == "opt-out"
        return ("allow" if opt_out else "deny"), "default_policy"

    @invariant()
    def every_answer_of_every_process_is_the_models(self) -> None:
        now = self.clock.now
        for agent in ("ann", "bob", "eve"):
            for (server, tool), digest in self.digests.items():
                expected = self._expected(agent, server, tool)
                held = {
                    name
                    for level in (tool, None)
                    if all(one.permission == "allow" for one in self._words(agent, server, level))
                    for one in self._words(agent, server, level)
                    for name in one.permissions
                }
                for table in self.tables:
                    found = table.decide(agent, server, tool, now, partial(str, digest))
                    assert (found.permission, found.source) == expected
                    got = table.permissions_of(agent, server, now, tool, partial(str, digest))
                    assert got == held

    @invariant()
    def what_an_operator_is_shown_is_what_was_issued(self) -> None:
        for one in self.processes:
            assert {each.key: each for each in one.grants()} == self.given


def test_ten_thousand_steps_are_those_of_the_model() -> None:
    """MGP-5.2-1, MGP-5.2-2, MGP-5.2-3, MGP-5.4-2, MGP-5.4-3, MGP-5.4-5"""
    AgainstTheModel.steps = 0
    run_state_machine_as_test(
        AgainstTheModel,
        settings=settings(
            max_examples=280,
            stateful_step_count=50,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert AgainstTheModel.steps >= 10_000


@pytest.mark.parametrize("broken", ["grants SET permissions", "grant_changes SET word"])
def test_a_row_that_cannot_be_read_is_a_named_error(tmp_path: Path, broken: str) -> None:
    state = state_in(tmp_path)
    issued = Issued(state, clock=Clock())
    issued.grant(Grant("ann", "files", granted_by="root"), by="root")
    with state.engine.transaction():
        state.engine.execute(f"UPDATE {broken} = '{{'")
    with pytest.raises(StoreError, match=r"the grants in .*state\.db cannot be used"):
        issued.changes() if "changes" in broken else issued.grants()


def test_a_grant_of_a_name_is_one_whatever_its_unicode_form(issued: Issued) -> None:
    composed, apart = "Jos\u00e9", "Jose\u0301"
    made = issued.grant(Grant(apart, "files", "read", "deny"), by="ops")
    assert made.agent == composed
    # As it was kept before names were composed.
    issued._rows.execute("UPDATE grants SET agent = ?", (apart,))
    issued._load()
    assert Grants(issued=issued.layer).decide(composed, "files", "read", NOW).permission == "deny"
    issued.grant(Grant(composed, "files", "read"), by="ops")
    assert [one.agent for one in issued.grants()] == [composed], "in place of the other"
    assert Grants(issued=issued.layer).decide(apart, "files", "read", NOW).permission == "allow"
    assert issued.revoke((apart, "files", "read"), by="ops").agent == composed
    assert issued.grants() == []
    assert len(issued.layer) == 0
