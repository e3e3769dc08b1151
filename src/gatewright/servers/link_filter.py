"""Filter `links`: replaces ambiguous resource URIs in results and events by the catalogue's qualified ones; large texts in workers.

MCP names resources in results by `resource_link` and embedded `resource` content, in tool results (structured ones
included), prompts and chunks of a stream, and by `contents` of what was read. With several servers a URI alone
does not say whose it is: the catalogue remembers it for the caller, or has it shown in qualified form.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from typing import Any, Protocol

from msgspec.structs import replace

from gatewright.call import Answer, Call, Caller, Event, Failure, Outcome, Target
from gatewright.chunk_way import TextStep, as_it_is
from gatewright.mcp.wire import jsonrpc
from gatewright.standing import Standing
from gatewright.transport.large_text import holds_any
from gatewright.transport.slices import in_slices

__all__ = ["AT_ONCE", "MOST_NAMED", "Beside", "Catalogue", "Links", "led", "named"]

log = logging.getLogger("gatewright.pipeline")

_READ = "resources/read"
AT_ONCE = 64 * 1024
"""Bytes that are decoded and looked through where they are; what is longer, beside the loop."""
MOST_NAMED = 10_000
"""Resources that one long result may name."""
_FEW = 8
"""URIs that are looked up where they are; more, in slices: each may be held against templates of every server."""
_NAMES = (b'"uri"', b"\\u")
"""How the member's name is written; one that is spelled with escapes has a `u` behind its backslash."""


class Catalogue(Protocol):
    """Who knows whose resources are."""

    def several(self, profile: str) -> bool:
        """Whether a URI alone does not say whose it is."""

    def shown_in(self, profile: str, caller: Caller, target: Target) -> str:
        """What a resource is called in a result of its server."""


class Beside(Protocol):
    """Reads and rewrites long texts beside the loop."""

    async def named(self, call: Call, raw: bytes) -> list[str] | Failure:
        """The URIs that a text names, each once."""

    async def led(self, call: Call, raw: bytes, shown: Mapping[str, str]) -> bytes | Failure:
        """The text with other URIs in the place of some."""


class Links:
    """Filter `links`. A result with one server behind it, or that names nothing, stays the bytes that came."""

    name = "links"

    def __init__(self, catalogue: Catalogue, beside: Beside | None = None) -> None:
        """Without `beside` everything is done at once, however large."""
        self._catalogue = catalogue
        self._beside = beside

    def outcome(self, call: Call, outcome: Outcome) -> Outcome | Awaitable[Outcome]:
        """The outcome with every link leading where it should."""
        if type(outcome) is not Answer or outcome.own or call.kind == "list":
            return outcome
        raw = outcome.raw
        beside = self._beside if len(raw) > AT_ONCE else None
        # Most results name nothing, and two searches are cheaper than to decode.
        if beside is None and not _may_name(raw):
            return outcome
        server = self._server(call)
        if server is None:
            return outcome
        if beside is not None:
            return self._large(call, server, outcome, beside)
        try:
            result = jsonrpc.decode(raw)
        except ValueError:
            return outcome
        uris = named(call.method, result)
        if len(uris) > _FEW:
            return self._many(call, server, outcome, result, uris)
        changed = led(call.method, result, lambda uri: self._shown(call, server, uri))
        return replace(outcome, raw=jsonrpc.encode(result)) if changed else outcome

    def stands(self, call: Call) -> Standing | None:
        """A result that names nothing stays as it is."""
        return Standing(clear=_names_nothing, most=AT_ONCE) if call.kind == "tool" else None

    async def _many(
        self, call: Call, server: str, answer: Answer, result: Any, uris: list[str]
    ) -> Outcome:
        shown = await in_slices(self._looked_up(call, server, uris))
        if not shown:
            return answer
        led(call.method, result, lambda uri: shown.get(uri, uri))
        return replace(answer, raw=jsonrpc.encode(result))

    async def _large(self, call: Call, server: str, answer: Answer, beside: Beside) -> Outcome:
        if not await holds_any(answer.raw, _NAMES):
            return answer
        found = await self._led(call, server, answer.raw, beside)
        if isinstance(found, Failure):
            return found
        return answer if found is answer.raw else replace(answer, raw=found)

    async def _led(self, call: Call, server: str, raw: bytes, beside: Beside) -> bytes | Failure:
        uris = await beside.named(call, raw)
        if isinstance(uris, Failure):
            return uris
        shown = await in_slices(self._looked_up(call, server, uris))
        return await beside.led(call, raw, shown) if shown else raw

    def _looked_up(
        self, call: Call, server: str, uris: Iterable[str]
    ) -> Generator[None, None, dict[str, str]]:
        """What is called something else, one URI a step."""
        shown: dict[str, str] = {}
        for uri in uris:
            other = self._shown(call, server, uri)
            if other != uri:
                shown[uri] = other
            yield
        return shown

    def event(self, call: Call, event: Event) -> Event | Awaitable[Event | None] | None:
        """The event with every link leading where it should: a part of a result may come as one."""
        server = self._server(call)
        if server is None:
            return event
        # Written once and searched: a walk through many small values takes ten times as long.
        raw = jsonrpc.encode(event.params)
        if self._beside is not None and len(raw) > AT_ONCE:
            return self._large_event(call, server, event, raw, self._beside)
        if not _may_name(raw):
            return event
        params = jsonrpc.decode(raw)  # a copy, since `led` changes what it is given
        uris = named(call.method, params)
        if len(uris) > _FEW:
            return self._many_of_event(call, server, event, params, uris)
        changed = led(call.method, params, lambda uri: self._shown(call, server, uri))
        return Event(event.method, params) if changed else event

    def chunks(self, call: Call) -> TextStep:
        """A text alone names nothing."""
        return as_it_is

    async def _many_of_event(
        self, call: Call, server: str, event: Event, params: Any, uris: list[str]
    ) -> Event:
        shown = await in_slices(self._looked_up(call, server, uris))
        if not shown:
            return event
        led(call.method, params, lambda uri: shown.get(uri, uri))
        return Event(event.method, params)

    async def _large_event(
        self, call: Call, server: str, event: Event, raw: bytes, beside: Beside
    ) -> Event | None:
        """One whose links cannot be read is not passed on, and the log says so."""
        if not _may_name(raw):
            return event
        found = await self._led(call, server, raw, beside)
        if isinstance(found, Failure):
            log.warning("call %s: %s was not passed on: %s", call.id, event.method, found.message)
            return None
        return event if found is raw else Event(event.method, jsonrpc.decode_whole(found))

    def _server(self, call: Call) -> str | None:
        """Whose result it is, where that makes a difference."""
        speaker = call.speaker
        several = speaker is not None and self._catalogue.several(call.profile)
        return speaker.server if several and speaker is not None else None

    def _shown(self, call: Call, server: str, uri: str) -> str:
        """What a URI of a result is called there."""
        target = Target(server, uri)
        # What was asked for comes back under the name by which it was asked for.
        asked = call.kind == "resource" and call.target == target
        return call.name if asked else self._catalogue.shown_in(call.profile, call.caller, target)


def named(method: str, result: Any) -> list[str]:
    """The URIs that a decoded text names, each once, at most `MOST_NAMED` and one."""
    found: dict[str, None] = {}
    for holder in _holders(method, result):
        found[holder["uri"]] = None
        if len(found) > MOST_NAMED:
            break
    return list(found)


def led(method: str, result: Any, shown: Callable[[str], str]) -> bool:
    """Change what has to read differently in a decoded text; whether anything had to."""
    changed = False
    for holder in _holders(method, result):
        uri = shown(holder["uri"])
        if uri != holder["uri"]:
            holder["uri"], changed = uri, True
    return changed


def _holders(method: str, result: Any) -> Iterable[dict[str, Any]]:
    """The objects whose `uri` names a resource, each once: one that was read may be a link as well."""
    every = (*_contents(method, result), *_linking(result))
    return {id(one): one for one in every}.values()


def _may_name(raw: bytes) -> bool:
    """Whether there may be a URI in a result: anything of `_NAMES`."""
    return raw.find(b'"uri"') >= 0 or raw.find(b"\\u") >= 0


def _names_nothing(raw: bytes) -> bool:
    return raw.find(b'"uri"') < 0 and raw.find(b"\\u") < 0  # as `_may_name`


def _contents(method: str, result: Any) -> Iterator[dict[str, Any]]:
    """What was read, each with its URI."""
    found = result.get("contents") if method == _READ and isinstance(result, dict) else None
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
