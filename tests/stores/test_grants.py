"""The access table against the words of MGP §5, and against a model that reads them naively."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gatewright.stores.grants import EVERYBODY, Decision, Grant, Grants, Permission, Policy

NOW = 1000.0


def _source(grants: Grants, agent: str = "ann", tool: str = "read") -> tuple[str, str]:
    found = grants.decide(agent, "files", tool, NOW)
    return found.permission, found.source


@pytest.mark.parametrize("agent", ["ann", EVERYBODY])
@pytest.mark.parametrize(("tool", "server"), [("deny", "allow"), ("allow", "deny")])
def test_a_tool_grant_beats_a_server_grant(
    agent: str, tool: Permission, server: Permission
) -> None:
    """MGP-5.2-1"""
    grants = Grants([Grant(agent, "files", "read", tool), Grant("ann", "files", None, server)])
    assert _source(grants) == (tool, "tool_grant")


@pytest.mark.parametrize("server", ["allow", "deny"])
def test_without_a_tool_grant_the_server_grant_decides(server: Permission) -> None:
    """MGP-5.2-2, MGP-5.3-1"""
    grants = Grants([Grant("ann", "files", None, server), Grant("ann", "files", "read", "allow")])
    assert _source(grants, tool="write") == (server, "server_grant")
    assert _source(grants, tool="read") == ("allow", "tool_grant")


@pytest.mark.parametrize(("policy", "permission"), [("opt-in", "deny"), ("opt-out", "allow")])
def test_without_a_grant_the_policy_of_the_server_decides(
    policy: Policy, permission: Permission
) -> None:
    """MGP-5.2-3, MGP-5.5-1, MGP-5.5-2"""
    grants = Grants(defaults={"files": policy})
    assert _source(grants) == (permission, "default_policy")
    grants.grant(Grant("ann", "files", "read", "deny"))
    assert _source(grants) == ("deny", "tool_grant")


def test_a_server_that_nobody_configured_is_closed() -> None:
    assert Grants().decide("ann", "new", "x", NOW) == Decision("deny", "default_policy")


@pytest.mark.parametrize("tool", ["read", None])
def test_deny_beats_allow_within_a_level_whoever_it_names(tool: str | None) -> None:
    for denied in ("ann", EVERYBODY):
        allowed = EVERYBODY if denied == "ann" else "ann"
        grants = Grants(
            [Grant(allowed, "files", tool, "allow"), Grant(denied, "files", tool, "deny")]
        )
        assert _source(grants)[0] == "deny"


def test_a_decision_says_whose_word_it_is() -> None:
    """MGP-5.4-1"""
    grants = Grants([Grant("ann", "files", None, "allow", "admin", 500.0, 2000.0, "needs it")])
    assert grants.decide("ann", "files", "read", NOW) == Decision(
        "allow", "server_grant", "admin", 500.0, 2000.0
    )


def test_a_grant_does_not_count_from_the_moment_it_expires() -> None:
    """MGP-5.4-5"""
    grants = Grants(
        [
            Grant("ann", "files", "read", "deny", expires_at=NOW),
            Grant("ann", "files", None, "allow", expires_at=NOW + 1),
        ]
    )
    assert grants.decide("ann", "files", "read", NOW - 0.001).source == "tool_grant"
    assert grants.decide("ann", "files", "read", NOW).source == "server_grant"
    assert grants.decide("ann", "files", "read", NOW + 1).source == "default_policy"


def test_a_later_grant_takes_the_place_of_the_one_with_its_key() -> None:
    """MGP-5.4-2"""
    grants = Grants([Grant("ann", "files", "read", "deny")])
    grants.grant(Grant("ann", "files", "read", "allow"))
    assert _source(grants) == ("allow", "tool_grant")
    assert len(grants) == 1


def test_of_two_grants_for_one_key_in_a_configuration_deny_stays() -> None:
    allow, deny = Grant("a", "s", "t", "allow"), Grant("a", "s", "t", "deny")
    assert list(Grants([allow, deny])) == list(Grants([deny, allow])) == [deny]
    later = Grant("a", "s", "t", "allow", "later")
    assert list(Grants([allow, later])) == [later]


def test_a_revoked_grant_gives_way_to_the_level_below() -> None:
    """MGP-5.4-3"""
    grants = Grants([Grant("ann", "files", "read"), Grant("ann", "files", None, "deny")])
    gone = grants.revoke("ann", "files", "read")
    assert gone == Grant("ann", "files", "read")
    assert _source(grants) == ("deny", "server_grant")
    assert grants.revoke("ann", "files", "read") is None
    grants.revoke("ann", "files")
    assert _source(grants) == ("deny", "default_policy")


def test_only_who_may_name_everybody_can_grant_to_everybody() -> None:
    grants = Grants()
    with pytest.raises(ValueError, match="only configuration and operators"):
        grants.grant(Grant(EVERYBODY, "files"))
    grants.grant(Grant(EVERYBODY, "files"), may_name_everybody=True)
    assert _source(grants) == ("allow", "server_grant")


@pytest.mark.parametrize("grant", [Grant("", "files"), Grant("ann", ""), Grant("ann", "files", "")])
def test_a_grant_without_a_name_is_refused(grant: Grant) -> None:
    """MGP-5.4-4"""
    with pytest.raises(ValueError, match="names an agent and a server"):
        Grants().grant(grant)


def test_permissions_come_with_every_allow_that_holds() -> None:
    grants = Grants(
        [
            Grant("ann", "files", permissions=("filesystem.read",)),
            Grant(EVERYBODY, "files", permissions=("memory.read", "filesystem.read")),
            Grant("ann", "files", "fetch", permissions=("network.outbound",)),
            Grant("ann", "files", "old", permissions=("shell.execute",), expires_at=NOW),
            Grant("bob", "files", permissions=("code_execution",)),
        ]
    )
    server = {"filesystem.read", "memory.read"}
    assert grants.permissions_of("ann", "files", NOW) == server
    assert grants.permissions_of("ann", "files", NOW, "fetch") == server | {"network.outbound"}
    assert grants.permissions_of("ann", "files", NOW, "old") == server
    assert grants.permissions_of("eve", "files", NOW) == server
    assert grants.permissions_of("ann", "web", NOW) == frozenset()


def test_a_level_on_which_deny_holds_brings_no_permissions() -> None:
    grants = Grants(
        [
            Grant("ann", "files", None, "deny", permissions=("shell.execute",)),
            Grant(EVERYBODY, "files", permissions=("filesystem.read",)),
            Grant("ann", "files", "read", permissions=("memory.read",)),
        ]
    )
    assert grants.permissions_of("ann", "files", NOW) == frozenset()
    assert grants.permissions_of("ann", "files", NOW, "read") == {"memory.read"}


def test_the_version_moves_with_every_change_and_with_nothing_else() -> None:
    grants = Grants([Grant("ann", "files")])
    seen = [grants.version(NOW)]
    grants.grant(Grant("bob", "files", expires_at=NOW + 5))
    seen.append(grants.version(NOW))
    grants.revoke("ann", "files")
    seen.append(grants.version(NOW))
    grants.set_default("files", "opt-out")
    seen.append(grants.version(NOW))
    assert seen == sorted(set(seen))
    grants.decide("bob", "files", "x", NOW)
    grants.revoke("nobody", "files")
    assert grants.version(NOW + 4.9) == seen[-1]
    assert grants.version(NOW + 5) == seen[-1] + 1
    assert grants.version(NOW + 500) == seen[-1] + 1
    assert len(grants) == 0


def test_a_grant_that_was_made_longer_does_not_leave_with_its_old_end() -> None:
    grants = Grants()
    grants.grant(Grant("ann", "files", expires_at=NOW))
    grants.grant(Grant("ann", "files", expires_at=NOW + 100))
    before = grants.version(NOW + 50)
    assert grants.decide("ann", "files", "x", NOW + 50).permission == "allow"
    assert grants.version(NOW + 100) == before + 1


def test_granting_again_and_again_takes_no_more_room() -> None:
    grants = Grants()
    for step in range(5000):
        grants.grant(Grant("ann", "files", expires_at=NOW + step))
        grants.grant(Grant("ann", "files", "read", expires_at=NOW + step))
    assert len(grants._ends) <= 2 * len(grants) + 65
    assert grants.decide("ann", "files", "read", NOW + 4998).permission == "allow"


def test_a_decision_looks_at_four_places_however_many_grants_there_are() -> None:
    class Counting(dict):  # type: ignore[type-arg]
        looks = 0

        def get(self, key: object, default: object = None) -> object:
            Counting.looks += 1
            return super().get(key, default)

    grants = Grants(Grant(f"agent-{n}", f"server-{n % 100}", f"tool-{n}") for n in range(100_000))
    grants._table = Counting(grants._table)
    assert grants.decide("agent-99999", "server-99", "tool-99999", NOW).permission == "allow"
    assert grants.decide("agent-99999", "server-99", "other", NOW).permission == "deny"
    assert Counting.looks <= 8


AGENTS = st.sampled_from(["ann", "bob", EVERYBODY])
SERVERS = st.sampled_from(["files", "web"])
TOOLS = st.sampled_from(["read", "write", None])
PERMISSIONS: st.SearchStrategy[Permission] = st.sampled_from(["allow", "deny"])
ENDS = st.none() | st.integers(0, 20).map(float)


class AgainstTheModel(RuleBasedStateMachine):
    """Every question to the table gets the answer that reading all words in order would give."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.grants = Grants(defaults={"web": "opt-out"})
        self.words: list[Grant] = []
        self.version = self.grants.version(self.now)

    @rule(agent=AGENTS, server=SERVERS, tool=TOOLS, permission=PERMISSIONS, end=ENDS)
    def grant(
        self,
        agent: str,
        server: str,
        tool: str | None,
        permission: Permission,
        end: float | None,
    ) -> None:
        word = Grant(agent, server, tool, permission, "ops", self.now, end, "", (f"p-{end}",))
        self.grants.grant(word, may_name_everybody=True)
        self._forget(agent, server, tool)
        self.words.append(word)

    @rule(agent=AGENTS, server=SERVERS, tool=TOOLS)
    def revoke(self, agent: str, server: str, tool: str | None) -> None:
        self.grants.revoke(agent, server, tool)
        self._forget(agent, server, tool)

    @rule(step=st.integers(1, 4))
    def wait(self, step: int) -> None:
        before = self._answers()
        self.now += step
        version = self.grants.version(self.now)
        assert version > self.version or before == self._answers()
        self.version = version

    def _forget(self, agent: str, server: str, tool: str | None) -> None:
        key = (agent, server, tool)
        self.words = [each for each in self.words if (each.agent, each.server, each.tool) != key]

    def _answers(self) -> list[Decision]:
        return [
            self.grants.decide(agent, server, tool, self.now)
            for agent in ("ann", "bob", "eve")
            for server in ("files", "web", "new")
            for tool in ("read", "write", "other")
        ]

    def _level(self, agent: str, server: str, tool: str | None) -> list[Grant]:
        return [
            each
            for each in self.words
            if each.agent in {agent, EVERYBODY}
            and (each.server, each.tool) == (server, tool)
            and (each.expires_at is None or each.expires_at > self.now)
        ]

    def _expected(self, agent: str, server: str, tool: str) -> tuple[str, str]:
        for level, name in ((tool, "tool_grant"), (None, "server_grant")):
            if words := self._level(agent, server, level):
                denied = any(each.permission == "deny" for each in words)
                return ("deny" if denied else "allow"), name
        return ("allow" if server == "web" else "deny"), "default_policy"

    @invariant()
    def every_answer_is_that_of_the_model(self) -> None:
        for agent in ("ann", "bob", "eve"):
            for server in ("files", "web", "new"):
                for tool in ("read", "write", "other"):
                    found = self.grants.decide(agent, server, tool, self.now)
                    expected = self._expected(agent, server, tool)
                    assert (found.permission, found.source) == expected

    @invariant()
    def every_permission_is_that_of_the_model(self) -> None:
        for agent in ("ann", "eve"):
            words = [self._level(agent, "files", level) for level in ("read", None)]
            expected = {
                name
                for level in words
                if all(each.permission == "allow" for each in level)
                for each in level
                for name in each.permissions
            }
            assert self.grants.permissions_of(agent, "files", self.now, "read") == expected


TestAgainstTheModel = AgainstTheModel.TestCase
TestAgainstTheModel.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


@given(st.floats(0, 100), st.floats(0, 100))
def test_a_grant_holds_until_its_end_and_not_after(end: float, now: float) -> None:
    assert Grant("a", "s", expires_at=end).holds(now) == (now < end)
    assert Grant("a", "s").holds(now)
