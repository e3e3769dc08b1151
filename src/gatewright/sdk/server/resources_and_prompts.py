"""`Offers`: registry of an SDK server's resources, templates, prompts and completions: URI matching, cache of reads, change notices.

Resources may say how long what they read stays true; until then the function is not called again. Templates are
RFC 6570's simple expansion: `{name}` stands for one or more characters other than `/` (which may be escaped), and `{name*}` for any;
neither for `..` between slashes.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from gatewright.patterns import Pattern, escape
from gatewright.sdk.context import context_parameter
from gatewright.sdk.errors import RegistrationError
from gatewright.sdk.function_schema import words_of

__all__ = ["Cached", "Completions", "Offers", "PromptOffer", "ResourceOffer"]

_EXPRESSION = Pattern(r"\{([A-Za-z_][A-Za-z0-9_]*)(\*?)\}")
_KEPT = 1000


class ResourceOffer(NamedTuple):
    """A resource, or a template of many."""

    uri: str
    definition: Mapping[str, Any]
    """Its entry in `resources/list` or `resources/templates/list`."""
    function: Callable[..., Any]
    """Takes the template's variables by name; returns text, bytes, or a value that JSON can say."""
    context: str | None
    pattern: Pattern[str] | None
    mime_type: str
    ttl_s: float


class PromptOffer(NamedTuple):
    """A prompt."""

    name: str
    definition: Mapping[str, Any]
    """Its entry in `prompts/list`."""
    function: Callable[..., Any]
    context: str | None
    required: frozenset[str]
    known: frozenset[str]


class Cached(NamedTuple):
    """What a resource gave, and until when that holds, in the cache's own seconds."""

    contents: list[dict[str, Any]]
    until: float


Completions = dict[tuple[str, str], Callable[..., Any]]
"""Name of a prompt, or URI of a template, and argument → who proposes values for it."""


class Offers:
    """The offers of one server. `changed` is told the method of the notification that a change is worth."""

    def __init__(
        self, changed: Callable[[str, dict[str, Any]], None], clock: Callable[[], float]
    ) -> None:
        self._changed = changed
        self._clock = clock
        self.resources: dict[str, ResourceOffer] = {}
        self.templates: dict[str, ResourceOffer] = {}
        self.prompts: dict[str, PromptOffer] = {}
        self.completions: Completions = {}
        self._cache: OrderedDict[str, Cached] = OrderedDict()
        self.changes = 0
        """How often a resource has become another. What was begun to be read before is not kept after it."""

    # -- offering

    def add_resource(
        self,
        function: Callable[..., Any],
        uri: str,
        *,
        name: str = "",
        description: str = "",
        mime_type: str = "",
        ttl_s: float = 0.0,
    ) -> None:
        """Offer what a function reads under a URI or a template. Raises `RegistrationError`."""
        variables = [found[1] for found in _EXPRESSION.finditer(uri)]
        context = context_parameter(function)
        _takes(f"resource {uri}", function, variables, context)
        if uri in self.resources or uri in self.templates:
            raise RegistrationError(
                f"there is a resource {uri} already", advice="Give it another URI"
            )
        if ":" not in uri:
            raise RegistrationError(
                f"{uri!r} is no URI", advice="Begin with a scheme, as in config://app"
            )
        pattern = _pattern(uri) if variables else None
        definition: dict[str, Any] = {
            ("uriTemplate" if variables else "uri"): uri,
            "name": name or getattr(function, "__name__", uri),
        }
        if text := (description or words_of(function).summary):
            definition["description"] = text
        if mime_type:
            definition["mimeType"] = mime_type
        offer = ResourceOffer(uri, definition, function, context, pattern, mime_type, ttl_s)
        (self.templates if variables else self.resources)[uri] = offer
        self._changed("notifications/resources/list_changed", {})

    def add_prompt(
        self,
        function: Callable[..., Any],
        *,
        name: str = "",
        title: str = "",
        description: str = "",
    ) -> None:
        """Offer a prompt: the parameters of the function are its arguments. Raises `RegistrationError`."""
        chosen = name or getattr(function, "__name__", "")
        if not chosen or chosen in self.prompts:
            raise RegistrationError(
                f"there is a prompt {chosen!r} already" if chosen else "a prompt needs a name",
                advice="Give it a name of its own",
            )
        context = context_parameter(function)
        words = words_of(function)
        parameters = [
            one for one in inspect.signature(function).parameters.values() if one.name != context
        ]
        required = frozenset(
            one.name for one in parameters if one.default is inspect.Parameter.empty
        )
        definition: dict[str, Any] = {"name": chosen}
        if title:
            definition["title"] = title
        if text := (description or words.summary):
            definition["description"] = text
        if parameters:
            definition["arguments"] = [
                _argument(one.name, words.parameters.get(one.name, ""), one.name in required)
                for one in parameters
            ]
        known = frozenset(one.name for one in parameters)
        self.prompts[chosen] = PromptOffer(chosen, definition, function, context, required, known)
        self._changed("notifications/prompts/list_changed", {})

    def remove(self, name: str) -> None:
        """Offer a prompt (by name) or a resource (by URI) no more. Raises `RegistrationError` for unknown ones."""
        if self.prompts.pop(name, None) is not None:
            self._changed("notifications/prompts/list_changed", {})
        elif (self.resources.pop(name, None) or self.templates.pop(name, None)) is not None:
            # All of it: the resource may have been a template with many URIs.
            self._cache.clear()
            self.changes += 1
            self._changed("notifications/resources/list_changed", {})
        else:
            raise RegistrationError(f"there is no prompt and no resource {name!r}")

    # -- looking up

    def resource(self, uri: str) -> tuple[ResourceOffer, dict[str, str]] | None:
        """Who reads a URI, and the values of its variables."""
        found = self.resources.get(uri)
        if found is not None:
            return found, {}
        for offer in self.templates.values():
            match = offer.pattern.fullmatch(uri) if offer.pattern is not None else None
            values = None if match is None else _values(match.groupdict())
            if values is not None:
                return offer, values
        return None

    def cached(self, uri: str) -> Cached | None:
        """What was read of a URI, while it holds."""
        found = self._cache.get(uri)
        if found is None or found.until <= self._clock():
            self._cache.pop(uri, None)
            return None
        return found

    def keep(self, uri: str, contents: list[dict[str, Any]], ttl_s: float, since: int) -> None:
        """Remember what was read for so many seconds, unless something has changed `since` the read began (`changes`)."""
        if ttl_s > 0 and since == self.changes:
            self._cache[uri] = Cached(contents, self._clock() + ttl_s)
            if len(self._cache) > _KEPT:
                self._cache.popitem(last=False)

    def left_ms(self, found: Cached) -> int:
        """How long something remembered still holds."""
        return max(0, int((found.until - self._clock()) * 1000))

    def stale(self, uri: str) -> None:
        """A resource is not what it was."""
        self._cache.pop(uri, None)
        self.changes += 1


def _values(raw: Mapping[str, str]) -> dict[str, str] | None:
    """The values of a template's variables. None where one leads upwards or holds a NUL once it is decoded: functions put them into
    paths, and what is written `..%2f` is no `..` to whoever looked at the URI before."""
    values = {name: unquote(value) for name, value in raw.items()}
    for value in values.values():
        if "\0" in value or ".." in value.replace("\\", "/").split("/"):
            return None
    return values


def _argument(name: str, description: str, required: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name}
    if required:
        found["required"] = True
    if description:
        found["description"] = description
    return found


def _pattern(template: str) -> Pattern[str]:
    parts: list[str] = []
    end = 0
    for found in _EXPRESSION.finditer(template):
        parts.append(escape(template[end : found.start()]))
        parts.append(f"(?P<{found[1]}>{'.+' if found[2] else '[^/]+'})")
        end = found.end()
    return Pattern("".join([*parts, escape(template[end:])]))


def _takes(
    what: str, function: Callable[..., Any], variables: list[str], context: str | None
) -> None:
    parameters = inspect.signature(function).parameters
    wanted = [
        one.name
        for one in parameters.values()
        if one.default is inspect.Parameter.empty and one.name != context
    ]
    missing = [name for name in wanted if name not in variables]
    unknown = [name for name in variables if name not in parameters]
    if missing or unknown:
        raise RegistrationError(
            f"{what}: its variables are {variables}, and its function takes {list(parameters)}",
            advice="Let both have the same names",
        )
