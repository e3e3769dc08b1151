"""Translates OpenAPI schemas to JSON input schemas: resolves local references into `$defs`, rewrites 3.0; `Room` bounds their number.

A tool's schema stands alone, so everything that it refers to is brought along under `$defs`, as far as it
is reached. OpenAPI 3.0 has a dialect of its own, of which 3.1 kept nothing: what differs is rewritten. A
reference that leads out of the document is never followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from gatewright.patterns import Pattern
from gatewright.servers.openapi.text import BadDocument

__all__ = ["Definitions", "Foreign", "Room", "at", "resolved"]

_FOREIGN = Pattern(r"[^A-Za-z0-9._-]")
_LONGEST_CHAIN = 32
_HOLD_ONE = (
    "items",
    "not",
    "additionalProperties",
    "contains",
    "propertyNames",
    "if",
    "then",
    "else",
)
_HOLD_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_HOLD_NAMED = ("properties", "patternProperties", "$defs", "dependentSchemas")
_ONLY_THERE = ("nullable", "discriminator", "xml", "externalDocs", "example")
"""What OpenAPI adds to JSON Schema. `externalDocs` is kept where it says a URL."""


class Foreign(ValueError):  # noqa: N818 - what it is, not what is wrong with us
    """A reference that leads out of the document, or nowhere in it."""


def at(document: Any, pointer: str) -> Any:
    """What a reference leads to. Raises `Foreign`."""
    if pointer != "#" and not pointer.startswith("#/"):
        raise Foreign(f"{pointer[:200]!r} leads out of the document; bundle it into one file")
    found = document
    for step in unquote(pointer[2:]).split("/") if len(pointer) > 1 else ():
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        elif isinstance(found, dict) and key in found:
            found = found[key]
        else:
            raise Foreign(f"{pointer[:200]!r} leads nowhere")
    return found


def resolved(document: Any, value: Any) -> dict[str, Any]:
    """An object, through however many references. Raises `Foreign` where there is none."""
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(value, dict):
            raise Foreign("an object is missing")
        pointer = value.get("$ref")
        if not isinstance(pointer, str):
            return value
        value = at(document, pointer)
    raise Foreign("a reference goes round in a circle")


class Room:
    """How many schemas the operations of one document may still have together, and how many members and items these. Each
    brings along all that it refers to, so without an end a document of a megabyte could become gigabytes of tools. What their
    texts come to is the reader's to bound, who writes them."""

    def __init__(self, left: int = 300_000, members: int = 4_000_000) -> None:
        self.left = left
        self.members = members

    def take(self, schema: Mapping[str, Any]) -> None:
        """Make room for one schema, and what is copied with it."""
        self.left -= 1
        held = (value for value in schema.values() if isinstance(value, list | dict))
        self.members -= len(schema) + sum(map(len, held))


_MOST = 10_000
"""So many schemas one operation may have."""


class Definitions:
    """Translates the schemas of one operation; `found` is what they refer to, by its name in `$defs`."""

    def __init__(self, document: Mapping[str, Any], *, old: bool, room: Room | None = None) -> None:
        """`old` says that the document is one of 3.0; `room` is that of the whole document."""
        self._document = document
        self._old = old
        self._room = room or Room()
        self._least = self._room.left - _MOST
        self._names: dict[str, str] = {}
        self.found: dict[str, Any] = {}

    def of(self, schema: Any) -> Any:
        """One schema. Raises `Foreign`, and `BadDocument` where there is no room for it."""
        if not isinstance(schema, dict):
            return schema if isinstance(schema, bool) else {}
        self._room.take(schema)
        if self._room.left < max(0, self._least) or self._room.members < 0:
            raise BadDocument(
                "it has more schemas than there is room for in one operation or document"
            )
        made = {key: self._held(key, value) for key, value in schema.items() if key[:2] != "x-"}
        if isinstance(made.get("$ref"), str):
            made["$ref"] = self._reference(made["$ref"])
        self._only_what_is_sent(made, schema)
        return _modern(made) if self._old else _without(made)

    def _only_what_is_sent(self, made: dict[str, Any], schema: Mapping[str, Any]) -> None:
        """What is `readOnly` need not be sent, required or not (OpenAPI 3.0.4, "Schema Object")."""
        properties, required = schema.get("properties"), made.get("required")
        if not isinstance(properties, dict) or not isinstance(required, list):
            return
        made["required"] = [one for one in required if not self._is_read_only(properties, one)]
        if not made["required"]:
            del made["required"]

    def _is_read_only(self, properties: Mapping[str, Any], name: Any) -> bool:
        held = properties.get(name) if isinstance(name, str) else None
        if not isinstance(held, dict):
            return False
        return (
            held.get("readOnly") is True or resolved(self._document, held).get("readOnly") is True
        )

    def _held(self, key: str, value: Any) -> Any:
        """What stands under one keyword, the schemas in it translated."""
        if key in _HOLD_ONE and isinstance(value, dict):
            return self.of(value)
        if key in _HOLD_MANY and isinstance(value, list):
            return [self.of(one) for one in value]
        if key in _HOLD_NAMED and isinstance(value, dict):
            return {name: self.of(one) for name, one in value.items()}
        return value

    def _reference(self, pointer: str) -> str:
        name = self._names.get(pointer)
        if name is None:
            target = at(self._document, pointer)
            name = self._names[pointer] = self._free(pointer.rsplit("/", 1)[-1])
            # The name is taken before its schema is made, which may refer to itself.
            self.found[name] = {}
            self.found[name] = self.of(target)
        return f"#/$defs/{name}"

    def _free(self, wanted: str) -> str:
        name = clean = _FOREIGN.sub("_", wanted) or "root"
        count = 1
        while name in self.found:
            count += 1
            name = f"{clean}_{count}"
        return name


def _without(schema: dict[str, Any]) -> dict[str, Any]:
    docs = schema.get("externalDocs")
    made = {key: value for key, value in schema.items() if key not in _ONLY_THERE}
    if isinstance(docs, dict) and isinstance(docs.get("url"), str):
        made["externalDocs"] = {"url": docs["url"]}
    return made


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of OpenAPI 3.0 as JSON Schema."""
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # in 3.0 nothing stands beside it
    made = _without(schema)
    if "example" in schema and "examples" not in made:
        made["examples"] = [schema["example"]]
    for bound in ("minimum", "maximum"):
        exclusive = "exclusive" + bound.title()
        flag = made.pop(exclusive, None)
        if flag is True and bound in made:
            made[exclusive] = made.pop(bound)
        elif flag is not None and not isinstance(flag, bool):
            made[exclusive] = flag
    if schema.get("nullable") is True and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
    return made
