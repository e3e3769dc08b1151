"""Gate `sanitize`: removes invisible characters from arguments where configured, before schema and validators; records digest and sizes.

Before the schema and the validators, so that what is judged is what is forwarded: a character that goes after the judgement could
join two harmless words into another one. The fact `sanitized` keeps what the arguments were: the SHA-256 of their JSON with
sorted keys and its size before and after, and how many pieces went.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.audit.call_records import request_of
from gatewright.call import Back, Call, Refusal
from gatewright.schemas.value_weight import light_text, outweighs
from gatewright.secret_scanning.invisible import visible_value
from gatewright.standing import NOTHING, Standing

__all__ = ["AT_ONCE", "Looking", "Sanitize", "Wanted"]

AT_ONCE = 16 * 1024
"""Characters, and eight for each value, that are looked through where they are."""
_LIGHT = light_text(AT_ONCE)

Looking = Callable[[Call], Awaitable[tuple[Any, int] | Refusal]]
"""Takes out of the arguments of a call what nobody sees, beside the event loop: the arguments, and how many pieces went."""


class Wanted(msgspec.Struct, frozen=True):
    """Whether what nobody sees is taken out: for a tool, else for its server, else for all."""

    default: bool = False
    servers: Mapping[str, bool] = {}
    tools: Mapping[tuple[str, str], bool] = {}
    """(server, "*") is every tool of that server without a word of its own."""

    def of(self, server: str, tool: str) -> bool:
        """What holds for one tool."""
        tools = self.tools
        if tools:
            found = tools.get((server, tool))
            if found is None:
                found = tools.get((server, "*"))
            if found is not None:
                return found
        return self.servers.get(server, self.default)

    def __bool__(self) -> bool:
        return self.default or any(self.servers.values()) or any(self.tools.values())


class Sanitize:
    """Gate `sanitize`."""

    name = "sanitize"

    def __init__(self, wanted: Wanted, beside: Looking | None = None) -> None:
        """Without `beside` everything is done at once, however large."""
        self._wanted = wanted
        self._beside = beside
        self.idle = not wanted

    def __call__(self, call: Call, back: Back) -> Call | Refusal | Awaitable[Call | Refusal]:
        tool = call.tool
        if tool is None or not self._wanted.of(tool.target.server, tool.target.name):
            return call
        # By the size of the frame, where it is known: small ones are not even weighed.
        beside = None if 0 < call.size <= _LIGHT else self._beside
        if beside is not None and outweighs(call.arguments, AT_ONCE):
            return self._large(call, beside)
        try:
            cleaned, removed = visible_value(call.arguments)
        except RecursionError:
            return Refusal("invalid_args", "the arguments are nested too deeply", {"rule": "depth"})
        return _cleaned(call, cleaned, removed) if removed else call

    def stands(self, call: Call) -> Standing | None:
        """Whether nothing has to go from the arguments, where that is wanted of the tool."""
        tool = call.tool
        if tool is None:
            return None
        wanted = self._wanted.of(tool.target.server, tool.target.name)
        return Standing(fits=_is_visible) if wanted else NOTHING

    async def _large(self, call: Call, beside: Looking) -> Call | Refusal:
        found = await beside(call)
        if isinstance(found, Refusal):
            return found
        return _cleaned(call, *found) if found[1] else call


def _is_visible(call: Call) -> bool:
    return 0 < call.size <= _LIGHT and not visible_value(call.arguments)[1]


def _cleaned(call: Call, cleaned: Any, removed: int) -> Call:
    """The call with clean arguments, and the fact of it."""
    clean = replace(call, params={**call.params, "arguments": cleaned})
    was, now = request_of(call), request_of(clean)
    if was is not None and now is not None:
        call.facts["sanitized"] = {
            "removed": removed,
            "original_size": was.bytes,
            "sanitized_size": now.bytes,
            "original_digest": was.digest,
        }
    return clean
