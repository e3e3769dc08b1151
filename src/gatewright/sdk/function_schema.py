"""Derives a tool's schemas and argument decoding from its function's type hints and docstring; checks explicit schemas against parameters.

A parameter's description is the text in its `Annotated`, else that of the docstring (Google, NumPy and Sphinx
style). A parameter without a type is refused: whoever calls a tool has only its schema.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gatewright.sdk.context import context_parameter, is_context, plain_function
from gatewright.sdk.errors import RegistrationError, SchemaError
from gatewright.sdk.shapes import Decode, Shape, Shapes
from gatewright.sdk.tool import is_generator

__all__ = ["Read", "Words", "fits", "read_signature", "words_of"]

_SECTIONS = re.compile(
    r"^\s*(Args|Arguments|Parameters|Params)\s*:?\s*$|^\s*[:@]param\b", re.MULTILINE
)
_UNDERLINED = re.compile(r"^\s*-{3,}\s*$", re.MULTILINE)
_FIELD = re.compile(r"^\s*[:@]param\b", re.MULTILINE)
_END = re.compile(
    r"^\s*(Returns?|Raises|Yields|Examples?|Notes?|Attributes)\s*:?\s*$", re.MULTILINE
)


_PLAIN = (None, type(None), Any, object, str, bytes)
"""Return types that promise nothing about structure."""


class Words(NamedTuple):
    """A docstring's parts."""

    summary: str
    parameters: Mapping[str, str]


class Read(NamedTuple):
    """What a signature says."""

    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    wraps_result: bool
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None


def words_of(function: Callable[..., Any]) -> Words:
    """The description and what is said of each parameter."""
    text = inspect.getdoc(function) or ""
    found = _SECTIONS.search(text)
    # The summary ends at the first section, whichever it is.
    ends = [one.start() for one in (found, _END.search(text)) if one is not None]
    summary = text[: min(ends)].strip() if ends else text.strip()
    if found is None:
        return Words(summary, {})
    import docstring_parser

    try:
        parsed = docstring_parser.parse(text, _style(text))
    except docstring_parser.ParseError:
        return Words(summary, {})
    named = {
        one.arg_name.lstrip("*"): " ".join((one.description or "").split()) for one in parsed.params
    }
    return Words(summary, {name: said for name, said in named.items() if said})


def _style(text: str) -> Any:
    """Which of the three styles it is: trying all of them takes five times as long."""
    from docstring_parser import DocstringStyle

    if _UNDERLINED.search(text):
        return DocstringStyle.NUMPYDOC
    return DocstringStyle.REST if _FIELD.search(text) else DocstringStyle.GOOGLE


def read_signature(name: str, function: Callable[..., Any], words: Words) -> Read:
    """Schemas and binding of a function. Raises `RegistrationError` that names the parameter."""
    hints = _hints(name, function)
    shapes = Shapes()
    properties: dict[str, Any] = {}
    required: list[str] = []
    decoders: dict[str, Decode] = {}
    for parameter in _parameters(name, function, hints):
        shape = _shape(name, parameter, hints[parameter.name], shapes)
        schema = dict(shape.schema)
        said = words.parameters.get(parameter.name)
        if said and "description" not in schema:
            schema["description"] = said
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        else:
            _add_default(name, parameter, schema)
        properties[parameter.name] = schema
        if shape.decode is not None:
            decoders[parameter.name] = shape.decode
    schema = _document(properties, required, shapes.defs)
    # What a generator yields becomes one text.
    output, wraps = _output(str if is_generator(function) else hints.get("return", Any))
    return Read(schema, output, wraps, _prepare(name, decoders) if decoders else None)


def fits(name: str, function: Callable[..., Any], schema: Mapping[str, Any]) -> None:
    """Whether a function takes what an explicit schema promises. Raises `RegistrationError`."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a builtin that does not say
    takes = signature.parameters
    properties = schema.get("properties", {})
    context = context_parameter(function)
    open_ = any(one.kind is one.VAR_KEYWORD for one in takes.values())
    by_name = {
        n for n, one in takes.items() if one.kind in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY}
    }
    surplus = [one for one in properties if one not in by_name and not open_]
    if surplus:
        raise RegistrationError(
            f"tool {name}: the schema has {surplus[0]!r}, which {_called(function)} does not take",
            advice="Add the parameter, or **arguments",
        )
    needed = [
        n
        for n, one in takes.items()
        if one.default is one.empty and n in by_name and n not in properties and n != context
    ]
    if needed:
        raise RegistrationError(
            f"tool {name}: {_called(function)} needs {needed[0]!r}, which the schema does not have",
            advice="Add it to properties and required, or give it a default",
        )


def _hints(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(plain_function(function), include_extras=True)
    except (NameError, TypeError) as problem:
        raise RegistrationError(
            f"tool {name}: the type hints of {_called(function)} cannot be read: {problem}",
            advice="Import every name that a hint uses at the top of the module, not under TYPE_CHECKING",
        ) from problem


def _parameters(
    name: str, function: Callable[..., Any], hints: Mapping[str, Any]
) -> list[inspect.Parameter]:
    found = []
    for one in inspect.signature(function).parameters.values():
        if one.kind in {one.POSITIONAL_ONLY, one.VAR_POSITIONAL, one.VAR_KEYWORD}:
            raise RegistrationError(
                f"tool {name}: parameter {str(one).partition(':')[0]} of {_called(function)} has no name that a caller "
                "could use",
                advice="Write each parameter out, or give the tool an explicit schema",
            )
        if one.name not in hints:
            raise RegistrationError(
                f"tool {name}: parameter {one.name!r} of {_called(function)} has no type",
                advice=f"Write for example {one.name}: str, or give the tool an explicit schema",
            )
        if not is_context(hints[one.name]):
            found.append(one)
    return found


def _shape(name: str, parameter: inspect.Parameter, hint: Any, shapes: Shapes) -> Shape:
    if parameter.default is None:
        hint = typing.Optional[hint]  # noqa: UP045 - `x: str = None` means it
    try:
        return shapes.of(hint)
    except TypeError as problem:
        raise RegistrationError(
            f"tool {name}: parameter {parameter.name!r}: {problem}",
            advice="Change its type, or give the tool an explicit schema",
        ) from problem


def _add_default(name: str, parameter: inspect.Parameter, schema: dict[str, Any]) -> None:
    from gatewright.sdk.encoding import to_json

    try:
        schema["default"] = to_json(parameter.default)
    except (TypeError, ValueError) as problem:
        raise RegistrationError(
            f"tool {name}: the default of {parameter.name!r} has no JSON form: {problem}",
            advice="Use None, and put the object in inside the function",
        ) from problem


def _document(
    properties: dict[str, Any], required: list[str], defs: Mapping[str, Any]
) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    if defs:
        schema["$defs"] = dict(defs)
    return schema


def _output(hint: Any) -> tuple[dict[str, Any] | None, bool]:
    """The output schema of a return type, and whether the value stands in a member `result`."""
    # A schema would promise structured content, which these have not.
    if any(hint is one for one in _PLAIN) or _is_content(hint):
        return None, False
    shapes = Shapes(output=True)
    try:
        schema = shapes.of(hint).schema
    except TypeError:
        return None, False  # the output is checked when it is made into JSON
    if not schema:
        return None, False
    if _resolved(schema, shapes.defs).get("type") == "object":
        found, wraps = {**_inlined(schema, shapes.defs)}, False
    else:
        found = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
        wraps = True
    if shapes.defs:
        found["$defs"] = dict(shapes.defs)
    return found, wraps


def _is_content(hint: Any) -> bool:
    """Whether what is returned may be content blocks or a whole `Result`, alone or beside other values: no schema
    holds for those. Whoever returns them has imported them; nobody else has to."""
    if typing.get_origin(hint) in {typing.Union, types.UnionType, typing.Annotated}:
        return any(map(_is_content, typing.get_args(hint)))
    whole = getattr(sys.modules.get("gatewright.sdk.result"), "Result", None)
    content = sys.modules.get("gatewright.sdk.content")
    if whole is not None and hint is whole:
        return True
    return content is not None and bool(content.is_content(hint))


def _resolved(
    schema: Mapping[str, Any], defs: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return defs.get(name, schema)


def _inlined(schema: Mapping[str, Any], defs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The root of a schema has to say `type`, so a reference there is written out."""
    return dict(_resolved(schema, defs))


def _prepare(
    name: str, decoders: Mapping[str, Decode]
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def prepare(arguments: dict[str, Any]) -> dict[str, Any]:
        found = dict(arguments)
        for parameter, decode in decoders.items():
            if parameter not in found:
                continue
            try:
                found[parameter] = decode(found[parameter])
            except Exception as problem:  # an author's class may raise anything
                said = str(problem) or type(problem).__name__
                raise SchemaError(
                    f"arguments/{parameter} of {name}: {said}",
                    details={"path": f"/{parameter}", "rule": "type"},
                ) from problem
        return found

    return prepare


def _called(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__qualname__', type(function).__name__)}()"
