"""Detects tool poisoning in a tool's definition: hidden characters, instructions to the model, reserved names; `score` of any other texts.

Only the members are read that a host shows to its model; what else stands in a definition is passed on unread.

Two questions of different weight. Hidden characters are a fact: a definition either has text that no reader sees,
or it has none. Speech to the model is a guess: phrases that give orders, want silence, reach for secrets or for
other tools each add to a score, and a score is only ever a reason to let a person look. Every string of the
definition is read, names and defaults and examples as well, because a model reads all of them. What such phrases are is data:
`phrases.toml` and `speech.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from gatewright.identifier_words import words_of
from gatewright.patterns import IGNORECASE, Pattern
from gatewright.pins.signal_matching import Finding, Said, findings
from gatewright.pins.spoken_forms import other_forms
from gatewright.schemas.lookalikes import seen
from gatewright.secret_scanning.invisible import hidden

__all__ = ["HELD_AT", "judged", "reserved", "score", "suspicion", "without_words"]

HELD_AT = 5
"""From this score on a person looks first."""

_READ = frozenset({"name", "title", "description", "inputSchema", "outputSchema"})
_RESERVED = Pattern(r"(?:mgp|rngp|system|systern)[/.]", IGNORECASE)
"""As a name is spelled, and as it looks (`lookalike.seen`)."""
_QUOTED = Pattern(r" «[^»]*»")
_SCHEMAS = ("inputSchema", "outputSchema")
_TYPES = frozenset("string object integer number boolean array null".split())
"""What stands in every schema."""
_FEWEST_WORDS = 3
"""Words of a parameter's name that say something to a model."""


def suspicion(name: str, definition: Mapping[str, Any]) -> str:
    """Why a person should look at a tool before a model does; empty where nothing speaks for that.
    `definition` is the decoded object."""
    if reserved(name):
        return f"the name {name!r} is one of the gateway's own"
    hints = definition.get("annotations")
    read = {key: one for key, one in definition.items() if key in _READ}
    texts = list(_strings([read, hints.get("title") if isinstance(hints, dict) else None]))
    for text in texts:
        what = hidden(text)
        if what:
            return f"it contains {what}, which nobody sees"
    found = judged(name, read, hints)
    if sum(one.signal.points for one in found) < HELD_AT:
        return ""
    return "it speaks to the model: " + ", ".join(
        f"{one.signal.says} [{one.signal.id}] «{one.words}»" for one in found
    )


def without_words(why: str) -> str:
    """A suspicion as it may be told to a model: which signals, without the words of the tool."""
    return _QUOTED.sub("", why)


def reserved(name: str) -> bool:
    """Whether a name is one of the gateway's own (`mgp/…`, `system/…`), or looks like one."""
    return _RESERVED.match(name) is not None or _RESERVED.match(seen(name)) is not None


# -- what speaks to the model -------------------------------------------------------------------------


def judged(name: str, read: Mapping[str, Any], hints: Any = None) -> list[Finding]:
    """The signals in the members of a definition that a host shows, and in the title of its annotations."""
    schemas = [read[key] for key in _SCHEMAS if key in read]
    names = list(_parameters(schemas))
    above = {key: one for key, one in read.items() if key not in _SCHEMAS and key != "name"}
    said = [
        Said(one)
        for one in _strings([above, hints.get("title") if isinstance(hints, dict) else None])
    ]
    said += [Said(one, "parameter") for one in _strings(schemas, names=False) if one not in _TYPES]
    other = [
        Said(" ".join(words), "name")
        for one in names
        if len(words := words_of(one)) >= _FEWEST_WORDS
    ]
    others = [Said(key) for key in _names(schemas) if " " in key or len(key) > 40]
    return _scored([*said, *others], names, name, other)


def score(texts: Iterable[str]) -> tuple[int, list[str]]:
    """How much texts speak to a model instead of describing something, and by what. A phrase may be broken by white
    space of any kind, but not between two texts."""
    found = _scored([Said(text) for text in texts])
    return sum(one.signal.points for one in found), [one.signal.says for one in found]


def _scored(
    said: Sequence[Said], names: Iterable[str] = (), tool: str = "", named: Sequence[Said] = ()
) -> list[Finding]:
    forms = [Said(form, one.where) for one in said for form in other_forms([one.text])]
    return findings([*said, *named, *forms], names, tool)


def _parameters(schemas: Any) -> Iterator[str]:
    """Names of the parameters in schemas, at any depth."""
    open_: list[Any] = [schemas]
    while open_:
        one = open_.pop()
        if isinstance(one, dict):
            properties = one.get("properties")
            if isinstance(properties, dict):
                yield from properties
            open_.extend(one.values())
        elif isinstance(one, list):
            open_.extend(one)


def _names(schemas: Any) -> Iterator[str]:
    """Names of all members of schemas."""
    open_: list[Any] = [schemas]
    while open_:
        one = open_.pop()
        if isinstance(one, dict):
            yield from one
            open_.extend(one.values())
        elif isinstance(one, list):
            open_.extend(one)


def _strings(value: Any, *, names: bool = True) -> Iterator[str]:
    """Every string in a value at any depth, names of members too unless they are not wanted. A host sends a schema as it is, so
    members that no standard knows are read by the model like all others."""
    open_: list[Iterator[Any]] = [iter((value,))]
    while open_:
        for one in open_[-1]:
            if isinstance(one, str):
                yield one
            elif isinstance(one, dict | list):
                values = iter(one) if isinstance(one, list) else iter(one.values())
                open_.append(
                    chain.from_iterable(one.items()) if names and isinstance(one, dict) else values
                )
                break
        else:
            open_.pop()
