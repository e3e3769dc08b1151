"""Graph of a JSON Schema's subschemas and references, built within bounds, without compiling or fetching.

Theory: a schema comes from a tool server and is hostile until measured. One walk over everything
counts levels, subschemas and patterns and learns the names (`$id`, `$anchor`); after it, the edges of
a node are known by its keywords. Edges are of three kinds: those that judge the same place of the
value (`allOf`, `$ref`, `if` …), those that judge every place one level down (`items`,
`additionalProperties` …), and groups of which one applies to each place below (`properties`).
Keywords of all drafts are read together: reading one too many only makes the bound too high.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote, urljoin

__all__ = ["Graph", "Schema", "UnusableSchema"]

URI_CHARS = 2048
PATTERNS = 200
PATTERN_CHARS = 16_384

Schema = dict[str, Any]

_MAPS = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
_SAME_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_BELOW = (
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "additionalItems",
    "unevaluatedItems",
    "contains",
)
# Built into the validating library; what they refer to costs nothing here.
_META_SCHEMAS = ("http://json-schema.org/", "https://json-schema.org/")


class UnusableSchema(Exception):  # noqa: N818 - a verdict about a schema
    """The schema cannot be used to check anything. The text goes after the words "the schema"."""


class Graph:
    """The nodes of a schema and their edges.

    `depth` bounds levels of schemas inside schemas, each two levels of JSON (a keyword and its value);
    `subschemas` bounds their number. `patterns` is how many regular expressions there are. Raises
    `UnusableSchema` when out of bounds.
    """

    def __init__(self, root: Schema, depth: int = 32, subschemas: int = 1000) -> None:
        self.root = root
        self.patterns = 0
        self._bounds = depth, subschemas
        self._base: dict[int, str] = {}
        self._named: dict[str, Schema] = {"": root}
        self._dynamic: dict[str, list[Schema]] = {}
        self._led: dict[tuple[str, str], Any] = {}
        """Base and reference → what is meant; each is looked up once."""
        self._survey()

    def same_place(self, node: Schema) -> Iterator[Schema]:
        """Schemas that judge the same place of the value."""
        for keyword in _SAME_PLACE:
            yield from _schemas(node.get(keyword))
        yield from _members(node.get("dependentSchemas"))
        yield from _members(node.get("dependencies"))
        yield from self._references(node)

    def below(self, node: Schema) -> Iterator[Schema]:
        """Schemas that may all judge one place a level down."""
        for keyword in _BELOW:
            yield from _schemas(node.get(keyword))
        yield from _members(node.get("patternProperties"))
        if isinstance(items := node.get("items"), dict):
            yield items

    def one_of_below(self, node: Schema) -> tuple[Iterator[Schema], Iterator[Schema]]:
        """Two groups, each with at most one member for any place a level down."""
        listed = node.get("prefixItems", node.get("items"))
        return (
            _members(node.get("properties")),
            _schemas(listed if isinstance(listed, list) else None),
        )

    def _survey(self) -> None:
        """Visit everything once, whatever it means, and refuse what is out of bounds."""
        most_depth, most_schemas = self._bounds
        schemas = 0
        patterns: list[str] = []
        stack: list[tuple[Any, int, str, bool]] = [(self.root, 1, "", False)]
        while stack:
            node, depth, base, is_map = stack.pop()
            if depth > 2 * most_depth:
                raise UnusableSchema(f"is nested deeper than {most_depth} levels")
            if isinstance(node, list):
                stack.extend((one, depth + 1, base, False) for one in node if _container(one))
                continue
            if not is_map:
                schemas += 1
                base = self._name(node, base)
                patterns.extend(_patterns(node))
            # Members that are no schemas by themselves (`true`, numbers) are bounded as well.
            if schemas > most_schemas or len(node) > 10 * most_schemas:
                raise UnusableSchema(f"has more than {most_schemas:,} subschemas")
            # A name in a map is no keyword: a property may be called `properties`.
            stack.extend(
                (value, depth + 1, base, key in _MAPS and not is_map)
                for key, value in node.items()
                if _container(value)
            )
        self.patterns = len(patterns)
        if self.patterns > PATTERNS or sum(map(len, patterns)) > PATTERN_CHARS:
            raise UnusableSchema(
                f"has more than {PATTERNS} patterns or {PATTERN_CHARS:,} characters of them"
            )

    def _name(self, node: Schema, base: str) -> str:
        """Learn the names of a node; return the base of the references inside it."""
        own = node.get("$id", node.get("id"))  # `id` until draft 4
        if isinstance(own, str):
            base = _join(base, own).removesuffix("#")
            self._named.setdefault(base, node)
        self._base[id(node)] = base
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := node.get(keyword), str):
                self._named.setdefault(f"{base.partition('#')[0]}#{name}", node)
                self._dynamic.setdefault(name, []).append(node)
        return base.partition("#")[0]

    def _references(self, node: Schema) -> Iterator[Schema]:
        base = self._base.get(id(node), "")
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            found = node.get(keyword)
            if isinstance(found, str) and not found.startswith(_META_SCHEMAS):
                led = [*_schemas(self._leads(base, found))]
                # Any anchor of that name, depending on the way that led there (JSON Schema 2020-12, 8.2.3.2): all count, once.
                if keyword == "$dynamicRef":
                    led += self._dynamic.get(found.partition("#")[2], ())
                yield from {id(one): one for one in led}.values()
        if "$recursiveRef" in node:  # draft 2019-09
            yield self.root

    def _leads(self, base: str, reference: str) -> Any:
        key = base, reference
        if key not in self._led:
            self._led[key] = self._resolve(_join(base, reference))
        return self._led[key]

    def _resolve(self, reference: str) -> Any:
        resource, _, fragment = reference.partition("#")
        if not fragment or not fragment.startswith("/"):
            found = self._named.get(reference.removesuffix("#"))
        else:
            found = _follow(self._named.get(resource), fragment)
        if found is None:
            raise UnusableSchema(
                f"refers to {reference[:200]!r}, which it does not define; nothing is fetched"
            )
        return found


def _join(base: str, reference: str) -> str:
    if len(reference) > URI_CHARS:  # `urljoin` remembers what it is given
        raise UnusableSchema(f"has a URI of more than {URI_CHARS} characters")
    if reference.startswith("#"):
        return base.partition("#")[0] + reference
    try:
        return urljoin(base, reference)
    except ValueError:
        raise UnusableSchema(f"has {reference[:200]!r} where a URI should be") from None


def _container(value: Any) -> bool:
    return isinstance(value, dict | list)


def _patterns(node: Schema) -> Iterator[str]:
    if isinstance(found := node.get("pattern"), str):
        yield found
    if isinstance(found := node.get("patternProperties"), dict):
        yield from found


def _schemas(value: Any) -> Iterator[Schema]:
    for one in value if isinstance(value, list) else (value,):
        if isinstance(one, dict):
            yield one


def _members(value: Any) -> Iterator[Schema]:
    return _only_schemas(value.values()) if isinstance(value, dict) else iter(())


def _only_schemas(values: Iterable[Any]) -> Iterator[Schema]:
    return (one for one in values if isinstance(one, dict))


def _follow(start: Any, fragment: str) -> Any:
    """The value at a JSON pointer, or None."""
    for step in unquote(fragment).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(start, dict):
            start = start.get(name)
        elif isinstance(start, list) and name.isdecimal() and int(name) < len(start):
            start = start[int(name)]
        else:
            return None
    return start
