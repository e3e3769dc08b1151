from __future__ import annotations

from typing import Any

import pytest

from gatewright.dialects.groundhog.registration import Flawed, Profile, Wanted, read_registration
from tests.dialects.groundhog.requests import REGISTER, changed


def flaw(request: dict[str, Any]) -> Any:
    with pytest.raises(Flawed) as caught:
        read_registration(request)
    return caught.value.outcome


def test_the_registration_of_the_specification_makes_sense() -> None:
    """GRH-msg-5."""
    assert read_registration(REGISTER) == Wanted(
        name="directory_list",
        version="1.0.0",
        description="Secure directory listing tool",
        author="Groundhog Team",
        categories=("filesystem", "utility"),
        profile=Profile(("filesystem.read",), "container", 30.0, 268435456),
        input=REGISTER["schema"]["input"],
        output=REGISTER["schema"]["output"],
        by_connection=False,
    )


def test_a_profile_may_ask_for_nothing() -> None:
    found = read_registration(changed("security_profile", {}))
    assert found.profile == Profile((), "none", None, None)


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        ("tool_metadata", ["tool_metadata"]),
        ("security_profile", ["security_profile"]),
        ("schema", ["schema"]),
        ("tool_metadata.name", ["tool_metadata.name"]),
        ("tool_metadata.version", ["tool_metadata.version"]),
        ("schema.input", ["schema.input"]),
    ],
)
def test_what_is_missing_is_named(path: str, missing: list[str]) -> None:
    """GRH-reg-1 and GRH-err-4."""
    found = flaw(changed(path, None, gone=True))
    assert (found.reason, found.details) == ("invalid_params", {"missing_fields": missing})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("tool_metadata", "x"),
        ("tool_metadata.name", "two words"),
        ("tool_metadata.name", "x" * 129),
        ("tool_metadata.name", "another.v1.0.0"),
        ("tool_metadata.name", "another.v1.0.0-a.vx"),
        ("tool_metadata.name", "another.v1.0.0-a.v2.vx"),
        ("tool_metadata.name", ["x"]),
        ("tool_metadata.version", "latest"),
        ("tool_metadata.version", 1),
        ("tool_metadata.description", 7),
        ("tool_metadata.description", "x" * 5000),
        ("tool_metadata.author", {}),
        ("tool_metadata.categories", "filesystem"),
        ("tool_metadata.categories", ["a"] * 33),
        ("tool_metadata.categories", [""]),
    ],
)
def test_metadata_that_makes_no_sense_is_refused_by_its_field(path: str, value: Any) -> None:
    """GRH-reg-1."""
    found = flaw(changed(path, value))
    assert (found.reason, found.details) == ("invalid_args", {"field": path})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("security_profile.permissions", "read:filesystem"),
        ("security_profile.permissions", ["fly:moon"]),
        ("security_profile.permissions", ["AdminWrite"]),
        ("security_profile.permissions", [7]),
        ("security_profile.sandbox_level", "bunker"),
        ("security_profile.sandbox_level", 3),
        ("security_profile.resource_limits", []),
        ("security_profile.resource_limits.max_execution_time", 0),
        ("security_profile.resource_limits.max_execution_time", -1),
        ("security_profile.resource_limits.max_execution_time", "30"),
        ("security_profile.resource_limits.max_execution_time", True),
        ("security_profile.resource_limits.max_execution_time", 100_000),
        ("security_profile.resource_limits.max_memory", 0),
        ("security_profile.resource_limits.max_memory", 1024),
        ("security_profile.resource_limits.max_memory", 2.0**50),
    ],
)
def test_a_profile_that_makes_no_sense_is_refused_by_its_field(path: str, value: Any) -> None:
    """GRH-reg-2: known permissions, a known level, positive limits."""
    found = flaw(changed(path, value))
    assert (found.reason, found.details) == ("invalid_args", {"field": path})


@pytest.mark.parametrize("which", ["input", "output"])
@pytest.mark.parametrize(
    "schema",
    [
        "x",
        {},
        {"type": "array"},
        {"type": "object", "properties": 7},
        {"type": "object", "required": "path"},
        {"type": "object", "properties": {"a": {"type": "no such type"}}},
        {"type": "object", "properties": {"a": {"$ref": "http://elsewhere/"}}},
    ],
)
def test_a_schema_that_is_none_is_refused_by_its_field(which: str, schema: Any) -> None:
    """GRH-reg-3."""
    found = flaw(changed(f"schema.{which}", schema))
    assert (found.reason, found.details) == ("invalid_args", {"field": f"schema.{which}"})


def test_an_implementation_is_one_of_two_words() -> None:
    assert read_registration(changed("implementation", "connection")).by_connection
    assert flaw(changed("implementation", "os.system")).details == {"field": "implementation"}
