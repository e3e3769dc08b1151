"""Where does a resource lead that a result names? To the server whose result it is, under the URI that stands there.

MCP names resources in results by `resource_link` and embedded `resource` content, in tool results (structured ones
included), prompts and chunks of a stream, and by `contents` of what was read. With several servers a URI alone
does not say whose it is: the catalogue remembers it for the caller, or has it shown in qualified form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from msgspec.structs import replace

from gatewright.call import Answer, Call, Caller, Event, Outcome, Target
from gatewright.wire import jsonrpc

__all__ = ["Catalogue", "Links"]

_READ = "resources/read"


class Catalogue(Protocol):
    """Who knows whose resources are."""

    def several(self, profile: str) -> bool:
        """Whether a URI alone does not say whose it is."""

    def shown_in(self, profile: str, caller: Caller, target: Target) -> str:
        """What a resource is called in a result of its server."""


class Links:
    """Filter `links`. A result with one server behind it, or that names nothing, stays the bytes that came."""

    name = "links"

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def outcome(self, call: Call, outcome: Outcome) -> Outcome:
        """The outcome with every link leading where it should."""
        if type(outcome) is not Answer or outcome.own or call.kind == "list":
            return outcome
        server, raw = self._server(call), outcome.raw
        if server is None or not _may_name(raw):
            return outcome
        try:
            result = jsonrpc.decode(raw)
        except ValueError:
            return outcome
        changed = self._lead(call, server, result)
        return replace(outcome, raw=jsonrpc.encode(result)) if changed else outcome

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
        for holder in (*_contents(call, result), *_linking(result)):
            uri = holder["uri"]
            asked = call.kind == "resource" and call.target == Target(server, uri)
            shown = (
                call.name
                if asked
                else self._catalogue.shown_in(call.profile, call.caller, Target(server, uri))
            )
            if shown != uri:
                holder["uri"], changed = shown, True
        return changed


def _may_name(raw: bytes) -> bool:
    """Whether there may be a URI in a result; an escaped name of a member has a `u` behind its backslash."""
    return raw.find(b'"uri"') >= 0 or raw.find(b"\\u") >= 0


def _contents(call: Call, result: Any) -> Iterator[dict[str, Any]]:
    """What was read, each with its URI."""
    found = result.get("contents") if call.method == _READ and isinstance(result, dict) else None
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
