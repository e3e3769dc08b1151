"""Does somebody agree to this very call? Asked last, because a person's attention is the dearest thing here.

Theory: a tool that asks for confirmation is confirmed call by call; a dangerous one as well, unless a
grant names this tool for this caller (MGP §4.4: confirmation or permission). A grant of the whole
server does not: whoever gave it did not have this tool in mind. The question goes to the caller's own
client and shows what will be called, with text that comes from elsewhere made visible and short.
Whoever cannot be asked, does not answer or answers anything but yes is refused.

While somebody thought, a grant may have been revoked: access is asked once more afterwards. The time
they took is not the tool's, so a deadline moves by as much.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from msgspec.structs import replace

from gatewright.call import Back, Call, CannotAsk, Gate, Question, Refusal, Tool
from gatewright.wire.jsonrpc import decode, encode

__all__ = ["Confirm"]

_SHOWN = 600

_SCHEMA = {
    "type": "object",
    "properties": {
        "confirm": {
            "type": "boolean",
            "title": "Run it",
            "description": "Yes runs exactly this call once.",
            "default": False,
        }
    },
    "required": ["confirm"],
}


class Confirm:
    """Gate `confirm`. Writes who agreed into the fact `confirmed_by`."""

    name = "confirm"

    def __init__(
        self, access: Gate, clock: Callable[[], float], *, patience_s: float = 120.0
    ) -> None:
        """`access` is asked again after the wait; `clock` gives monotonic seconds."""
        self._access = access
        self._clock = clock
        self._patience_s = patience_s

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = call.tool
        if tool is None:
            return call
        security = tool.security
        if not security.confirmation_required and (
            security.risk_level != "dangerous" or call.facts.get("access") == "tool_grant"
        ):
            return call
        return await self._confirm(call, tool, back)

    async def _confirm(self, call: Call, tool: Tool, back: Back) -> Call | Refusal:
        began = self._clock()
        try:
            async with asyncio.timeout(self._patience_s):
                answer = await back.ask(_question(call, tool))
        except CannotAsk as problem:
            return _refuse(tool, f"the caller cannot be asked ({problem.message[:200]})")
        except TimeoutError:
            return _refuse(tool, f"nobody answered within {self._patience_s:g} s")
        if not _agreed(answer):
            return Refusal(
                "permission_denied",
                f"{tool.exposed} was not confirmed by the caller, so it was not run",
                {"missing": "confirmation"},
            )
        call.facts["confirmed_by"] = call.caller.id
        if call.deadline is not None:
            call = replace(call, deadline=call.deadline + self._clock() - began)
        return await self._access(call, back)


def _agreed(answer: Any) -> bool:
    if not isinstance(answer, dict) or answer.get("action") != "accept":
        return False
    content = answer.get("content")
    return isinstance(content, dict) and content.get("confirm") is True


def _refuse(tool: Tool, why: str) -> Refusal:
    exit_ = (
        "call it from a client that answers elicitation"
        if tool.security.confirmation_required
        else "call it from a client that answers elicitation, or let the operator grant this tool "
        f"(server {tool.target.server!r}, tool {tool.target.name!r}) to the caller in mgp.toml"
    )
    return Refusal(
        "confirmation_required",
        f"{tool.exposed} needs confirmation and {why}: {exit_}",
        {"missing": "confirmation", "risk_level": tool.security.risk_level},
    )


def _question(call: Call, tool: Tool) -> Question:
    arguments = encode(call.arguments)
    digest = sha256(arguments).hexdigest()[:16]
    target = tool.target
    lines = (
        f"{call.caller.id} asks to run the tool {target.name} of the server {target.server}.",
        f"Risk: {tool.security.risk_level}{_reversible(tool)}.",
        f"Arguments (SHA-256 {digest}): {arguments.decode()}",
    )
    return Question(
        "elicitation/create",
        {
            "mode": "form",
            "message": "\n".join(_visible(line) for line in lines),
            "requestedSchema": _SCHEMA,
        },
    )


def _reversible(tool: Tool) -> str:
    """What the server says about undoing it (MGP §4.3)."""
    try:
        declared = decode(tool.definition.get("security", b"null"))
    except ValueError:
        return ""
    said = declared.get("reversible") if isinstance(declared, dict) else None
    if said is True:
        return ", can be undone"
    return ", cannot be undone" if said is False else ""


def _visible(line: str) -> str:
    """One line in which nothing is hidden: control, invisible and direction characters are spelled."""
    shown = "".join(
        char if char.isprintable() else f"\\u{ord(char):04x}" for char in line[: _SHOWN + 1]
    )
    return shown if len(line) <= _SHOWN else f"{shown[:_SHOWN]}… ({len(line)} characters)"
