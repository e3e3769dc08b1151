"""Parses an OpenAPI 3.0 or 3.1 document: operations as MCP tool definitions, reasons for those left out, security schemes, server URL.

The document is a stranger's text, whoever put it into the configuration: it is bounded, no reference leads
out of it, and an operation that cannot be called as it stands is left out with a reason, not approximated.
Its word on where calls go is the last one that counts (`server_url`), because whoever can change a document
must not be able to send an operator's credentials elsewhere.

Source: OpenAPI 3.0.4 and 3.1.1; the names of their fields are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, cast
from urllib.parse import unquote

import msgspec

from gatewright.patterns import Pattern
from gatewright.servers.openapi.from_openapi import Definitions, Foreign, Room, resolved
from gatewright.servers.openapi.operation_names import OperationNames
from gatewright.servers.openapi.text import BadDocument, value_of

__all__ = [
    "Api",
    "Body",
    "Operation",
    "Parameter",
    "Place",
    "definition_of",
    "read_api",
    "server_url",
]

Place = Literal["path", "query", "header", "cookie"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_READS = ("get", "head", "options")
_URL_CHARS = 8192
_WHY_CHARS = 500
"""Of the reason why an operation is left out: names and types of the document are in it, of any length."""
_PLACED = Pattern(r"\{([^{}]*)\}")
_SLASHES = Pattern(r"[/\\]")
_STYLES: Mapping[str, tuple[str, ...]] = {
    "path": ("simple",),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
_NOT_PARAMETERS = ("accept", "content-type", "authorization")
"""Header parameters of these names are ignored (OpenAPI, "Parameter Object")."""
_OURS = tuple("host connection content-length transfer-encoding upgrade te trailer cookie".split())
"""Headers that say where a message ends or whom it is for. No argument may."""


class Parameter(msgspec.Struct, frozen=True):
    """One parameter. `argument` is its name among the tool's arguments."""

    argument: str
    name: str
    place: Place
    required: bool
    style: str
    explode: bool
    as_json: bool
    """It is sent as JSON text (`content` instead of `schema`)."""


class Body(msgspec.Struct, frozen=True):
    """The request's body, the argument that holds it, and how it is written. `styles` are those of a form's fields
    that are not written as usual: style, and whether it is exploded."""

    argument: str
    media: str
    required: bool
    styles: Mapping[str, tuple[str, bool]] = {}


class Operation(msgspec.Struct, frozen=True):
    """One operation, and the tool that it is. `security` are alternatives, each the schemes that go
    together; None where the document says nothing."""

    name: str
    method: str
    path: str
    parameters: tuple[Parameter, ...]
    body: Body | None
    schema: Mapping[str, Any]
    title: str
    description: str
    security: tuple[tuple[str, ...], ...] | None


class Api(msgspec.Struct, frozen=True):
    """A document. `left_out` says of each operation that cannot be a tool why not; `schemes` are the
    security schemes by name."""

    title: str
    version: str
    description: str
    operations: tuple[Operation, ...]
    left_out: tuple[str, ...]
    servers: tuple[str, ...]
    schemes: Mapping[str, Mapping[str, Any]]


def read_api(text: bytes, fixed: Collection[str] = ()) -> Api:
    """The document that a text, JSON or YAML, holds. `fixed` are headers in small letters that the operator sends
    with every request, which are no arguments. Raises `BadDocument`. May take a while."""
    document = value_of(text)
    if not isinstance(document, dict) or not isinstance(document.get("openapi"), str):
        raise BadDocument("this is no OpenAPI document: it has no member `openapi`")
    version = document["openapi"]
    if not version.startswith(("3.0.", "3.1.")):
        raise BadDocument(f"OpenAPI {version[:20]} is not read here; 3.0 and 3.1 are")
    paths = document.get("paths")
    if not isinstance(paths, dict):
        raise BadDocument("the document has no paths")
    info = document.get("info")
    info = info if isinstance(info, dict) else {}
    found, left_out = _operations(document, paths, fixed, old=version.startswith("3.0"))
    components = document.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, dict) else None
    return Api(
        title=_text(info.get("title")) or "an API",
        version=_text(info.get("version")),
        description=_text(info.get("description")),
        operations=tuple(found),
        left_out=tuple(left_out),
        servers=tuple(_servers(document.get("servers"))),
        schemes={
            name: one
            for name, one in (schemes.items() if isinstance(schemes, dict) else ())
            if isinstance(one, dict)
        },
    )


def definition_of(operation: Operation) -> dict[str, Any]:
    """The tool as MCP lists it. What its method promises (RFC 9110 §9.2) is said twice: as hints for
    hosts, and as a risk for policy."""
    method = operation.method
    reads, deletes = method in _READS, method == "delete"
    overwrites = method in {"put", "patch", "delete"}
    risk = "safe" if reads else "dangerous" if deletes else "moderate"
    made: dict[str, Any] = {
        "name": operation.name,
        "description": operation.description,
        "inputSchema": operation.schema,
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": overwrites,
            "idempotentHint": reads or method in ("put", "delete"),
            "openWorldHint": True,
        },
        "security": {"risk_level": risk},
    }
    return made | ({"title": operation.title} if operation.title else {})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


# -- where calls go


def _servers(servers: Any) -> Iterator[str]:
    for one in servers if isinstance(servers, list) else ():
        url = one.get("url") if isinstance(one, dict) else None
        if isinstance(url, str):
            variables = one.get("variables")
            yield _filled(url, variables if isinstance(variables, dict) else {})


def _filled(url: str, variables: Mapping[str, Any]) -> str:
    """A server's URL with the defaults of its variables in it, none of which is read for variables again; of what is longer
    than any URL the beginning, still too long, so that it is taken for none (an empty one would be the document's own)."""
    parts, at, chars = list[str](), 0, 0
    for found in _PLACED.finditer(url):
        held = variables.get(found[1])
        default = held.get("default") if isinstance(held, dict) else None
        parts += [url[at : found.start()], _text(default) if found[1] in variables else found[0]]
        at, chars = found.end(), chars + len(parts[-1]) + len(parts[-2])
        if chars > _URL_CHARS:
            break
    return "".join((*parts, url[at:]))[: _URL_CHARS + 1]


def server_url(api: Api) -> str:
    """Where the document says that calls go; relative to its own URL, or empty. Longer than 8,192 characters: nowhere."""
    return api.servers[0] if api.servers else "/"


# -- operations


def _operations(
    document: dict[str, Any], paths: dict[str, Any], fixed: Collection[str], *, old: bool
) -> tuple[list[Operation], list[str]]:
    found: list[Operation] = []
    left_out: list[str] = []
    names = OperationNames()
    room = Room()
    for path, item in paths.items():
        # Members that begin with `x-` are extensions, and anything else is no path (OpenAPI, "Paths Object").
        if not path.startswith("/"):
            continue
        try:
            item = resolved(document, item)  # noqa: PLW2901 - what is meant by it
        except Foreign as problem:
            left_out.append(f"{path}: {problem}"[:_WHY_CHARS])
            continue
        for method in METHODS:
            if isinstance(item.get(method), dict):
                reader = _Reader(document, item, fixed, Definitions(document, old=old, room=room))
                try:
                    found.append(reader.operation(method, path, names))
                except (Foreign, BadDocument, RecursionError) as problem:
                    left_out.append(f"{method.upper()} {path}: {problem}"[:_WHY_CHARS])
    return found, left_out


class _Reader:
    """Reads one operation of a path item."""

    def __init__(
        self,
        document: dict[str, Any],
        item: Mapping[str, Any],
        fixed: Collection[str],
        definitions: Definitions,
    ) -> None:
        self._document = document
        self._item = item
        self._fixed = fixed
        self._definitions = definitions
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []

    def operation(self, method: str, path: str, names: OperationNames) -> Operation:
        # Decoded first: many servers decode before they resolve dots.
        if {".", ".."}.intersection(_SLASHES.split(unquote(path))):
            raise BadDocument("its path climbs out of where paths begin")
        said = self._item[method]
        parameters = tuple(self._parameters(said, path))
        body = self._body(said.get("requestBody"))
        schema: dict[str, Any] = {
            "type": "object",
            "properties": self._properties,
            "additionalProperties": False,
        }
        if self._required:
            schema["required"] = self._required
        if self._definitions.found:
            schema["$defs"] = self._definitions.found
        summary = _text(said.get("summary")).strip()
        description = _text(said.get("description")).strip()
        security = said.get("security", self._document.get("security"))
        return Operation(
            name=names.give(_text(said.get("operationId")).strip() or f"{method}{path}", method),
            method=method,
            path=path,
            parameters=parameters,
            body=body,
            schema=schema,
            title=summary if description else "",
            description=description or summary or f"{method.upper()} {path}",
            security=_alternatives(security),
        )

    def _parameters(self, said: Mapping[str, Any], path: str) -> Iterator[Parameter]:
        every: dict[tuple[str, str], dict[str, Any]] = {}
        for one in (*_listed(self._item.get("parameters")), *_listed(said.get("parameters"))):
            found = resolved(self._document, one)
            name, place = found.get("name"), found.get("in")
            if not isinstance(name, str) or place not in _STYLES:
                raise BadDocument("a parameter has no name, or no place that is known")
            # An operation's own parameter replaces its path's, by name and place (OpenAPI, "Operation Object").
            every[name, str(place)] = found
        placed = {name for name, place in every if place == "path"}
        missing = set(_PLACED.findall(path)) - placed
        if missing:
            raise BadDocument(f"the path names {', '.join(sorted(missing))}, which no parameter is")
        for (name, place), found in every.items():
            lower = name.lower()
            if place == "header" and lower in {*_NOT_PARAMETERS, *_OURS, *self._fixed}:
                continue
            yield self._parameter(name, cast("Place", place), found)

    def _parameter(self, name: str, place: Place, found: Mapping[str, Any]) -> Parameter:
        style = found.get("style") or _STYLES[place][0]
        if style not in _STYLES[place]:
            raise BadDocument(f"the parameter {name!r} is written in the style {style!r}")
        content = found.get("content")
        content = content if isinstance(content, dict) else {}
        if not all(map(_is_json, content)):
            raise BadDocument(f"the parameter {name!r} is no JSON")
        schema = found.get("schema")
        for media in content.values():
            schema = media.get("schema") if isinstance(media, dict) else None
        # A parameter of the path is always required (OpenAPI, "Parameter Object").
        required = place == "path" or found.get("required") is True
        argument = self._argument(name, place, schema, found.get("description"), required)
        explode = found.get("explode")
        return Parameter(
            argument=argument,
            name=name,
            place=place,
            required=required,
            style=style,
            explode=explode if isinstance(explode, bool) else style == "form",
            as_json=bool(content),
        )

    def _argument(
        self, name: str, suffix: str, schema: Any, description: Any, required: bool
    ) -> str:
        """Make room for one argument; its name. Two of one name are told apart by their places."""
        argument = name if name not in self._properties else f"{name}_{suffix}"
        if argument in self._properties:
            raise BadDocument(f"two parameters are called {argument!r}")
        made = self._definitions.of(schema)
        if isinstance(description, str) and isinstance(made, dict) and "$ref" not in made:
            made = {"description": description, **made}
        self._properties[argument] = made
        if required:
            self._required.append(argument)
        return argument

    def _body(self, said: Any) -> Body | None:
        if said is None:
            return None
        found = resolved(self._document, said)
        content = found.get("content")
        every = content if isinstance(content, dict) else {}
        media = next((one for one in every if _is_json(one)), None) or next(
            (one for one in every if _bare(one) in _WRITABLE), None
        )
        required = found.get("required") is True
        if media is None:
            if required:
                raise BadDocument(
                    f"its body is {', '.join(every) or 'of no kind'}, which no argument is"
                )
            return None
        held = every[media] if isinstance(every[media], dict) else {}
        schema = held.get("schema")
        styles = dict(_styles(held.get("encoding"))) if _bare(media) == _FORM else {}
        argument = self._argument("body", "content", schema, found.get("description"), required)
        return Body(argument, _bare(media), required, styles)


_FORM = "application/x-www-form-urlencoded"
_WRITABLE = (_FORM, "text/plain")


def _styles(encoding: Any) -> Iterator[tuple[str, tuple[str, bool]]]:
    """How the fields of a form are written, where that is said. Raises `BadDocument` for what is not known."""
    for name, said in encoding.items() if isinstance(encoding, dict) else ():
        if not isinstance(said, dict) or not {"style", "explode"} & said.keys():
            continue
        style, explode = said.get("style", "form"), said.get("explode")
        if style not in _STYLES["query"]:
            raise BadDocument(f"the field {name!r} of its body is written in the style {style!r}")
        yield name, (style, explode if isinstance(explode, bool) else style == "form")


def _bare(media: str) -> str:
    return media.partition(";")[0].strip().lower()


def _is_json(media: str) -> bool:
    bare = _bare(media)
    return bare == "application/json" or bare.endswith("+json")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _alternatives(security: Any) -> tuple[tuple[str, ...], ...] | None:
    if not isinstance(security, list):
        return None
    return tuple(tuple(one) for one in security if isinstance(one, dict))
