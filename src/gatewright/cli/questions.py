"""Answers MCP elicitation forms during a call by asking the person at the terminal.

Only forms (elicitation) are answered; a command has no model to sample and no folders to show. The
text comes from a tool server or from the gateway's own confirmation, so it is shown as data: what would act on
the terminal is spelled out, and each of its lines is marked. Nothing in front of it says which of the two asks.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from math import isfinite
from typing import Any, NamedTuple

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.output import is_terminal, note, one_line
from gatewright.mcp.wire import jsonrpc

__all__ = ["ROUNDS", "answer_all", "capabilities"]

ROUNDS = 20
"""So many times may one call ask; more is a server that asks in a circle."""

_CANCELLED = {"action": "cancel"}


def capabilities() -> dict[str, Any]:
    """What to declare of ourselves: forms, where a person sits in front of us."""
    return {"elicitation": {"form": {}}} if is_terminal(0) and is_terminal(2) else {}


def answer_all(requests: Any) -> dict[str, Any]:
    """Answers to the `inputRequests` of a result, by the same keys.

    Raises `CliError` for a question that is no form, or when this is no terminal.
    """
    asked = requests if isinstance(requests, Mapping) else {}
    return {str(key): _answer(one) for key, one in asked.items()}


def _answer(request: Any) -> dict[str, Any]:
    method = request.get("method") if isinstance(request, Mapping) else None
    params = request.get("params") if isinstance(request, Mapping) else None
    if (
        method != "elicitation/create"
        or not isinstance(params, Mapping)
        or params.get("mode", "form") != "form"
        or not capabilities()
    ):
        raise CliError(
            f"the tool asks for {method}, which a command cannot answer",
            code="missing_capability",
            exit_code=Exit.DENIED,
            hint="call it from a host that can answer, or at a terminal",
        )
    for line in str(params.get("message")).split("\n"):
        note(f"? {line}")
    schema = params.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    required = schema.get("required") if isinstance(schema, Mapping) else None
    needed = required if isinstance(required, list) else []
    try:
        content = {
            str(name): _field(str(name), one if isinstance(one, Mapping) else {}, name in needed)
            for name, one in (properties.items() if isinstance(properties, Mapping) else ())
        }
    except EOFError:
        note("")
        return _CANCELLED
    return {
        "action": "accept",
        "content": {name: value for name, value in content.items() if value is not None},
    }


def _field(name: str, schema: Mapping[str, Any], needed: bool) -> Any:
    """One value, asked for until it fits; None when nothing was given for what is not needed."""
    title = schema.get("title") or schema.get("description") or name
    several = schema.get("type") == "array"
    inner = schema.get("items") if several else schema
    choices = _choices(inner if isinstance(inner, Mapping) else {})
    prompt = f"  {title} {_offered(schema, choices, several)}: "
    while True:
        text = _line(prompt)
        if not text:
            default = schema.get("default", False if schema.get("type") == "boolean" else None)
            if default is not None or not needed:
                return default
            note("  the form needs an answer here; Ctrl-D cancels")
            continue
        try:
            value = _several(text, choices) if several else _read(text, schema, choices)
            _check(value, schema)
        except ValueError as problem:
            note(f"  {text!r} does not fit" + (f": {problem}" if str(problem) else ""))
        else:
            return value


class _Misfit(ValueError):  # noqa: N818 - what it is
    """What was typed is no value of its field."""


class _Choice(NamedTuple):
    value: Any
    typed: str
    """How it is typed; its title does as well, where no other choice is called so."""
    title: str


def _choices(schema: Mapping[str, Any]) -> list[_Choice]:
    """What one can choose from: an `enum`, with `enumNames` perhaps, or `const` and `title` in `oneOf` or `anyOf`."""
    values, names = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list):
        titles = names if isinstance(names, list) else []
        pairs = list(zip_longest(values, titles[: len(values)]))
    else:
        branches = schema.get("oneOf") or schema.get("anyOf")
        listed = branches if isinstance(branches, list) else []
        if not all(isinstance(one, Mapping) and "const" in one for one in listed):
            return []
        pairs = [(one["const"], one.get("title")) for one in listed]
    return [
        _Choice(value, _shown(value), title if isinstance(title, str) else "")
        for value, title in pairs
    ]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else jsonrpc.encode(value).decode()


def _offered(schema: Mapping[str, Any], choices: Sequence[_Choice], several: bool) -> str:
    kind, default = schema.get("type"), schema.get("default")
    if kind == "boolean" and not choices:
        return "[Y/n]" if default is True else "[y/N]"
    words = [
        f"{one.typed} = {one.title}" if one.title not in ("", one.typed) else one.typed
        for one in choices
    ]
    how = ['commas between, "," for none'] if several else []
    parts = (["|".join(words)] if words else []) + how
    offered = f"({'; '.join(parts)})" if parts else ""
    if "default" not in schema:
        return offered
    chosen = default if isinstance(default, list) else [default]
    return f"{offered} [{', '.join(map(_shown, chosen))}]"


def _names(choices: Sequence[_Choice]) -> dict[str, Any]:
    """What may be typed for each choice: what it is, and its title where that means no other."""
    titles = Counter(one.title for one in choices if one.title)
    names = {one.title: one.value for one in choices if titles[one.title] == 1}
    return names | {one.typed: one.value for one in choices}


def _several(text: str, choices: Sequence[_Choice]) -> list[Any]:
    """The choices that a line names, each once. A name may have commas in it: the longest one that is there counts."""
    if not choices:  # no form of MCP; other lists are refused by their schema
        return [one.strip() for one in text.split(",") if one.strip()]
    names = _names(choices)
    longest_first = sorted((name for name in names if name), key=len, reverse=True)
    found: list[Any] = []
    rest = "" if text == "," else text
    while rest:
        named = next((one for one in longest_first if _begins(rest, one)), None)
        if named is None:
            raise _Misfit
        if names[named] not in found:
            found.append(names[named])
        rest = rest[len(named) :].lstrip()[1:].lstrip()
    return found


def _begins(text: str, name: str) -> bool:
    return text.startswith(name) and text[len(name) :].lstrip()[:1] in ("", ",")


def _read(text: str, schema: Mapping[str, Any], choices: Sequence[_Choice]) -> Any:
    """The text as the type of its field. Raises `ValueError` where it is not one."""
    kind = schema.get("type")
    if choices:
        names = _names(choices)
        if text not in names:
            raise _Misfit
        return names[text]
    try:
        if kind == "boolean":
            return {"y": True, "yes": True, "n": False, "no": False}[text.lower()]
        if kind == "integer":
            return int(text)
        if kind == "number":
            return _number(text)
        text.encode()  # JSON carries no half of a character
    except (ValueError, KeyError):
        raise _Misfit from None
    return text


def _number(text: str) -> float:
    found = float(text)
    if not isfinite(found):
        raise _Misfit  # JSON has no such numbers
    return found


def _check(value: Any, schema: Mapping[str, Any]) -> None:
    """Raises `ValueError` for what its field does not take. Bounds that cannot be read are left to who asked."""
    # Only a form that is answered pays for the engine.
    from gatewright.schemas.graph import UnusableSchema  # noqa: PLC0415
    from gatewright.schemas.schema import TakesLongError, compile_schema  # noqa: PLC0415

    try:
        found = compile_schema(dict(schema)).objection(value)
    except (UnusableSchema, TakesLongError):
        return
    if found is not None:
        raise _Misfit(found.message)


def _line(prompt: str) -> str:
    """One line from the terminal, asked for on standard error. Raises `EOFError`."""
    sys.stderr.write(one_line(prompt))
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()
