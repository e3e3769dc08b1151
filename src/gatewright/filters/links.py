"""Where does a resource lead that a result names? To the server whose result it is, under the URI that stands there.

MCP names resources in results by `resource_link` and embedded `resource` content, in tool results (structured ones
included), prompts and chunks of a stream, and by `contents` of what was read. With several servers a URI alone
does not say whose it is: the catalogue remembers it for the caller, or has it shown in qualified form.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Mapping
from typing import Any, Protocol

from msgspec.structs import replace

from gatewright.call import Answer, Call, Caller, Event, Failure, Outcome, Target
from gatewright.transport.large import holds_any
from gatewright.wire import jsonrpc

__all__ = ["AT_ONCE", "MOST", "Catalogue", "Links", "Reading", "holders"]

AT_ONCE = 64 * 1024
"""Bytes of a result that is decoded where it is; more than that is decoded beside the loop, where somebody does that."""
MOST = 10_000
"""So many different URIs a larger result names at most."""
_TURN = 50
_READ = "resources/read"
_NAMES = (b'"uri"', b"\\u")
"""How the member's name is written; one that is spelled with escapes has a `u` behind its backslash."""


class Catalogue(Protocol):
    """Who knows whose resources are."""

    def several(self, profile: str) -> bool:
        """Whether a URI alone does not say whose it is."""

    def shown_in(self, profile: str, caller: Caller, target: Target) -> str:
        """What a resource is called in a result of its server."""


class Reading(Protocol):
    """Reads and writes large results beside the loop. `read`: whether the result is that of `resources/read`."""

    def uris(self, call: Call, raw: bytes, *, read: bool) -> Awaitable[list[str] | Failure]:
        """The URIs of the resources that a result names, each once."""

    def renamed(
        self, call: Call, raw: bytes, shown: Mapping[str, str], *, read: bool
    ) -> Awaitable[bytes | Failure]:
        """The result with other URIs in those places."""


class Links:
    """Filter `links`. A result with one server behind it, or that names nothing, stays the bytes that came."""

    name = "links"

    def __init__(self, catalogue: Catalogue, beside: Reading | None = None) -> None:
        """Without `beside` everything is done at once, however large."""
        self._catalogue = catalogue
        self._beside = beside

    def outcome(self, call: Call, outcome: Outcome) -> Outcome | Awaitable[Outcome]:
        """The outcome with every link leading where it should."""
        if type(outcome) is not Answer or outcome.own or call.kind == "list":
            return outcome
        server, raw = self._server(call), outcome.raw
        if server is None:
            return outcome
        if len(raw) > AT_ONCE and self._beside is not None:
            return self._large(call, server, outcome, self._beside)
        if not any(raw.find(one) >= 0 for one in _NAMES):
            return outcome
        try:
            result = jsonrpc.decode(raw)
        except ValueError:
            return outcome
        changed = self._lead(call, server, result)
        return replace(outcome, raw=jsonrpc.encode(result)) if changed else outcome

    async def _large(self, call: Call, server: str, answer: Answer, beside: Reading) -> Outcome:
        """The same, a piece at a time or beside the loop."""
        if not await holds_any(answer.raw, _NAMES):
            return answer
        read = call.method == _READ
        found = await beside.uris(call, answer.raw, read=read)
        if isinstance(found, Failure):
            return found
        if len(found) > MOST:
            said = f"the result names more than {MOST} resources; ask the tool for less"
            return Failure("output_invalid", said, {"rule": "too_many_resources", "limit": MOST})
        shown = {}
        for number, uri in enumerate(found):
            name = self._shown(call, server, uri)
            if name != uri:
                shown[uri] = name
            if number % _TURN == 0:
                await asyncio.sleep(0)
        if not shown:
            return answer
        raw = await beside.renamed(call, answer.raw, shown, read=read)
        return raw if isinstance(raw, Failure) else replace(answer, raw=raw)

    def event(self, call: Call, event: Event) -> Event | None:
        """The event with every link leading where it should: a part of a result may come as one."""
        server = self._server(call)
        if server is None or not any(_linking(event.params)):
            return event
        params = jsonrpc.decode(jsonrpc.encode(event.params))
        return Event(event.method, params) if self._lead(call, server, params) else event

    def _server(self, call: Call) -> str | None:
        """Whose result it is, where that makes a difference."""
        speaker = call.speaker
        several = speaker is not None and self._catalogue.several(call.profile)
        return speaker.server if several and speaker is not None else None

    def _lead(self, call: Call, server: str, result: Any) -> bool:
        """Change what has to read differently; whether anything had to."""
        changed = False
        for holder in holders(result, read=call.method == _READ):
            shown = self._shown(call, server, holder["uri"])
            if shown != holder["uri"]:
                holder["uri"], changed = shown, True
        return changed

    def _shown(self, call: Call, server: str, uri: str) -> str:
        """What the caller is to read in place of a URI."""
        if call.kind == "resource" and call.target == Target(server, uri):
            return call.name
        return self._catalogue.shown_in(call.profile, call.caller, Target(server, uri))


def holders(result: Any, *, read: bool) -> list[dict[str, Any]]:
    """The objects in a result whose `uri` names a resource, each once; `read`: the result is that of `resources/read`."""
    found = (*(_contents(result) if read else ()), *_linking(result))
    return list({id(one): one for one in found}.values())


def _contents(result: Any) -> Iterator[dict[str, Any]]:
    """What was read, each with its URI."""
    found = result.get("contents") if isinstance(result, dict) else None
    for one in found if isinstance(found, list) else ():
        if isinstance(one, dict) and isinstance(one.get("uri"), str):
            yield one


def _linking(value: Any) -> Iterator[dict[str, Any]]:
    """Everything in a value that names a resource, however deep; linear in its size."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left.extend(one)
        elif isinstance(one, dict):
            left.extend(one.values())
            kind = one.get("type")
            held = one.get("resource") if kind == "resource" else one
            if kind not in ("resource", "resource_link") or not isinstance(held, dict):
                continue
            if isinstance(held.get("uri"), str):
                yield held
