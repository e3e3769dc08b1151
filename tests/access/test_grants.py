"""The access table against the words of MGP §5. `test_issued.py` has the model that reads them naively."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.access.grants import (
    EVERYBODY,
    Decision,
    Grant,
    Grants,
    Layer,
    Permission,
    Policy,
    is_about,
)

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
    issued = Layer()
    grants = Grants(defaults={"files": policy}, issued=issued)
    assert _source(grants) == (permission, "default_policy")
    issued.put(Grant("ann", "files", "read", "deny"))
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
    issued = Layer([Grant("ann", "files", "read", "deny")])
    grants = Grants(issued=issued)
    assert _source(grants) == ("deny", "tool_grant")
    issued.put(Grant("ann", "files", "read", "allow"))
    assert _source(grants) == ("allow", "tool_grant")
    assert list(grants) == [Grant("ann", "files", "read", "allow")]


@pytest.mark.parametrize("tool", ["read", None])
def test_what_the_configuration_forbids_nobody_can_issue(tool: str | None) -> None:
    issued = Layer([Grant("ann", "files", tool, "allow", "admin")])
    grants = Grants([Grant("ann", "files", tool, "deny", "config")], issued=issued)
    assert grants.decide("ann", "files", "read", NOW).granted_by == "config"
    assert _source(grants)[0] == "deny"


@pytest.mark.parametrize("tool", ["read", None])
def test_what_the_configuration_allows_can_be_taken_away(tool: str | None) -> None:
    issued = Layer()
    grants = Grants([Grant("ann", "files", tool)], issued=issued)
    assert _source(grants)[0] == "allow"
    issued.put(Grant("ann", "files", tool, "deny", "admin"))
    assert grants.decide("ann", "files", "read", NOW).granted_by == "admin"
    assert _source(grants)[0] == "deny"


def test_of_words_that_agree_the_closest_is_shown() -> None:
    mine, everybodys = Grant("ann", "files", granted_by="1"), Grant("*", "files", granted_by="2")
    late, shared = Grant("ann", "files", granted_by="3"), Grant("*", "files", granted_by="4")
    issued = Layer([shared, late])
    grants = Grants([mine, everybodys], issued=issued)
    shown = []
    for gone in (late, shared, None):
        shown.append(grants.decide("ann", "files", "read", NOW).granted_by)
        if gone is not None:
            issued.remove(gone.key)
    assert shown == ["3", "1", "1"]


def test_tables_of_two_configurations_share_what_was_issued() -> None:
    issued = Layer()
    before, after = Grants(issued=issued), Grants(defaults={"files": "opt-out"}, issued=issued)
    issued.put(Grant("ann", "files", None, "deny"))
    assert _source(before) == _source(after) == ("deny", "server_grant")


def test_an_allow_counts_for_the_definition_it_was_given_for_and_for_no_other() -> None:
    given = Grant("ann", "files", "read", tool_digest="d1", permissions=("memory.read",))
    grants = Grants([given, Grant("ann", "files", None, "deny")])
    same = grants.decide("ann", "files", "read", NOW, lambda: "d1")
    assert (same.permission, same.source, same.outdated) == ("allow", "tool_grant", False)
    other = grants.decide("ann", "files", "read", NOW, lambda: "d2")
    assert (other.permission, other.source, other.outdated) == ("deny", "server_grant", True)
    assert grants.decide("ann", "files", "read", NOW) == other
    assert grants.permissions_of("ann", "files", NOW, "read", lambda: "d1") == {"memory.read"}
    assert grants.permissions_of("ann", "files", NOW, "read", lambda: "d2") == frozenset()


def test_a_definition_that_cannot_be_read_is_not_the_one() -> None:
    def digest() -> str:
        raise ValueError("too deep")

    grants = Grants([Grant("ann", "files", "read", tool_digest="d1")])
    found = grants.decide("ann", "files", "read", NOW, digest)
    assert found == Decision("deny", "default_policy", outdated=True)


def test_a_deny_holds_whatever_the_tool_has_become() -> None:
    grants = Grants([Grant("ann", "files", "read", "deny", tool_digest="d1")])
    assert grants.decide("ann", "files", "read", NOW, lambda: "d2").source == "tool_grant"


def test_of_two_grants_for_one_key_in_a_configuration_deny_stays() -> None:
    allow, deny = Grant("a", "s", "t", "allow"), Grant("a", "s", "t", "deny")
    assert list(Grants([allow, deny])) == list(Grants([deny, allow])) == [deny]
    later = Grant("a", "s", "t", "allow", "later")
    assert list(Grants([allow, later])) == [later]


def test_a_revoked_grant_gives_way_to_the_level_below() -> None:
    """MGP-5.4-3"""
    issued = Layer([Grant("ann", "files", "read"), Grant("ann", "files", None, "deny")])
    grants = Grants(issued=issued)
    gone = issued.remove(("ann", "files", "read"))
    assert gone == Grant("ann", "files", "read")
    assert _source(grants) == ("deny", "server_grant")
    assert issued.remove(("ann", "files", "read")) is None
    issued.remove(("ann", "files", None))
    assert _source(grants) == ("deny", "default_policy")


@pytest.mark.parametrize("grant", [Grant("", "files"), Grant("ann", ""), Grant("ann", "files", "")])
def test_a_grant_without_a_name_is_refused(grant: Grant) -> None:
    """MGP-5.4-4"""
    with pytest.raises(ValueError, match="names an agent and a server"):
        Layer().put(grant)


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
    issued = Layer()
    grants = Grants([Grant("eve", "files", expires_at=NOW + 7)], issued=issued)
    seen = [grants.version(NOW)]
    issued.put(Grant("bob", "files", expires_at=NOW + 5))
    seen.append(grants.version(NOW))
    issued.put(Grant("ann", "files"))
    seen.append(grants.version(NOW))
    issued.remove(("ann", "files", None))
    seen.append(grants.version(NOW))
    issued.replace([*issued, Grant("dan", "files")])
    seen.append(grants.version(NOW))
    assert seen == sorted(set(seen))
    issued.replace(list(issued))  # read again, because something else in the store has changed
    assert grants.version(NOW) == seen[-1]
    issued.remove(("dan", "files", None))
    seen.append(grants.version(NOW))
    grants.decide("bob", "files", "x", NOW)
    issued.remove(("nobody", "files", None))
    assert grants.version(NOW + 4.9) == seen[-1]
    assert grants.version(NOW + 5) == seen[-1] + 1
    assert grants.version(NOW + 500) == seen[-1] + 2
    assert list(grants) == []


def test_a_grant_that_was_made_longer_does_not_leave_with_its_old_end() -> None:
    issued = Layer()
    issued.put(Grant("ann", "files", expires_at=NOW))
    issued.put(Grant("ann", "files", expires_at=NOW + 100))
    before = issued.version(NOW + 50)
    assert issued.get(("ann", "files", None), NOW + 50) is not None
    assert issued.version(NOW + 100) == before + 1


def test_granting_again_and_again_takes_no_more_room() -> None:
    issued = Layer()
    for step in range(5000):
        issued.put(Grant("ann", "files", expires_at=NOW + step))
        issued.put(Grant("ann", "files", "read", expires_at=NOW + step))
    assert len(issued.ends) <= 2 * len(issued) + 65
    assert issued.get(("ann", "files", "read"), NOW + 4998) is not None


def test_a_decision_looks_at_eight_places_however_many_grants_there_are() -> None:
    class Counting(dict):  # type: ignore[type-arg]
        looks = 0

        def get(self, key: object, default: object = None) -> object:
            Counting.looks += 1
            return super().get(key, default)

    grants = Grants(Grant(f"agent-{n}", f"server-{n % 100}", f"tool-{n}") for n in range(100_000))
    grants._intended._table = Counting(grants._intended._table)
    grants._issued._table = Counting(grants._issued._table)
    assert grants.decide("agent-99999", "server-99", "tool-99999", NOW).permission == "allow"
    assert grants.decide("agent-99999", "server-99", "other", NOW).permission == "deny"
    assert Counting.looks <= 2 * 8


@given(st.floats(0, 100), st.floats(0, 100))
def test_a_grant_holds_until_its_end_and_not_after(end: float, now: float) -> None:
    assert Grant("a", "s", expires_at=end).holds(now) == (now < end)
    assert Grant("a", "s").holds(now)


@pytest.mark.parametrize(
    ("said", "asked"), [("Jos\u00e9", "Jose\u0301"), ("Jose\u0301", "Jos\u00e9")]
)
def test_a_word_about_a_name_holds_for_it_in_every_unicode_form(said: str, asked: str) -> None:
    words = [Grant(said, "files"), Grant(asked, "files", "read", "deny")]
    grants = Grants(words)
    for agent in (said, asked):
        assert _source(grants, agent) == ("deny", "tool_grant")
        assert _source(grants, agent, "write") == ("allow", "server_grant")
        assert _source(grants, "Jose", "write") == ("deny", "default_policy")


@pytest.mark.parametrize(
    ("said", "asked"), [("Jos\u00e9", "Jose\u0301"), ("Jose\u0301", "Jos\u00e9")]
)
def test_a_deny_holds_for_the_subject_of_a_token_in_every_unicode_form_and_an_allow_in_its_own(
    said: str, asked: str
) -> None:
    said, asked = f"corp:{said}", f"corp:{asked}"
    words = [
        Grant(said, "files", permissions=("x",)),
        Grant(said, "files", "read", "deny"),
        Grant(asked, "mail"),
        Grant(said, "mail", permission="deny"),
    ]
    for grants in (Grants(words), Grants((), issued=Layer(words))):
        assert _source(grants, asked) == ("deny", "tool_grant")
        assert _source(grants, asked, "write") == ("deny", "default_policy")
        assert _source(grants, said, "write") == ("allow", "server_grant")
        assert grants.decide(asked, "mail", "read", 0.0).permission == "deny"
        assert grants.permissions_of(asked, "mail", 0.0) == frozenset()
    assert [is_about(one, asked) for one in words] == [False, True, True, True]
    assert [is_about(one, "corp:Jose") for one in words] == [False] * 4
    assert is_about(Grant("*", "mail"), asked)


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Vi\u00ea\u0323t", "Vi\u1ec7t"),
        ("Vi\u00ea\u0323t", "Vie\u0323\u0302t"),
        ("\u0628\u0651\u064e", "\u0628\u064e\u0651"),
        ("\u05e9\u05c1\u05bc", "\u05e9\u05bc\u05c1"),
        ("\u212bsa", "\u00c5sa"),
        ("\u212bsa", "A\u030asa"),
        ("\u212aim", "Kim"),
    ],
)
def test_a_deny_for_the_subject_of_a_token_holds_however_its_marks_are_written(
    said: str, asked: str
) -> None:
    for one, other in ((f"corp:{said}", f"corp:{asked}"), (f"corp:{asked}", f"corp:{said}")):
        words = [Grant(one, "files", "read", "deny"), Grant(other, "files", permissions=("x",))]
        for grants in (Grants(words), Grants((), issued=Layer(words))):
            assert _source(grants, other) == ("deny", "tool_grant")
            assert _source(grants, other, "write") == ("allow", "server_grant")
            assert _source(grants, one, "write") == ("deny", "default_policy")
        assert [is_about(word, other) for word in words] == [True, True]
        assert [is_about(word, one) for word in words] == [True, False]


def test_a_configured_deny_for_an_agent_holds_however_its_marks_are_written() -> None:
    word = Grant("Vi\u00ea\u0323t", "files", "read", "deny")
    grants = Grants([word, Grant("Vi\u1ec7t", "files")])
    assert _source(grants, "Vi\u1ec7t") == ("deny", "tool_grant")
    assert _source(grants, "Vi\u1ec7t", "write") == ("allow", "server_grant")
    assert is_about(word, "Vi\u1ec7t")


def test_a_deny_that_is_gone_holds_in_no_unicode_form() -> None:
    said, asked = "corp:Vi\u00ea\u0323t", "corp:Vi\u1ec7t"
    word = Grant(said, "files", "read", "deny", expires_at=9.0)
    layer = Layer([word, Grant(asked, "files")])
    grants = Grants((), issued=layer)

    def allowed(now: float) -> bool:
        return grants.decide(asked, "files", "read", now).permission == "allow"

    assert [allowed(now) for now in (8.0, 9.0)] == [False, True]
    grants.version(9.0)
    assert allowed(8.0)
    layer.put(word)
    assert not allowed(8.0)
    layer.remove(word.key)
    assert allowed(8.0)
    layer.put(word)
    layer.put(Grant(said, "files", "read"))
    assert allowed(8.0)
    layer.put(word)
    layer.replace([Grant(asked, "files")])
    assert allowed(8.0)
