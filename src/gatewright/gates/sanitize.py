"""Is there something in the arguments that nobody sees? Where the operator wants it, it is taken out before they are judged.

Before the schema and the validators, so that what is judged is what is forwarded: a character that goes after the judgement could
join two harmless words into another one. The fact `sanitized` keeps what the arguments were: the SHA-256 of their JSON with
sorted keys and its size before and after, and how many pieces went.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from gatewright.call import Back, Call, Refusal
from gatewright.redaction.invisible import visible_value
from gatewright.stores.call_records import request_of

__all__ = ["Sanitize", "Wanted"]


class Wanted(msgspec.Struct, frozen=True):
    """Whether what nobody sees is taken out: for a tool, else for its server, else for all."""

    default: bool = False
    servers: Mapping[str, bool] = {}
    tools: Mapping[tuple[str, str], bool] = {}
    """(server, "*") is every tool of that server without a word of its own."""

    def of(self, server: str, tool: str) -> bool:
        """What holds for one tool."""
        whole = self.tools.get((server, "*"), self.servers.get(server, self.default))
        return self.tools.get((server, tool), whole)

    def __bool__(self) -> bool:
        return self.default or any(self.servers.values()) or any(self.tools.values())


class Sanitize:
    """Gate `sanitize`."""

    name = "sanitize"

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self.idle = not wanted

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = call.tool
        if tool is None or not self._wanted.of(tool.target.server, tool.target.name):
            return call
        try:
            cleaned, removed = visible_value(call.arguments)
        except RecursionError:
            return Refusal("invalid_args", "the arguments are nested too deeply", {"rule": "depth"})
        if not removed:
            return call
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
