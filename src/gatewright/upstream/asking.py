"""What a tool server may ask a person, and how the person sees who asks: elicitation, sampling, URLs to open.

The gateway asks people, too: whether a call may run, at which address they can decide. A server's question must not pass for
one of those, so it begins with the server's name, and no line of its own stands where a line of the gateway's could. What MCP
forbids servers to ask for (passwords, keys, by form), what no browser should open, and what would show one server the words
of others is refused or narrowed here, wherever the question came from: a request, an `input_required` result, an error.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from msgspec.structs import replace

from gatewright.call import CannotAsk, Client, Question
from gatewright.patterns import ASCII, IGNORECASE, Match, Pattern
from gatewright.protocol.mcp_server import can_answer
from gatewright.validators.lookalike import seen
from gatewright.wire.jsonrpc import INVALID_PARAMS
from gatewright.wire.visible import spelled

__all__ = ["COMPLETE", "ELICIT", "SAMPLE", "Ours", "quoted", "screened", "wants_secret"]

ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"
COMPLETE = "notifications/elicitation/complete"

Ours = Callable[[str], bool]
"""Whether a URL leads to the gateway itself."""

_URL_MOST = 4096
_MESSAGE_MOST = 8192
_NODES = 2000
_WORDS_MOST, _VALUES_MOST = 16_384, 32_768
"""So many values, and characters of names and texts, a form is made of at most: more is no form for a person, and every one
of them is looked at."""


def screened(server: str, question: Question, client: Client, ours: Ours) -> Question:
    """The question of a server as its caller may be asked it. Raises `CannotAsk` saying what the server may not ask."""
    method = question.method
    if not can_answer(client, method):
        raise CannotAsk(f"the caller's client did not declare that it answers {method}")
    if method == ELICIT:
        return replace(question, params=_elicited(server, _object(question), client, ours))
    if method == SAMPLE:
        return replace(question, params=_sampled(_object(question), client))
    return question


def _object(question: Question) -> dict[str, Any]:
    if not isinstance(question.params, dict):
        raise _no(f"the params of {question.method} must be an object")
    return question.params


def _no(why: str) -> CannotAsk:
    return CannotAsk(why, INVALID_PARAMS)


# -- elicitation ----------------------------------------------------------------------------------


def _elicited(server: str, params: dict[str, Any], client: Client, ours: Ours) -> dict[str, Any]:
    mode = params.get("mode", "form")
    declared = client.capabilities.get("elicitation")
    if mode not in ("form", "url") or not _declares(declared, mode):
        raise _no(f"the caller's client did not declare elicitation of the mode {str(mode)[:40]!a}")
    said = params.get("message", "")
    if not isinstance(said, str) or len(said) > _MESSAGE_MOST:
        raise _no(f"message must be a string of at most {_MESSAGE_MOST} characters")
    found = {**params, "message": quoted(server, said)}
    if mode == "form":
        _judge_form(said, params.get("requestedSchema"))
        return found
    flaw = _flaw_of_url(params.get("url"), ours)
    if flaw:
        raise _no(f"a person cannot be asked to open this url: {flaw}")
    ident = params.get("elicitationId")
    if isinstance(ident, str):
        # Of its server alone: none can complete what another asked for, nor an approval of the gateway's.
        found["elicitationId"] = f"{server}/{ident}"
    return found


def _declares(declared: Any, mode: str) -> bool:
    """An empty declaration means forms (MCP 2025-11-25, elicitation)."""
    modes = declared if isinstance(declared, dict) else {}
    if mode == "url":
        return isinstance(modes.get("url"), dict)
    return isinstance(modes.get("form"), dict) or not isinstance(modes.get("url"), dict)


def quoted(server: str, said: str) -> str:
    """A server's words under its name. Of several lines each is marked, so that none can stand as one of the gateway's."""
    shown = spelled(said, keep="\n")
    if "\n" not in shown:
        return f'Server "{server}" asks: {shown}'
    return "\n> ".join((f'Server "{server}" asks:', *shown.split("\n")))


def _flaw_of_url(url: Any, ours: Ours) -> str:
    """Why no person should be led to a URL; empty where nothing is against it."""
    if not isinstance(url, str) or not 0 < len(url) <= _URL_MOST:
        return f"it must be a string of at most {_URL_MOST} characters"
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return "it has characters that browsers and people read in different ways"
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - it raises
    except ValueError:
        return "it cannot be read"
    flaw = _flaw_of_parts(parts)
    return flaw or ("it leads to the gateway itself" if ours(url) else "")


def _flaw_of_parts(parts: SplitResult) -> str:
    if parts.scheme not in ("http", "https"):
        return "only https and http can be opened"
    if not parts.hostname:
        return "it names no host"
    if "@" in parts.netloc:
        return "it hides its host behind a user name"
    return ""


# -- forms ------------------------------------------------------------------------------------------


def _judge_form(said: str, schema: Any) -> None:
    """Raise `CannotAsk` where a form asks for what MCP forbids forms to ask for, or speaks as the gateway."""
    free, length, offered = False, 0, 0
    for name, node in _fields(schema):
        words, values = [name, *_texts(node, _LABELS)], [*_texts(node, _VALUES)]
        length, offered = length + sum(map(len, words)), offered + sum(map(len, values))
        if length > _WORDS_MOST or offered > _VALUES_MOST:
            raise _no(
                f"the texts of the form have more than {_WORDS_MOST} characters, or its values {_VALUES_MOST}"
            )
        if any(map(_speaks_as_us, (*words, *values))):
            raise _no("a field of the form speaks in the name of the gateway")
        if _is_free(node):
            free = free or bool(name)
            if _is_hidden(node) or any(map(wants_secret, _asking(node, words))):
                raise _no(_SENSITIVE)
    if free and wants_secret(said):
        raise _no(_SENSITIVE)


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
            raise _no(f"the form is made of more than {_NODES} values")
        if isinstance(node, list):
            waiting += [(name, one) for one in node]
        elif isinstance(node, dict):
            yield name, node
            waiting += _inside(name, node)


def _inside(name: str, node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword, held in node.items():
        if keyword in _NAMING and isinstance(held, dict):
            yield from held.items()
        elif keyword in ("oneOf", "anyOf") and _is_choice(held):
            yield from ((name, {**one, "type": "null"}) for one in held)
        elif keyword == "items":
            yield f"{name} {node.get('title', '')}", held
        elif isinstance(held, (dict, list)):
            yield name, held


_LABELS = ("title", "description")
_VALUES = ("default", "examples", "enum", "enumNames")
"""What stands in a field, or can be chosen for it: a branch `token-refresh` asks for no token."""
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
    """Whether a person would write into the field, and not choose from what is offered. What stands inside a list or an object is
    a field of its own."""
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


# -- words ------------------------------------------------------------------------------------------

_JOINED = (
    "password passwd passphrase passcode apikey apitoken apisecret accesskey accesstoken privatekey secretkey clientsecret "
    "authtoken bearertoken refreshtoken sessiontoken securitytoken signingkey encryptionkey sshkey credential seedphrase "
    "seedwords recoveryphrase recoverycode verificationcode securitycode onetimecode authenticationcode authcode creditcard "
    "cardnumber pincode pinnumber yourpin mnemonic socialsecurity passwort kennwort zugangsdaten contrasena motdepasse "
    "wachtwoord senha parola haslo losenord adgangskode salasana jelszo heslo"
).split()
_ALONE = frozenset("token secret secrets pwd pw pin otp totp cvv cvc jwt ssn 2fa mfa".split())
_SCRIPTS = (
    "\u043f\u0430\u0440\u043e\u043b",  # Russian
    "\u5bc6\u7801",  # Chinese
    "\u5bc6\u78bc",
    "\u30d1\u30b9\u30ef\u30fc\u30c9",  # Japanese
    "\ube44\ubc00\ubc88\ud638",  # Korean
    "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631",  # Arabic
)
_LEET = str.maketrans("@$345!i", "aseasll")
_COUNTS = frozenset({"max", "number", "count", "many"})


def wants_secret(text: str) -> bool:
    """Whether somebody who reads this would write down what only he may know."""
    whole = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text))
    if any(one in whole for one in _SCRIPTS) or _PAROL in _looks(whole):
        return True
    looks = _looks(_apart(whole))
    joined = "".join(one for one in looks if one.isalnum())
    if any(one in joined for one in _LOOKED):
        return True
    words = "".join(one if one.isalnum() else " " for one in looks).split()
    return not _ALONE_LOOKED.isdisjoint(words) and _COUNTS.isdisjoint(words)


def _apart(text: str) -> str:
    """`apiKey` in two words, as its author reads it."""
    return "".join(
        f" {char}" if char.isupper() and before.islower() else char
        for before, char in zip(" " + text, text, strict=False)
    )


def _looks(text: str) -> str:
    """As a reader sees it: without case, accents, what is invisible, and what only looks like a letter of ASCII."""
    if text.isascii():
        return seen(text.casefold()).translate(_LEET)
    plain = "".join(one for one in text if unicodedata.category(one) not in ("Cf", "Cc"))
    found = seen(unicodedata.normalize("NFKC", plain).casefold())
    return "".join(one for one in found if not unicodedata.combining(one)).translate(_LEET)


_LOOKED = tuple(_looks(one) for one in _JOINED)
_ALONE_LOOKED = frozenset(_looks(one) for one in _ALONE)
_PAROL = _looks(_SCRIPTS[0])
_US = _looks("gatewright")


def _speaks_as_us(text: str) -> bool:
    return _US in "".join(one for one in _looks(text) if one.isalnum())


# -- sampling ---------------------------------------------------------------------------------------


def _sampled(params: dict[str, Any], client: Client) -> dict[str, Any]:
    """To the client the gateway is one server, so `thisServer` too would be what all servers behind it said."""
    declared = client.capabilities.get("sampling")
    tools = declared.get("tools") if isinstance(declared, dict) else None
    if ("tools" in params or "toolChoice" in params) and not isinstance(tools, dict):
        raise _no("the caller's client did not declare that it samples with tools")
    if "includeContext" in params and params["includeContext"] != "none":
        return {**params, "includeContext": "none"}
    return params
