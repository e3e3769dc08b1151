"""Kernel tools `mgp_tools_discover`, `_describe`, `_call`, `_request`, `_session…`; `Through` turns `_call` into the call it names.

`Through` is why `mgp_tools_call` is no second path: before anything else happens to a call of it, it becomes the call that is meant, which
gates, record, approvals and validators then see under the real tool's name. Only what names no tool reaches the function of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gatewright.call import KERNEL, Back, Call, Failure, Target
from gatewright.discovery.methods import MOST_RESULTS, QUERY_CHARS, MetaTools
from gatewright.in_force import InForce
from gatewright.servers.local import Function, Tools
from gatewright.servers.names import kernel_names, meta_tool
from gatewright.standing import NOTHING, Standing

__all__ = ["CALL", "Through", "meta_tools"]

CALL = meta_tool("call")
_CALL_NAMES = frozenset({*kernel_names(CALL), f"{KERNEL}.{CALL}", f"{KERNEL}/{CALL}"})
_FACT = "called_through"

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_RISK = {"enum": ["safe", "moderate", "dangerous"]}


class Through:
    """Hook of the kernel: a call of `mgp_tools_call` goes on as the call of the tool that its arguments name, also where it is
    rehearsed: who explains or validates one hears of the tool that is meant."""

    def __init__(self, now: InForce) -> None:
        self._now = now

    def __call__(self, call: Call) -> Call:
        """As which call it goes on."""
        return self._meant(call) if call.kind == "tool" and call.name in _CALL_NAMES else call

    def stands(self, call: Call) -> Standing | None:
        """What is called by no such name goes on as it is."""
        return None if call.name in _CALL_NAMES or _FACT in call.facts else NOTHING

    def _meant(self, call: Call) -> Call:
        catalogue, said = self._now.servers.catalogue, call.arguments
        tool = catalogue.tool(call.profile, call.name) if catalogue.knows(call.profile) else None
        if tool is None or tool.target != Target(KERNEL, CALL):
            return call
        if not isinstance(said, dict) or not said.keys() <= {"name", "arguments"}:
            return call
        name, arguments = said.get("name"), said.get("arguments", {})
        # One that names itself stays what it is, and is refused by its function.
        if not isinstance(name, str) or not isinstance(arguments, dict) or name in _CALL_NAMES:
            return call
        params = {**call.params, "name": name, "arguments": arguments}
        facts = {**call.facts, _FACT: call.name}
        return replace(call, name=name, params=params, facts=facts)


def meta_tools(methods: MetaTools) -> Tools:
    """By their kernel names: definition and function."""
    return {meta_tool(name): (told, _answering(methods, name)) for name, told in _TOLD.items()}


def _answering(methods: MetaTools, name: str) -> Function:
    if name == "call":
        return _unnamed

    async def answer(arguments: dict[str, Any], call: Call, back: Back) -> Any:
        found = await methods.answer(name, call, arguments)
        if isinstance(found, Failure) and found.reason == "invalid_params":
            return Failure("invalid_args", found.message)
        return found

    return answer


def _unnamed(arguments: dict[str, Any], call: Call, back: Back) -> Failure:
    return Failure(
        "invalid_args",
        "arguments.name has to be the name of another tool, and arguments.arguments an object",
    )


def _definition(
    text: str, members: Mapping[str, Any], *required: str, reads: bool = True
) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": dict(members),
        "additionalProperties": False,
    }
    if required:
        schema["required"] = list(required)
    found = {"description": text, "inputSchema": schema, "security": {"risk_level": "safe"}}
    return {**found, "annotations": {"readOnlyHint": True}} if reads else found


_TOLD: Mapping[str, Mapping[str, Any]] = {
    "discover": _definition(
        "Find tools. Most are not listed: search before deciding that something cannot be done. Name one capability by verb and "
        "object (read file, list pull requests), not the whole task, names or values; any language. Results have their schemas and "
        "can be called at once.",
        {
            "query": _TEXT,
            "max_results": {"type": "integer", "maximum": MOST_RESULTS, "default": 5},
            "strategy": {"enum": ["auto", "keyword", "semantic", "category"], "default": "auto"},
            "filter": {
                "type": "object",
                "properties": {"categories": _TEXTS, "risk_level_max": _RISK, "status": _TEXT},
            },
        },
    ),
    "describe": _definition(
        "Show one tool by name: what it does, its arguments, what it needs.",
        {"name": _TEXT},
        "name",
    ),
    "call": _definition(
        "Call any tool found by search that is not among your tools. It is judged and answers as if called itself.",
        {
            "name": _TEXT,
            "arguments": {"type": "object", "description": "By that tool's schema."},
        },
        "name",
        reads=False,
    ),
    "request": _definition(
        "Ask for tools that you lack in the middle of a task: the best tool for each capability is put into this session, and what "
        'there is no tool for is said. Name capabilities in a word or two ("statistics", "pdf to text").',
        {
            "reason": {**_TEXT, "description": "Such as: capability_gap"},
            "context": {**_TEXT, "maxLength": QUERY_CHARS, "description": "What you are about."},
            "requirements": {
                "type": "object",
                "properties": {
                    "capabilities": _TEXTS,
                    "input_types": _TEXTS,
                    "output_types": _TEXTS,
                    "preferred_risk_level": _RISK,
                },
            },
            "task_trace_id": _TEXT,
        },
        reads=False,
    ),
    "session": _definition(
        "Which tools this session has in its context, and what they take of its budget.", {}
    ),
    "session.evict": _definition(
        "Take tools out of this session's cache.",
        {"tools": _TEXTS, "reason": _TEXT},
        "tools",
        reads=False,
    ),
}
