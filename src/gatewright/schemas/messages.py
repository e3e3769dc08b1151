"""Texts of schema violations: each missing or wrong argument with place and rule, and no values.

Each argument that is missing or wrong is named with its place and the rule; one that is missing, together with the unknown
one that may have been meant as it. No value is repeated: what does not fit may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gatewright.schemas.json_strings import pointer
from gatewright.schemas.nearest import NAME_CHARS, closest
from gatewright.schemas.schema import Violation

__all__ = ["MOST", "misfits"]

MOST = 10
"""So many flaws are told at once."""

_KNOWN = 200
_REFERENCES = 16


def misfits(
    schema: Any, arguments: Mapping[str, Any], violations: Sequence[Violation]
) -> list[dict[str, str]]:
    """Each flaw once: `path` (JSON pointer), `rule`, and `message`, a clause that names the argument."""
    found: list[dict[str, str]] = []
    for one in violations:
        path, said = _said(schema, arguments, one)
        flaw = {"path": path, "rule": one.rule, "message": said}
        if flaw not in found:
            found.append(flaw)
    return found[:MOST]


def _said(schema: Any, arguments: Mapping[str, Any], flaw: Violation) -> tuple[str, str]:
    path = pointer(flaw.path)
    if flaw.rule == "required" and isinstance(flaw.expected, str):
        missing = flaw.expected[:NAME_CHARS]
        return path, f"arguments{path}: {missing!r} is missing{_meant(schema, arguments, flaw)}"
    if flaw.rule in ("additionalProperties", "unevaluatedProperties"):
        return path, f"arguments{path}: {_unknown(schema, flaw)}"
    return path, f"arguments{path}: {flaw.message} (rule: {flaw.rule})"


def _meant(schema: Any, arguments: Mapping[str, Any], flaw: Violation) -> str:
    """Which unknown argument may have been meant as the missing one."""
    holder, known = _at(arguments, flaw.path), _properties(schema, flaw.path)
    given = [one for one in holder if one not in known] if isinstance(holder, dict) else []
    near = closest(flaw.expected, given[:_KNOWN], 1)
    return f"; it has no {near[0][:NAME_CHARS]!r}, which may have been meant" if near else ""


def _unknown(schema: Any, flaw: Violation) -> str:
    names = flaw.expected if isinstance(flaw.expected, list) else []
    known = _properties(schema, flaw.path)
    said = []
    for name in [one for one in names if isinstance(one, str)][:MOST]:
        near = closest(name, known, 1)
        hint = f" (did you mean {near[0][:NAME_CHARS]!r}?)" if near else ""
        said.append(f"{name[:NAME_CHARS]!r}{hint}")
    takes = ", ".join(repr(one[:NAME_CHARS]) for one in known[:MOST])
    return f"it takes no {', '.join(said) or 'other members'}; it takes {takes or 'none'}"


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
    return value


def _properties(schema: Any, path: Sequence[str | int]) -> list[str]:
    """The names that the schema has for what is at a place, as far as it says so directly."""
    here: Any = _resolved(schema, schema)
    for step in path:
        if not isinstance(here, dict):
            return []
        members = here.get("properties")
        held = members.get(step) if isinstance(members, dict) else None
        here = _resolved(schema, here.get("items") if isinstance(step, int) else held)
    found = here.get("properties") if isinstance(here, dict) else None
    return list(found)[:_KNOWN] if isinstance(found, dict) else []


def _resolved(schema: Any, part: Any) -> Any:
    """What a reference inside the schema means."""
    for _ in range(_REFERENCES):
        name = part.get("$ref") if isinstance(part, dict) else None
        if not isinstance(name, str) or not name.startswith("#/"):
            return part
        part = schema
        for step in name[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            part = part.get(key) if isinstance(part, dict) else None
    return None
