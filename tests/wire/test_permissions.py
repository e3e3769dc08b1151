"""Names of permissions: the standard list, the shorthand, custom names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.wire.permissions import ALIASES, STANDARD, canonical_permission, permission_risk


def test_the_standard_permissions_have_the_risks_of_the_specification() -> None:
    """MGP-3.2-1"""
    assert dict(STANDARD) == {
        "filesystem.read": "moderate",
        "filesystem.write": "dangerous",
        "network.outbound": "moderate",
        "network.listen": "dangerous",
        "shell.execute": "dangerous",
        "code_execution": "dangerous",
        "memory.read": "safe",
        "memory.write": "moderate",
        "system.info": "safe",
        "camera": "dangerous",
        "notification": "safe",
    }


@pytest.mark.parametrize(("short", "full"), sorted(ALIASES.items()))
def test_the_shorthand_of_the_specification_is_understood(short: str, full: str) -> None:
    assert canonical_permission(short) == full
    assert full in STANDARD


def test_a_custom_permission_is_a_reverse_domain_name_and_dangerous() -> None:
    assert canonical_permission("com.example.custom_permission") == "com.example.custom_permission"
    assert permission_risk("com.example.custom_permission") == "dangerous"


@pytest.mark.parametrize(
    "name", ["", "shel", "filesystem", "a.b", "com..x", "com.example.x y", "*"]
)
def test_a_name_that_means_nothing_is_not_a_permission(name: str) -> None:
    assert canonical_permission(name) is None


@given(st.text())
def test_a_canonical_name_stays_what_it_is(name: str) -> None:
    found = canonical_permission(name)
    assert found is None or canonical_permission(found) == found
