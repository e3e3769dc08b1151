"""Refuses servers' elicitation forms: malformed, too large, asking for secrets, posing as or linking to the gateway; escapes labels.

A form is judged as any client may show it: a field that a client does not understand is shown as a text to fill in, and a
form whose schema is none as whatever the client makes of it, so such a form is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import chain
from operator import is_not
from typing import Any

from gatewright.mcp.wire.spellings import flaw_of_members
from gatewright.patterns import ASCII, IGNORECASE, Match, Pattern
from gatewright.schemas.lookalikes import length_seen
from gatewright.secret_scanning.escape_invisible import spelled
from gatewright.servers.gateway_url_check import Ours, Steps, cannot, judge_addresses
from gatewright.servers.secret_words import secret_steps, speaks_as_us, wants_secret

__all__ = ["judge_form", "legible"]

_NODES = 2000
_WORDS_MOST, _VALUES_MOST = 16_384, 32_768
"""So many values, and characters of names and texts as they look (`length_seen`), a form is made of at most: more is no form for a
person, and every one of them is looked at."""
_STEP, _EACH, _SHORT = 1000, 50, 200
"""Characters that are looked at in one step, where a text has no more; what looking at a text costs, in characters; and how long a text is
that takes one step, whatever its characters stand for."""


def judge_form(said: str, schema: Any, ours: Ours) -> Steps:
    """Raise `CannotAsk` where a form asks for what MCP forbids forms to ask for, speaks as the gateway, or leads to it. A field a step,
    and of a long one a text."""
    _check_shape(schema)
    free, about, length, offered = False, [said], 0, 0
    shown: list[str] = []
    for name, node in _fields(schema):
        yield
        if flaw := flaw_of_members("a field of the form", node, _KEYWORDS):
            raise cannot(flaw)
        words, values = [name, *_texts(node, _LABELS)], [*_texts(node, _VALUES)]
        # In the loop: the name of a field grows with each list around it.
        length = _counted(words, length, _WORDS_MOST)
        offered = _counted(values, offered, _VALUES_MOST)
        if (yield from _any(speaks_as_us, (*words, *values))):
            raise cannot("a field of the form speaks in the name of the gateway")
        shown += (*words, *values)
        if node is schema or _holds_fields(node):
            about += words
        elif _is_free(node):
            free = True
            if _is_hidden(node) or (yield from _any_asks(_asking(node, words))):
                raise cannot(_SENSITIVE)
    yield from judge_addresses(shown, ours)
    if free and (yield from _any_asks(about)):
        raise cannot(_SENSITIVE)
    yield from _check_seen(schema)


def _any(judge: Callable[[str], bool], texts: Iterable[str]) -> Generator[None, None, bool]:
    """Whether one of the texts is what is looked for, some short ones a step."""
    due = 0
    for one in texts:
        if judge(one):
            return True
        due += _EACH + len(one)
        if due > _STEP:
            due = 0
            yield
    return False


def _any_asks(texts: Iterable[str]) -> Generator[None, None, bool]:
    for one in texts:
        if len(one) <= _SHORT:
            if wants_secret(one):
                return True
            yield
        elif (yield from secret_steps(one)):
            return True
    return False


def _hides(node: Mapping[str, Any]) -> bool:
    """Whether a field has names or values with something that steers a reader's screen or hides: what is answered can be spelled in no
    other way."""
    names = chain.from_iterable(
        held for keyword in _NAMING if isinstance(held := node.get(keyword), dict)
    )
    answers = (*names, *_texts(node, _ANSWERS))
    return any(spelled(one, keep=_SEEN) != one for one in answers)


def _check_seen(schema: Any) -> Steps:
    for _, node in _fields(schema):
        yield
        if _hides(node):
            raise cannot("a name or value of the form has characters that nobody can see")


def legible(schema: Any) -> Any:
    """A form that was judged, whose labels have nothing in them that steers a reader's screen or hides: as a message has it. The same
    object where there is none."""
    if isinstance(schema, list):
        several = [legible(one) for one in schema]
        return several if any(map(is_not, several, schema)) else schema
    if not isinstance(schema, dict):
        return schema
    found = {
        name: _spelled(one) if name in _NAMED_BY else legible(one) for name, one in schema.items()
    }
    return found if any(map(is_not, found.values(), schema.values())) else schema


def _spelled(held: Any) -> Any:
    """What a label is; a field may be called as one, too."""
    if isinstance(held, str):
        shown = spelled(held, keep=_SEEN)
        return held if shown == held else shown
    if isinstance(held, list):  # also where one of them is no text
        several = [_spelled(one) for one in held]
        return several if any(map(is_not, several, held)) else held
    return legible(held)


def _check_shape(schema: Any) -> None:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind != "object" or not isinstance(schema.get("properties"), dict):
        raise cannot("requestedSchema must be a schema of the type object, with properties")


def _counted(texts: Iterable[str], before: int, most: int) -> int:
    """The characters of texts and of those before. Of none is more looked at than there is room for: that takes time as well."""
    for one in texts:
        before += length_seen(one, most - before)
        if before > most:
            raise cannot(
                f"the texts of the form have more than {_WORDS_MOST} characters, or its values {_VALUES_MOST}"
            )
    return before


def _holds_fields(node: Mapping[str, Any]) -> bool:
    """Whether it is a group of fields, whose own label says what all of them ask for."""
    return node.get("type") == "object" and bool(node.get("properties"))


def _texts(node: Mapping[str, Any], keywords: tuple[str, ...]) -> Iterator[str]:
    for keyword in keywords:
        held = node.get(keyword)
        texts = held if isinstance(held, list) else [held]
        yield from (one for one in texts if isinstance(one, str))


def _asking(node: Mapping[str, Any], words: list[str]) -> Iterator[str]:
    """The words of a field that ask for something. Only a description warns; a label is what is asked for."""
    description = node.get("description")
    for one in words:
        yield _without_warnings(one) if one == description else one


def _without_warnings(text: str) -> str:
    """The text without what it asks people not to write down: "(do not give us your pin)" asks for none. A warning that goes on
    to ask for something stays. What stands behind a comma belongs to the warning where it is a list of what not to write."""

    def left(found: Match[str]) -> str:
        warned, comma, rest = found[1].partition(",")
        if _GIVING.search(found[1]):
            return found[0]
        listed = wants_secret(warned) or _LISTED.search(rest)
        return " " if listed else f" {comma}{rest}"

    return _WARNING.sub(left, text)


def _is_hidden(node: Mapping[str, Any]) -> bool:
    return node.get("format") == "password" or node.get("writeOnly") is True


_SENSITIVE = (
    "a form must not ask for passwords, keys, tokens and the like (MCP, elicitation): use the mode url, "
    "or let the operator configure the server with the secret"
)


def _fields(schema: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object of a schema with the name of the field that it describes, however deep it stands."""
    waiting: list[tuple[str, Any]] = [("", schema)]
    count = 0
    while waiting:
        name, node = waiting.pop()
        count += 1
        if count > _NODES:
            raise cannot(f"the form is made of more than {_NODES} values")
        if isinstance(node, list):
            waiting += [(name, one) for one in node]
        elif isinstance(node, dict):
            yield name, node
            waiting += _inside(name, node)


def _inside(name: str, node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword, held in node.items():
        if keyword in _NAMING and isinstance(held, dict):
            yield from _named(held)
        elif keyword in ("oneOf", "anyOf") and _is_choice(held):
            # Values to choose from are no fields that somebody fills in (`_is_free`).
            yield from ((name, {**one, "type": "null"}) for one in held)
        elif keyword == "items":
            # What a list is called is what each of its entries asks for.
            yield f"{name} {node.get('title', '')}", held
        elif isinstance(held, (dict, list)):
            yield name, held


def _named(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Fields by their names. One that no object describes (`true`, a text, an empty list) is shown by its name, as a text to
    fill in."""
    for name, field in fields.items():
        if not isinstance(field, dict):
            yield name, {}
        yield name, field


_LABELS = ("title", "description")
_VALUES = ("default", "examples", "enum", "enumNames", "const")
"""What stands in a field, or can be chosen for it: a branch `token-refresh` asks for no token."""
_ANSWERS = tuple(one for one in _VALUES if one != "enumNames")
_SEEN = "\n\t\ufe0e\ufe0f"
"""Lines of a long text, and whether a sign is drawn in colour: `\u26a0\ufe0f`."""
_NAMED_BY = frozenset((*_LABELS, "enumNames"))
"""What is shown in place of a name or a value, and answers nothing."""
_KEYWORDS = frozenset(
    (*_LABELS, *_VALUES, "type", "format", "writeOnly", "properties", "items", "oneOf", "anyOf")
)
"""What is read of a field. A reader who does not mind case takes `Title` for one of these, and shows what stands there."""
_VERBS = "give|enter|type|provide|send|write|paste|share|include|put|fill|use|tell|say|submit|need|require|want|just|only|but|instead"
_DASHES = "\u00b7\u2010-\u2015"
_WARNING = Pattern(
    rf"\b(?:do not|don't|never) (?:{_VERBS})\b((?:[^.!?;:()\n|{_DASHES}-]|\b-\b)*)",
    IGNORECASE | ASCII,
)
_GIVING = Pattern(rf"\b(?:{_VERBS}|your own|please)\b", IGNORECASE | ASCII)
_LISTED = Pattern(r"\b(?:or|and|nor)\b", IGNORECASE | ASCII)
_NAMING = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


def _is_free(node: Mapping[str, Any]) -> bool:
    """Whether a person would write into the field, and not choose from what is offered. What stands inside a list or an object
    is a field of its own."""
    enum = node.get("enum")
    if (isinstance(enum, list) and enum) or _is_choice(node.get("oneOf", node.get("anyOf"))):
        return False
    kind = node.get("type")
    if kind in ("array", "object"):
        inside = node.get("items" if kind == "array" else "properties")
        return not (isinstance(inside, dict) and inside)
    return kind not in ("boolean", "null")


def _is_choice(offered: Any) -> bool:
    """Whether these are values to choose from, and not forms of which one is to be filled in."""
    options = offered if isinstance(offered, list) else []
    return bool(options) and all(isinstance(one, dict) and "const" in one for one in options)
