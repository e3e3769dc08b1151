"""Validates a `tools/register` request: metadata, security profile and schema, with an error for each field.

Every flaw names its field and what belongs there. Nothing here knows what could stand behind the tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.call import Failure, Refusal
from gatewright.dialects.groundhog.sandboxed_run import LEVELS, Level
from gatewright.mcp.wire.permissions import canonical_permission, held_permission
from gatewright.patterns import Pattern
from gatewright.schemas.graph import UnusableSchema
from gatewright.schemas.schema import compile_schema
from gatewright.sdk.versions import is_version

__all__ = ["Flawed", "Profile", "Wanted", "read_registration"]

_NAME = Pattern(r"[A-Za-z0-9_.\-]{1,128}")
_OLDER = ".v"
"""What stands before the version in the name of an older version of a tool (`dialects.groundhog.tool_registry`); no tool may be called so itself."""
_TEXT_CHARS = 4096
_CATEGORIES_MOST = 32
_SECONDS_MOST = 3600.0
_MEMORY_LEAST = 32 * 1024 * 1024
_MEMORY_MOST = 2**40


class Profile(msgspec.Struct, frozen=True):
    """A `security_profile` that makes sense."""

    permissions: tuple[str, ...] = ()
    """Canonical names."""
    level: Level = "none"
    seconds: float | None = None
    memory: int | None = None


class Wanted(msgspec.Struct, frozen=True):
    """A registration that makes sense."""

    name: str
    version: str
    description: str
    author: str
    categories: tuple[str, ...]
    profile: Profile
    input: Mapping[str, Any]
    output: Mapping[str, Any] | None
    by_connection: bool


class Flawed(Exception):  # noqa: N818 - carries the verdict
    """The registration cannot be made; `outcome` is what its sender is told."""

    def __init__(self, outcome: Failure | Refusal) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


def read_registration(params: Mapping[str, Any]) -> Wanted:
    """What a request asks for. Raises `Flawed`."""
    metadata, profile, schema = (
        _object(params, name) for name in ("tool_metadata", "security_profile", "schema")
    )
    absent = [
        *(f"tool_metadata.{name}" for name in ("name", "version") if not metadata.get(name)),
        *(["schema.input"] if "input" not in schema else []),
    ]
    if absent:
        raise Flawed(
            Failure(
                "invalid_params", f"missing fields: {', '.join(absent)}", {"missing_fields": absent}
            )
        )
    implementation = params.get("implementation", "shipped")
    if implementation not in ("shipped", "connection"):  # compared, since it may be a list
        raise _bad("implementation", 'it is "shipped" or "connection"')
    return Wanted(
        name=_named(metadata),
        version=_versioned(metadata),
        description=_text(metadata, "description"),
        author=_text(metadata, "author"),
        categories=_categories(metadata.get("categories", [])),
        profile=_profile(profile),
        input=_schema(schema, "input"),
        output=_schema(schema, "output") if schema.get("output") is not None else None,
        by_connection=implementation == "connection",
    )


def _bad(field: str, problem: str) -> Flawed:
    return Flawed(Failure("invalid_args", f"{field}: {problem}", {"field": field}))


def _object(params: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = params.get(name)
    if found is None:
        raise Flawed(
            Failure("invalid_params", f"missing fields: {name}", {"missing_fields": [name]})
        )
    if not isinstance(found, dict):
        raise _bad(name, "it is an object")
    return found


def _named(metadata: Mapping[str, Any]) -> str:
    name = metadata["name"]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _bad("tool_metadata.name", "it is 1 to 128 of A-Z, a-z, 0-9, _, . and -")
    # Whatever a tool and its version are called: `x` in 1.0.0-a.vx is `x.v1.0.0-a.vx`.
    if any(
        name.startswith(_OLDER, at) and is_version(name[at + 2 :]) for at in range(1, len(name))
    ):
        raise _bad("tool_metadata.name", "names that end in .vVERSION are those of older versions")
    return name


def _versioned(metadata: Mapping[str, Any]) -> str:
    version = metadata["version"]
    if not isinstance(version, str) or not is_version(version):
        raise _bad("tool_metadata.version", "it is a version like 1.4.0")
    return version


def _text(metadata: Mapping[str, Any], name: str) -> str:
    found = metadata.get(name, "")
    if not isinstance(found, str) or len(found) > _TEXT_CHARS:
        raise _bad(f"tool_metadata.{name}", f"it is a text of at most {_TEXT_CHARS} characters")
    return found


def _categories(found: Any) -> tuple[str, ...]:
    if (
        not isinstance(found, list)
        or len(found) > _CATEGORIES_MOST
        or not all(isinstance(one, str) and 0 < len(one) <= 64 for one in found)
    ):
        raise _bad("tool_metadata.categories", f"it is a list of at most {_CATEGORIES_MOST} words")
    return tuple(found)


def _profile(profile: Mapping[str, Any]) -> Profile:
    level = profile.get("sandbox_level", "none")
    if level not in tuple(LEVELS):
        raise _bad("security_profile.sandbox_level", f"it is one of {', '.join(LEVELS)}")
    limits = profile.get("resource_limits", {})
    if not isinstance(limits, dict):
        raise _bad("security_profile.resource_limits", "it is an object")
    seconds = _number(limits, "max_execution_time", 0, _SECONDS_MOST, "seconds")
    memory = _number(limits, "max_memory", _MEMORY_LEAST, _MEMORY_MOST, "bytes")
    return Profile(
        _permissions(profile.get("permissions", [])),
        level,
        seconds,
        None if memory is None else int(memory),
    )


def _permissions(found: Any) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise _bad("security_profile.permissions", "it is a list of names")
    known = [held_permission(one) for one in found]
    for name, canonical in zip(found, known, strict=True):
        of_gateway = canonical is not None and canonical.startswith("kernel.")
        if canonical is None or of_gateway or canonical_permission(canonical) is None:
            raise _bad(
                "security_profile.permissions",
                f"{name[:100]!r} is no permission; write it like read:filesystem",
            )
    return tuple(one for one in known if one is not None)


def _number(
    limits: Mapping[str, Any], name: str, least: float, most: float, unit: str
) -> float | None:
    found = limits.get(name)
    if found is None:
        return None
    number = isinstance(found, int | float) and not isinstance(found, bool)
    if not number or not 0 < found <= most or found < least:
        raise _bad(
            f"security_profile.resource_limits.{name}",
            f"it is a number of {unit} above 0, from {least:g} to {most:g}",
        )
    return float(found)


def _schema(schema: Mapping[str, Any], which: str) -> Mapping[str, Any]:
    found = schema[which]
    if not isinstance(found, dict) or found.get("type") != "object":
        raise _bad(f"schema.{which}", 'it is a JSON Schema of "type": "object"')
    try:
        compile_schema(found)
    except UnusableSchema as problem:
        raise _bad(f"schema.{which}", f"it {problem}") from None
    return found
