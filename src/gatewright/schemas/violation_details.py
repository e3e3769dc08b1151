"""Turns up to 10 schema violations into refusal details: JSON pointer, rule, message and the likely intended name, never a value.

Each argument that is missing or wrong is named with its place and the rule; one that is missing, together with the unknown
one that may have been meant as it. No value is repeated: what does not fit may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from gatewright.schemas.json_pointers import pointer
from gatewright.schemas.nearest import NAME_CHARS, closest
from gatewright.schemas.schema import Violation

__all__ = ["MOST", "misfits"]

MOST = 10
"""So many flaws are told at once."""

# Names of a schema, and unknown arguments, that a misspelt one is compared with.
_KNOWN = 200
_REFERENCES = 16
_MESSAGE_CHARS = 300
_HINT_CHARS = 20_000
"""Characters of names that are compared for all hints of one refusal together; who is told what was meant ten times over has read enough."""


def misfits(
    schema: Any, arguments: Mapping[str, Any], violations: Sequence[Violation]
) -> list[dict[str, str]]:
    """Each flaw once: `path` (JSON pointer), `rule`, and `message`, a clause that names the argument."""
    found: list[dict[str, str]] = []
    hints = _Hints()
    for one in violations[:MOST]:
        path, said = _said(schema, arguments, one, hints)
        flaw = {"path": path, "rule": one.rule, "message": said}
        # Several parts of a schema (`allOf`) may be broken in the same way at the same place.
        if flaw not in found:
            found.append(flaw)
    return found


class _Hints:
    """Which names may have been meant, as long as there is room for such words."""

    def __init__(self) -> None:
        self._left = _HINT_CHARS

    def of(self, wanted: str, names: Sequence[str]) -> str:
        """The name that comes closest, shortened; empty where none does."""
        near = closest(wanted, names, 1) if self._left > 0 else []
        self._left -= sum(min(len(one), NAME_CHARS) for one in names)
        return near[0][:NAME_CHARS] if near else ""


def _said(
    schema: Any, arguments: Mapping[str, Any], flaw: Violation, hints: _Hints
) -> tuple[str, str]:
    path = pointer(flaw.path)
    if flaw.rule == "required" and isinstance(flaw.expected, str):
        missing = flaw.expected[:NAME_CHARS]
        meant = _meant(schema, arguments, flaw, hints)
        return path, f"arguments{path}: {missing!r} is missing{meant}"
    if flaw.rule in ("additionalProperties", "unevaluatedProperties"):
        return path, f"arguments{path}: {_unknown(schema, flaw, hints)}"
    return path, f"arguments{path}: {flaw.message[:_MESSAGE_CHARS]} (rule: {flaw.rule})"


def _meant(schema: Any, arguments: Mapping[str, Any], flaw: Violation, hints: _Hints) -> str:
    """Which unknown argument may have been meant as the missing one."""
    holder, known = _at(arguments, flaw.path), _properties(schema, flaw.path)
    unknown = (one for one in holder if one not in known) if isinstance(holder, dict) else ()
    near = hints.of(flaw.expected, [*islice(unknown, _KNOWN)])
    return f"; it has no {near!r}, which may have been meant" if near else ""


def _unknown(schema: Any, flaw: Violation, hints: _Hints) -> str:
    names = flaw.expected if isinstance(flaw.expected, list) else []
    known = [*_properties(schema, flaw.path)]
    said = []
    for name in [one for one in names if isinstance(one, str)][:MOST]:
        near = hints.of(name, known)
        hint = f" (did you mean {near!r}?)" if near else ""
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


def _properties(schema: Any, path: Sequence[str | int]) -> dict[str, None]:
    """The names that the schema has for what is at a place, as far as it says so directly."""
    here: Any = _resolved(schema, schema)
    for step in path:
        if not isinstance(here, dict):
            return {}
        members = here.get("properties")
        held = members.get(step) if isinstance(members, dict) else None
        here = _resolved(schema, here.get("items") if isinstance(step, int) else held)
    found = here.get("properties") if isinstance(here, dict) else None
    return dict.fromkeys(islice(found, _KNOWN)) if isinstance(found, dict) else {}


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
