"""What refusals of the access gate and of permissions say: what is missing, and the command with which an operator gives it."""

from __future__ import annotations

import pytest

from gatewright.access.refusals import BY_CALLER, lacks, outside, server_lacks, too_many, too_risky
from gatewright.call import ANONYMOUS, Caller, UserContext
from gatewright.mcp.wire.permissions import REGISTRY_WRITE
from tests.gate_parts import a_call, a_tool

ANN = Caller("ann", user=(UserContext(trust="untrusted"),))


def test_a_missing_permission_is_named_with_the_key_that_has_it() -> None:
    found = lacks(a_call(caller=ANN), REGISTRY_WRITE)
    assert (found.reason, found.gate) == ("permission_denied", "access")
    assert found.details["source"] == BY_CALLER
    assert found.message.endswith("`gatewright key create ann --another --permission AdminWrite`")


def test_nobody_in_particular_is_shown_a_name_to_fill_in() -> None:
    assert "key create NAME --another" in lacks(a_call(caller=ANONYMOUS), REGISTRY_WRITE).message


@pytest.mark.parametrize(
    ("risk", "trust"), [("moderate", "community"), ("dangerous", "verified"), ("safe", "")]
)
def test_a_tool_of_too_high_a_risk_names_the_least_trust(risk: str, trust: str) -> None:
    found = too_risky(a_call(caller=ANN, tool=a_tool(risk_level=risk)))
    assert (found is None) is (trust == "")
    if found is not None:
        assert found.details["risk_level"] == risk
        assert f"--trust {trust}" in found.message


def test_a_path_outside_is_named_with_what_would_allow_it() -> None:
    found = outside(a_call(caller=ANN), {"requested_path": "/etc/passwd"}, "/path")
    assert (found.reason, found.details["path"]) == ("path_not_allowed", "/path")
    assert "--resource /etc/passwd" in found.message
    long = outside(a_call(caller=ANN), {"requested_path": "/" + "x" * 10_000})
    assert len(long.message) < 1000


def test_more_paths_than_are_judged_are_nothing_that_a_key_would_change() -> None:
    found = too_many(a_call(caller=ANN), "/files/9")
    assert (found.reason, found.gate) == ("validation_blocked", "access")
    assert found.details == {"rule": "too_costly", "path": "/files/9"}
    assert "fewer paths" in found.message
    assert "key" not in found.message


@pytest.mark.parametrize(
    ("denied", "reason"), [(True, "permission_denied"), (False, "permission_deferred")]
)
def test_what_a_server_lacks_is_given_by_one_command(denied: bool, reason: str) -> None:
    found = server_lacks("files", ["net", "disk"], denied)
    assert found.reason == reason
    assert found.details["missing_permissions"] == ["net", "disk"]
    assert "server permit files net disk" in found.message
