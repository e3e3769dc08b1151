"""Method `tools/validate` (ggen): checks arguments against a tool's schema and validators without running the tool.

The gates are asked as they would be for the call itself, so that nobody learns of a tool that he may not
call; but only what concerns the arguments is answered: their schema and what the validators say of them.
Who would have to agree to the call is not the question here.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.dialects.one_shot import told
from gatewright.kernel import Kernel
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of
from gatewright.rehearsal import Verdict
from gatewright.schemas.flaws import Flaws

__all__ = ["METHOD", "Validate"]

METHOD = "tools/validate"

_LATER = frozenset({"permission", "confirm"})
"""Gates that do not look at arguments."""
_ARGUMENTS = frozenset({"schema", "validators"})


class Validate:
    """`kernel` walks calls."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._flaws = Flaws()

    async def __call__(self, call: Call, back: Back) -> Outcome:
        """Answer one question: `{"valid": …, "errors": […]}`, or why the tool cannot be asked about."""
        name, arguments = call.params.get("name"), call.params.get("arguments")
        arguments = {} if arguments is None else arguments
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return Failure(
                "invalid_params", "params need a name, a string, and arguments, an object"
            )
        meant = replace(
            call,
            kind="tool",
            method="tools/call",
            name=name,
            params={"name": name, "arguments": arguments},
            facts={},
        )
        errors: list[dict[str, Any]] = []
        for verdict in await self._kernel.rehearse(meant):
            refusal = verdict.refusal
            if refusal is None or verdict.gate in _LATER:
                continue
            # Whoever may not call the tool is told so, and nothing of its schema.
            if verdict.gate not in _ARGUMENTS or refusal.reason == "schema_unusable":
                return refusal
            errors += self._errors(verdict, refusal)
        return Answer(jsonrpc.encode({"valid": not errors, "errors": errors}))

    def _errors(self, verdict: Verdict, refusal: Refusal) -> list[dict[str, Any]]:
        tool = verdict.call.tool
        if verdict.gate == "schema" and tool is not None:
            found = self._flaws.of(tool.schema, verdict.call.arguments)
            if found:
                return [told(one) for one in found]
        return [_as_told(refusal)]


def _as_told(refusal: Refusal) -> dict[str, Any]:
    """A refusal that is no flaw of a field, in the same form."""
    path = refusal.details.get("path")
    field = path.strip("/").replace("/", ".") if isinstance(path, str) else ""
    return {
        "error_type": reason_of(refusal.reason).ggen_type,
        "field": field or None,
        "reason": refusal.message,
        "suggestions": [],
        "documentation_url": None,
    }
