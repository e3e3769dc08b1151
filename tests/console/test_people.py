"""Roles and their powers."""

from __future__ import annotations

from gatewright.console.people import POWERS, Person


def test_each_role_may_what_the_table_says_and_no_more() -> None:
    assert {role: sorted(powers) for role, powers in POWERS.items()} == {
        "viewer": ["see"],
        "approver": ["decide", "see"],
        "operator": ["change", "decide", "export", "see"],
        "auditor": ["export", "see"],
    }
    viewer = Person("v", "viewer", "key")
    assert viewer.may("see")
    assert not viewer.may("decide")
