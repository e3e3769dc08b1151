"""One call of a tool that a person tries: its arguments as JSON text, the call through the whole kernel, and its outcome as text for people."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.call import Answer, Call, Outcome, Refusal
from gatewright.console.kernel_calls import KernelCalls
from gatewright.console.operations import ApiError
from gatewright.console.people import Person
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of
from gatewright.mcp.wire.json_bounds import Limits, flaw_of

__all__ = ["Block", "Trial", "Trying", "trial_of", "tried"]


class Trying(msgspec.Struct, frozen=True, kw_only=True):
    """A tool by its server and its own name there, and its arguments, a JSON object."""

    server: Annotated[str, Meta(max_length=200)]
    tool: Annotated[str, Meta(max_length=512)]
    arguments: Annotated[str, Meta(max_length=200_000)] = "{}"


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a result."""

    kind: str
    """`text`, or what else the tool calls it: `image`, `resource_link`."""
    text: str


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it. The record has it as a call made by hand (`manual`), at the endpoint `console`."""

    ended: Literal["answered", "tool error", "refused", "failed"]
    ms: float
    trace_id: str
    blocks: list[Block]
    structured: str
    """The structured content, JSON text; empty where there is none."""
    code: str
    message: str
    gate: str
    """Which gate refused it."""


async def tried(
    calls: KernelCalls, person: Person, name: str, arguments: str, limits: Limits
) -> Trial:
    """Make the call, by the name that agents have for the tool. Raises `ApiError`."""
    params = {"name": name, "arguments": _read(arguments, limits)}
    began = time.perf_counter()
    call, outcome = await calls.handle(person, "tools/call", params)
    return trial_of(call, outcome, (time.perf_counter() - began) * 1000)


def _read(text: str, limits: Limits) -> dict[str, Any]:
    raw = (text.strip() or "{}").encode("utf-8", "surrogatepass")
    flaw = flaw_of(raw, limits)
    if flaw:
        raise ApiError(422, "limit_exceeded", flaw)
    try:
        found = jsonrpc.decode(raw)
    except ValueError as problem:
        raise ApiError(422, "no_json", f"the arguments are no JSON: {problem}") from None
    if not isinstance(found, dict):
        raise ApiError(
            422, "no_object", "the arguments are a JSON object", 'such as {"text": "hello"}'
        )
    return found


def trial_of(call: Call, outcome: Outcome, ms: float) -> Trial:
    """How a call ended, after so many milliseconds."""
    said: dict[str, Any] = {"ms": round(ms, 1), "trace_id": call.trace_id}
    if not isinstance(outcome, Answer):
        told = outcome.message or reason_of(outcome.reason).mgp_name
        return Trial(
            ended="refused" if isinstance(outcome, Refusal) else "failed",
            blocks=[],
            structured="",
            code=outcome.reason,
            message=told,
            gate=outcome.gate if isinstance(outcome, Refusal) else "",
            **said,
        )
    result = jsonrpc.decode(outcome.raw)
    structured, content = result.get("structuredContent"), result.get("content") or ()
    return Trial(
        ended="tool error" if outcome.tool_error else "answered",
        blocks=[_block(one) for one in content if isinstance(one, dict)],
        structured="" if structured is None else _json(structured),
        code="",
        message="",
        gate="",
        **said,
    )


def _block(one: dict[str, Any]) -> Block:
    kind, text = str(one.get("type", "")), one.get("text")
    if isinstance(text, str):
        return Block(kind=kind, text=text)
    # Pictures and sounds are not shown: nothing that a tool gives becomes part of the page.
    shown = {
        name: f"{len(value)} characters" if name in ("data", "blob") else value
        for name, value in one.items()
        if name != "type"
    }
    return Block(kind=kind, text=_json(shown))


def _json(value: Any) -> str:
    return msgspec.json.format(jsonrpc.encode(value), indent=2).decode("utf-8", "replace")
