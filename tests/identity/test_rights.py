"""Rights: what several words about one caller come to."""

from __future__ import annotations

import pytest

from gatewright.call import Caller, Security, Trust, UserContext
from gatewright.identity.rights import administers, described, rights_of, runs_programs
from gatewright.mcp.wire.permissions import INVOKE, READ, held_permission


def _user(*permissions: str, **more: object) -> UserContext:
    held = tuple(held_permission(one) or one for one in permissions)
    return UserContext(permissions=held, **more)  # type: ignore[arg-type]


NAMES = ("files/read", "files.read", "files__read")


@pytest.mark.parametrize(
    ("permission", "fits"),
    [
        ("ToolInvoke(files/read)", True),
        ("ToolInvoke(files.read)", True),
        ("ToolInvoke(files__read)", True),
        ("ToolInvoke(files/*)", True),
        ("ToolInvoke(*)", True),
        ("ToolInvoke(read)", False),
        ("ToolInvoke(files/rea)", False),
        ("ToolInvoke(files/read_all)", False),
        ("ToolRead(files/read)", False),
        ("ToolsListAll", False),
        ("AdminWrite", False),
        ("filesystem.read", None),
    ],
)
def test_a_tool_is_called_by_who_holds_its_name(permission: str, fits: bool | None) -> None:
    """GGEN-auth-4: that tool only."""
    assert rights_of((_user(permission),)).invokes(NAMES) is fits


@pytest.mark.parametrize(
    ("permission", "fits"),
    [
        ("ToolRead(files/read)", True),
        ("ToolRead(files/write)", False),
        ("ToolsListAll", True),
        ("ToolInvoke(files/read)", False),
        ("read:filesystem", None),
    ],
)
def test_a_definition_is_seen_by_who_may_read_it(permission: str, fits: bool | None) -> None:
    """GGEN-auth-5 and GGEN-auth-6"""
    assert rights_of((_user(permission),)).reads(NAMES) is fits


def test_who_may_read_nothing_is_known_as_that() -> None:
    """Decision C-32."""
    assert rights_of((_user("ToolInvoke(a)"),)).reads_nothing
    assert not rights_of((_user("ToolRead(a)"),)).reads_nothing
    assert not rights_of((_user("filesystem.read"),)).reads_nothing


def test_every_place_that_names_tools_has_to_name_this_one() -> None:
    key, configured = _user("ToolInvoke(files/*)"), _user("ToolInvoke(*/read)")
    rights = rights_of((key, configured, _user("filesystem.read")))
    assert rights.invokes(NAMES) is True
    assert rights.invokes(("files/write",)) is False
    assert rights.holds("filesystem.read") is True
    assert rights.holds("filesystem.write") is False
    assert rights_of((key,)).holds("filesystem.write") is None


def test_the_lowest_trust_and_the_nearest_role_count() -> None:
    """GRH-sec-4"""
    key = UserContext(trust="system", role="lead")
    rights = rights_of((key, UserContext(trust="community", role="anybody")))
    assert (rights.trust, rights.role) == ("community", "lead")
    assert rights_of((UserContext(),)).trust == "verified"


@pytest.mark.parametrize(
    ("trust", "risks"),
    [
        ("untrusted", ["safe"]),
        ("community", ["safe", "moderate"]),
        ("verified", ["safe", "moderate", "dangerous"]),
        ("system", ["safe", "moderate", "dangerous"]),
    ],
)
def test_trust_bounds_the_risk_of_what_is_called(trust: Trust, risks: list[str]) -> None:
    """GRH-sec-4: four users, by table 2.4 of the decisions."""
    rights = rights_of((UserContext(trust=trust),))
    every = [Security(risk_level="safe"), Security(), Security(risk_level="dangerous")]
    assert [one.risk_level for one in every if not rights.too_risky(one)] == risks


def test_the_registry_is_for_operators_and_who_holds_it() -> None:
    """GGEN-auth-7 and GGEN-auth-8"""
    assert administers(Caller("root", "operator"), "write")
    assert not administers(Caller("ann"), "read")
    reader = Caller("ann", user=(_user("AdminRead"),))
    assert administers(reader, "read")
    assert not administers(reader, "write")
    assert administers(Caller("ann", user=(_user("AdminWrite"),)), "write")
    narrowed = Caller("ann", user=(_user("AdminWrite"), _user("ToolsListAll")))
    assert not administers(narrowed, "write")
    assert administers(Caller("ann", user=(_user("AdminWrite"), _user("shell"))), "write")


def test_nobody_without_a_name_writes_the_registry() -> None:
    """What one of them registered would be everybody's."""
    nobody = Caller("anonymous", "anonymous", user=(_user("AdminWrite"), _user("AdminRead")))
    assert not administers(nobody, "write")
    free = Caller("anonymous", "anonymous", user=(_user("AdminRead"),))
    assert administers(free, "read")


def test_a_user_is_described_in_four_fields() -> None:
    """GRH-sec-3"""
    caller = Caller("ann", user=(UserContext("analyst", "community", ("/srv/**",)), UserContext()))
    assert described(caller) == {
        "user_id": "ann",
        "role": "analyst",
        "trust_level": "community",
        "allowed_resources": ["/srv/**"],
    }
    assert described(Caller("root", "operator"))["trust_level"] == "system"
    assert described(Caller("bob"))["role"] == "agent"


def test_constraints_say_what_follows() -> None:
    """GRH-sec-8"""
    rights = rights_of(
        (UserContext("analyst", "untrusted", ("/a",)), UserContext(resources=("/b",)))
    )
    assert rights.constraints() == {
        "trust_level": "untrusted",
        "max_risk": "safe",
        "role": "analyst",
        "allowed_resources": [["/a"], ["/b"]],
    }


@pytest.mark.parametrize(
    ("security", "programs"),
    [
        (Security(), False),
        (Security(validator="sandbox"), True),
        (Security(validator="paths+code_safety"), True),
        (Security(permissions_required=("shell.execute",)), True),
        (Security(permissions_required=("code_execution",)), True),
        (Security(permissions_required=("filesystem.read",), validator="paths"), False),
    ],
)
def test_tools_that_run_programs_are_known(security: Security, programs: bool) -> None:
    assert runs_programs(security) is programs


LEVELS: tuple[Trust, ...] = ("untrusted", "community", "verified", "system")


@pytest.mark.parametrize("low", range(4))
@pytest.mark.parametrize("high", range(4))
def test_of_two_words_about_trust_the_lower_one_counts(low: int, high: int) -> None:
    said = [UserContext(trust=LEVELS[one]) for one in (high, low)]
    assert rights_of(tuple(said)).trust == LEVELS[min(low, high)]


def test_the_scopes_that_would_help_are_told() -> None:
    steps = (
        (held_permission("ToolInvoke(files/*)") or "", "files"),
        (held_permission("ToolRead(files/read)") or "", "look"),
        ("filesystem.read", "disk"),
        ("filesystem.read", "disk"),
        ("shell.execute", "run"),
        ("*", "all"),
    )
    step_up = rights_of((UserContext(steps=steps),)).step_up
    assert step_up(f"{INVOKE}files/read") == ("files",)
    assert step_up(f"{INVOKE}mail/send") == ()
    assert step_up(f"{READ}files/read") == ("look",)
    assert step_up("filesystem.read") == ("disk",)
    assert step_up("filesystem.write") == ()


def test_whether_tools_and_resources_are_limited_at_all_is_known() -> None:
    """GRH-sec-5"""
    free = rights_of((UserContext(), _user("filesystem.read")))
    assert not free.names_tools
    assert free.resources() is None
    bound = rights_of((UserContext(resources=("/srv/**",)), _user("ToolInvoke(a)", "shell")))
    assert bound.names_tools
    found = bound.resources()
    assert found is not None
    assert [found.allows(one) for one in ("/srv/x", "/etc/x")] == [True, False]
    assert len(bound.permissions) == 2
