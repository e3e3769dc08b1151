"""Answers MCP elicitation forms during a call by asking the person at the terminal.

Only forms (elicitation) are answered; a command has no model to sample and no folders to show. The
text comes from a tool server or from the gateway's own confirmation, so it is shown as data: what would act on
the terminal is spelled out, and each of its lines is marked. Nothing in front of it says which of the two asks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from gatewright.cli.output import CliError, Exit, is_terminal, note, one_line

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
    try:
        content = {
            str(name): _field(str(name), one if isinstance(one, Mapping) else {})
            for name, one in (properties.items() if isinstance(properties, Mapping) else ())
        }
    except EOFError:
        note("")
        return _CANCELLED
    return {
        "action": "accept",
        "content": {name: value for name, value in content.items() if value is not None},
    }


def _field(name: str, schema: Mapping[str, Any]) -> Any:
    """One value, asked for until it fits; None when nothing was given."""
    title = schema.get("title") or schema.get("description") or name
    while True:
        text = _line(f"  {title} {_choices(schema)}: ")
        if not text:
            return schema.get("default", False if schema.get("type") == "boolean" else None)
        value = _read(text, schema)
        if value is not None:
            return value
        note(f"  {text!r} does not fit")


def _choices(schema: Mapping[str, Any]) -> str:
    kind, options = schema.get("type"), schema.get("enum")
    if kind == "boolean":
        return "[Y/n]" if schema.get("default") is True else "[y/N]"
    default = f" [{schema['default']}]" if "default" in schema else ""
    return f"({'|'.join(map(str, options))}){default}" if isinstance(options, list) else default


def _read(text: str, schema: Mapping[str, Any]) -> Any:
    """The text as the type of its field; None where it is not one."""
    kind, options = schema.get("type"), schema.get("enum")
    if isinstance(options, list):
        return text if text in options else None
    if kind == "boolean":
        return {"y": True, "yes": True, "n": False, "no": False}.get(text.lower())
    try:
        if kind == "integer":
            return int(text)
        return float(text) if kind == "number" else text
    except ValueError:
        return None


def _line(prompt: str) -> str:
    """One line from the terminal, asked for on standard error. Raises `EOFError`."""
    sys.stderr.write(one_line(prompt))
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()
