"""Translates the JSON Schemas of tools to OpenAPI 3.0 Schema Objects and components, loosening what that dialect cannot express.

Total: whatever a server wrote becomes a valid Schema Object. What the smaller dialect cannot say is left
out, so that the outcome allows what the tool's own schema allows and perhaps more, never less: a client
made from it can send every good value, and the gateway refuses the bad ones by the tool's own schema. For
the same reason a schema that lost something is not put under `not`, where leaving out would forbid, and
`oneOf` over such schemas becomes `anyOf`.

Source: OpenAPI 3.0.0, "Schema Object"; JSON Schema 2020-12 and the drafts before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from gatewright.dialects.openapi.defaults import Defaults, is_number
from gatewright.mcp.wire import jsonrpc
from gatewright.patterns import Pattern
from gatewright.short_cache import cached_if_short

__all__ = ["Schemas", "component_name"]

_TYPES = ("string", "number", "integer", "boolean", "array", "object")
_COUNTS = (
    *("minLength", "maxLength", "minItems", "maxItems"),
    *("minProperties", "maxProperties"),
)
_TEXTS = ("title", "description", "format", "pattern")
_FLAGS = ("uniqueItems", "deprecated", "readOnly", "writeOnly")
_SAID_NOTHING = frozenset(
    {"$schema", "$id", "$comment", "$defs", "definitions", "$anchor", "examples"}
)
_KNOWN = frozenset(
    {
        *_COUNTS,
        *_TEXTS,
        *_FLAGS,
        *_SAID_NOTHING,
        *("type", "enum", "const", "default", "required", "externalDocs", "nullable", "example"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf", "not", "$ref"),
    }
)
_DEEPEST = 64
ROOM = 6
"""What references write may have so many times the bytes of the schema: each definition once, and the names of components. Without a
bound a server that refers to each of fifty levels of one definition makes fifty of it."""
_FOREIGN = Pattern(r"[^A-Za-z0-9._-]")


def component_name(text: str) -> str:
    """The text as the name of a component may be written."""
    return _FOREIGN.sub("_", text) or "_"


class Schemas:
    """Translates the schemas of one document. What they refer to becomes a component of it."""

    def __init__(self) -> None:
        self.components: dict[str, Any] = {}
        """Name → Schema Object, of everything that was referred to."""

    def translated(self, schema: Any, owner: str) -> dict[str, Any]:
        """A schema in the other dialect; `owner` is what its own definitions are named after."""
        return _One(self.components, schema, owner).of(schema, 0)


class _One:
    """The schema of one tool. `lost` says how much could not be said."""

    def __init__(self, components: dict[str, Any], root: Any, owner: str) -> None:
        self._components = components
        self._root = root
        self._owner = owner
        self._named: dict[tuple[str, ...], str] = {}
        """Where a definition stands → its component: many references can be written that lead to one."""
        size = len(jsonrpc.encode(root))
        self._room = ROOM * size
        self._defaults = Defaults(size)
        self._wanted: dict[str, int] = {}
        """How often each name was wanted that somebody has."""
        self._loose: set[str] = set()
        self.lost = 0

    def of(self, schema: Any, depth: int) -> dict[str, Any]:
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        if not isinstance(schema, dict) or depth > _DEEPEST:
            self.lost += 1
            return {}
        if not _KNOWN.issuperset(schema):
            self.lost += 1
        found = self._plain(schema)
        self._numbers(schema, found)
        self._inside(schema, found, depth)
        self._combined(schema, found, depth)
        self._typed(schema, found)
        if "default" in found and not self._defaults.fits(found["default"], found):
            del found["default"]
        return self._referred(schema, found, depth)

    # -- what stands by itself

    def _plain(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for names, fits in _FITS:
            for name in names:
                if name in schema and fits(schema[name]):
                    found[name] = schema[name]
        if "pattern" in found and not _is_expression(found["pattern"]):
            del found["pattern"]
            self.lost += 1
        if "const" in schema:
            found["enum"] = [schema["const"]]
        examples = schema.get("examples")
        if isinstance(examples, list) and examples:
            found["example"] = examples[0]
        docs = schema.get("externalDocs")
        if isinstance(docs, dict) and isinstance(docs.get("url"), str):
            found["externalDocs"] = {"url": docs["url"]}
        return found

    def _numbers(self, schema: Mapping[str, Any], found: dict[str, Any]) -> None:
        """Bounds: an exclusive one is a number in the newer dialects and a flag in the older."""
        for bound, sign in (("minimum", 1), ("maximum", -1)):
            exclusive = "exclusive" + bound.title()
            inner, outer = schema.get(bound), schema.get(exclusive)
            flag = outer is True  # as OpenAPI 3.0 and draft 4 have it
            limits = [one for one in (inner, outer) if is_number(one)]
            if limits:
                found[bound] = max(limits, key=lambda one: sign * one)
                if flag or (is_number(outer) and found[bound] == outer):
                    found[exclusive] = True
        step = schema.get("multipleOf")
        if is_number(step) and step > 0:
            found["multipleOf"] = step

    # -- what holds other schemas

    def _inside(self, schema: Mapping[str, Any], found: dict[str, Any], depth: int) -> None:
        properties = schema.get("properties")
        if isinstance(properties, dict):
            found["properties"] = {
                name: self.of(one, depth + 1) for name, one in properties.items()
            }
        items = schema.get("items")
        if isinstance(items, dict | bool) and "prefixItems" not in schema:
            found["items"] = self.of(items, depth + 1)
        elif "items" in schema:
            self.lost += 1
        more = schema.get("additionalProperties")
        if "patternProperties" in schema:
            return  # closed for all but those would forbid those
        if isinstance(more, bool):
            found["additionalProperties"] = more
        elif isinstance(more, dict):
            found["additionalProperties"] = self.of(more, depth + 1)

    def _combined(self, schema: Mapping[str, Any], found: dict[str, Any], depth: int) -> None:
        for name in ("allOf", "anyOf", "oneOf"):
            branches = schema.get(name)
            if not isinstance(branches, list) or not branches:
                continue
            before = self.lost
            made = [self.of(one, depth + 1) for one in branches]
            loose = name == "oneOf" and self.lost > before
            if loose and "anyOf" in schema:
                continue
            found["anyOf" if loose else name] = made
        if "not" in schema:
            before = self.lost
            inner = self.of(schema["not"], depth + 1)
            if self.lost == before:
                found["not"] = inner

    # -- types

    def _typed(self, schema: Mapping[str, Any], found: dict[str, Any]) -> None:
        said = schema.get("type")
        names = said if isinstance(said, list) else [said] if isinstance(said, str) else []
        types = [name for name in dict.fromkeys(names) if name in _TYPES]
        null = "null" in names or schema.get("nullable") is True
        if len(types) == 1:
            found["type"] = types[0]
            if null:
                found["nullable"] = True
        elif types:
            made = [_of_type(name, null) for name in types]
            _add(found, "anyOf", made)
        elif null and names:
            found["enum"], found["nullable"] = [None], True
        if found.get("type") == "array":
            found.setdefault("items", {})

    # -- references

    def _referred(
        self, schema: Mapping[str, Any], found: dict[str, Any], depth: int
    ) -> dict[str, Any]:
        """A reference stands alone in the older dialect."""
        pointer = schema.get("$ref")
        if not isinstance(pointer, str):
            return found
        name = self._component(pointer, depth)
        if name is None:
            self.lost += 1
            return found
        reference = {"$ref": f"#/components/schemas/{name}"}
        return {"allOf": [reference, found]} if found else reference

    def _component(self, pointer: str, depth: int) -> str | None:
        path = _path(pointer)
        if path is None:
            return None
        known = self._named.get(path)
        if known is not None:
            self.lost += known in self._loose
            return known if self._has_room(known) else None
        target = _at(self._root, path)
        if not isinstance(target, dict | bool):
            return None
        name = self._free(f"{self._owner}.{pointer.rsplit('/', 1)[-1].lstrip('#') or 'self'}")
        if not self._has_room(name, target):
            return None
        self._named[path] = name
        # Its name is taken before it is read: a schema may refer to itself.
        self._components[name] = {}
        self._loose.add(name)  # until it is known what it loses
        before = self.lost
        self._components[name] = self.of(target, depth + 1)
        if self.lost == before:
            self._loose.discard(name)
        return name

    def _has_room(self, name: str, target: Any = None) -> bool:
        """Whether one more reference may be written, and what it leads to where that is new."""
        self._room -= _REFERENCE_BYTES + len(name)
        if target is not None and self._room >= 0:  # each of many references would measure it again
            self._room -= len(jsonrpc.encode(target))
        return self._room >= 0

    def _free(self, wanted: str) -> str:
        name = plain = component_name(wanted)
        while name in self._components:
            self._wanted[plain] = self._wanted.get(plain, 1) + 1
            name = f"{plain}_{self._wanted[plain]}"
        return name


def _of_type(name: str, null: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"type": name}
    if name == "array":
        found["items"] = {}
    return found | ({"nullable": True} if null else {})


def _add(found: dict[str, Any], name: str, branches: list[Any]) -> None:
    """Another list of branches, beside one that is there."""
    if name not in found:
        found[name] = branches
    else:
        found["allOf"] = [*found.get("allOf", []), {name: branches}]


_REFERENCE_BYTES = len('{"$ref":"#/components/schemas/"}')


def _path(pointer: str) -> tuple[str, ...] | None:
    """The names that a reference within the schema leads along (RFC 6901 §6); None for another one."""
    if pointer == "#":
        return ()
    if not pointer.startswith("#/"):
        return None
    steps = unquote(pointer[2:]).split("/")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def _at(root: Any, path: Iterable[str]) -> Any:
    for key in path:
        root = root.get(key) if isinstance(root, dict) else None
    return root


_EXPRESSION_CHARS = 1000
_ANY_CASE = Pattern(r"\(\?[a-zA-Z-]*i")


@cached_if_short(1024)
def _is_expression(pattern: str) -> bool:
    """Whether what reads OpenAPI documents takes it for a regular expression; much of it is written in Python.

    Only short ones are tried, and none for small and capital letters alike: to compile `(?i)[\\0-\\uffff]` takes milliseconds a class."""
    if len(pattern) > _EXPRESSION_CHARS or _ANY_CASE.within(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_names(value: Any) -> bool:
    return bool(
        isinstance(value, list)
        and value
        and all(isinstance(one, str) for one in value)
        and len(set(value)) == len(value)
    )


_FITS: tuple[tuple[tuple[str, ...], Callable[[Any], bool]], ...] = (
    (_TEXTS, lambda value: isinstance(value, str)),
    (_FLAGS, lambda value: isinstance(value, bool)),
    (_COUNTS, _is_count),
    (("required",), _are_names),
    (("enum",), lambda value: isinstance(value, list) and bool(value)),
    (("default", "example"), lambda value: True),
)
"""Keywords that mean the same in both dialects, and what they must hold to be one."""
