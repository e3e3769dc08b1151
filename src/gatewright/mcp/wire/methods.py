"""Table of all MCP and MGP methods by sender and revision, and the rules for names of unknown and declared methods.

Theory: a method that nobody here knows is judged by nobody here, while its server may trim, fold or decode what it is called
by. So a name that is not one of these has to be plain (`flaw_of`), must not read as one of these (`reads_as`), and is led
on only where an operator declared it for that server (`declares`).

Source: the schemas of MCP's five revisions, the tasks extension (SEP-2663), MGP 0.2.0.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote

import msgspec

from gatewright.mcp.wire.versions import LEGACY, MODERN
from gatewright.secret_scanning.unicode_forms import normal

__all__ = [
    "CALLBACK",
    "EVENT",
    "LONGEST",
    "NOTIFICATIONS",
    "WORDS",
    "Word",
    "declares",
    "defined",
    "flaw_of",
    "flaw_of_pattern",
    "is_known",
    "reads_as",
]

NOTIFICATIONS = "notifications/"
"""What the method of every notification begins with, and of no request."""

LONGEST = 128
"""So many characters a method has at most."""

_EVERY = (*LEGACY, *MODERN)
_FROM_ELICITATION = LEGACY[2:]
_WITH_TASKS = LEGACY[3:]

By = Literal["client", "server"]


class Word(msgspec.Struct, frozen=True):
    """One message. `extension` is MGP's, which both sides have to have negotiated; empty for MCP's own."""

    method: str
    by: tuple[By, ...]
    revisions: tuple[str, ...] = _EVERY
    extension: str = ""

    @property
    def notification(self) -> bool:
        """Whether nobody answers it."""
        return self.method.startswith(NOTIFICATIONS)


_CLIENT: tuple[By, ...] = ("client",)
_SERVER: tuple[By, ...] = ("server",)
_BOTH: tuple[By, ...] = ("client", "server")

_MCP = (
    Word("initialize", _CLIENT, LEGACY),
    Word("ping", _BOTH, LEGACY),
    Word("server/discover", _CLIENT, MODERN),
    Word("subscriptions/listen", _CLIENT, MODERN),
    Word("tools/list", _CLIENT),
    Word("tools/call", _CLIENT),
    Word("prompts/list", _CLIENT),
    Word("prompts/get", _CLIENT),
    Word("resources/list", _CLIENT),
    Word("resources/templates/list", _CLIENT),
    Word("resources/read", _CLIENT),
    Word("resources/subscribe", _CLIENT, LEGACY),
    Word("resources/unsubscribe", _CLIENT, LEGACY),
    Word("completion/complete", _CLIENT),
    Word("logging/setLevel", _CLIENT, LEGACY),
    Word("tasks/get", _BOTH, (*_WITH_TASKS, *MODERN)),
    Word("tasks/result", _BOTH, _WITH_TASKS),
    Word("tasks/list", _BOTH, _WITH_TASKS),
    Word("tasks/cancel", _BOTH, (*_WITH_TASKS, *MODERN)),
    Word("tasks/update", _CLIENT, MODERN),
    Word("roots/list", _SERVER, LEGACY),
    Word("sampling/createMessage", _SERVER, LEGACY),
    Word("elicitation/create", _SERVER, _FROM_ELICITATION),
    Word("notifications/initialized", _CLIENT, LEGACY),
    Word("notifications/cancelled", _BOTH),
    Word("notifications/progress", _BOTH),
    Word("notifications/roots/list_changed", _CLIENT, LEGACY),
    Word("notifications/message", _SERVER),
    Word("notifications/tools/list_changed", _SERVER),
    Word("notifications/prompts/list_changed", _SERVER),
    Word("notifications/resources/list_changed", _SERVER),
    Word("notifications/resources/updated", _SERVER),
    Word("notifications/subscriptions/acknowledged", _SERVER, MODERN),
    Word("notifications/elicitation/complete", _SERVER, (*_WITH_TASKS, *MODERN)),
    Word("notifications/tasks/status", _BOTH, (*_WITH_TASKS, *MODERN)),
    Word("notifications/tasks", _SERVER, MODERN),
)

_MGP = {
    "security": (
        "permission/request",
        "permission/await",
        "permission/response",
        "permission/grant",
    ),
    "access_control": ("access/query", "access/grant", "access/revoke"),
    "lifecycle": ("health/ping", "health/status", "lifecycle/shutdown"),
    "streaming": ("stream/cancel",),
    "bidirectional": ("events/subscribe", "events/unsubscribe", "callback/respond"),
    "discovery": ("discovery/list", "discovery/register", "discovery/deregister"),
    "tool_discovery": ("tools/discover", "tools/request", "tools/session", "tools/session/evict"),
}
EVENT = "notifications/mgp.event"
CALLBACK = "notifications/mgp.callback.request"

_MGP_SAID = {
    "notifications/mgp.audit": "audit",
    "notifications/mgp.lifecycle": "lifecycle",
    "notifications/mgp.stream.chunk": "streaming",
    "notifications/mgp.stream.progress": "streaming",
    "notifications/mgp.stream.gap": "streaming",
    EVENT: "bidirectional",
    CALLBACK: "bidirectional",
}
_ASKED_OF_US = frozenset({"permission/request", "permission/await"})


def _all() -> Iterator[Word]:
    yield from _MCP
    for extension, names in _MGP.items():
        for name in names:
            by = _BOTH if name in _ASKED_OF_US else _CLIENT
            yield Word(f"mgp/{name}", by, extension=extension)
    for name, extension in _MGP_SAID.items():
        yield Word(name, _SERVER, extension=extension)
    yield Word(f"{NOTIFICATIONS}mgp.stream.pace", _CLIENT, extension="streaming")


WORDS: tuple[Word, ...] = tuple(_all())
_BY_METHOD = {one.method: one for one in WORDS}

_RESERVED = ("mgp/", "gatewright/", f"{NOTIFICATIONS}mgp.", f"{NOTIFICATIONS}mgp/")
"""What begins like this is MGP's or the gateway's own, whether it has a meaning already or not."""

_SPACES = frozenset(one.method.partition("/")[0] for one in WORDS) | {"gatewright", "rpc"}
"""What names of MCP and MGP begin with: what a revision to come may call something is nobody else's."""


_OURS = frozenset({"mgp", "gatewright"})


def is_known(method: str) -> bool:
    """Whether it is a message of MCP or MGP, or kept for one; then nobody can declare it."""
    return method in _BY_METHOD or method.startswith(_RESERVED)


def defined(method: str, by: By, revision: str, extensions: Collection[str] = ()) -> bool:
    """Whether this side may send it in a revision, with these extensions of MGP negotiated. What an extension adds it adds to
    every revision. A name that is kept for MGP or the gateway and has no meaning is nobody's to send."""
    word = _BY_METHOD.get(method)
    if word is None or by not in word.by:
        return False
    if word.extension:
        return word.extension in extensions
    return revision in word.revisions


# -- what is none of them -------------------------------------------------------------------------

_EDGE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$")
_PLAIN = _EDGE | frozenset(".:-")


def flaw_of(method: str) -> str:
    """Why a name cannot be a method: it is no plain name, or reads as one that is known; empty where it can be one."""
    if method in _BY_METHOD:
        return ""
    return _flaw_of(method) if len(method) <= LONGEST else _too_long(method)


def _too_long(method: str) -> str:
    known = reads_as(method[: 2 * LONGEST])
    return f"a method has at most {LONGEST} characters" + (f"; write {known}" if known else "")


@lru_cache(1024)
def _flaw_of(method: str) -> str:
    known = reads_as(method)
    if known:
        return f"{method!a} is no method; {known} is, and is spelled so"
    for segment in method.split("/"):
        if not segment:
            return f"{method!a} is no method: nothing stands before, between or after a slash"
        strange = next((one for one in segment if one not in _PLAIN), "")
        if strange:
            return f"{method!a} is no method: it has the character U+{ord(strange):04X}"
        # A server that trims signs would take it for another name.
        if segment[0] not in _EDGE or segment[-1] not in _EDGE:
            return f"{method!a} is no method: {segment!r} begins or ends with a sign"
    return ""


def reads_as(method: str) -> str:
    """The known method that a reader takes this one for who trims, folds case and width, decodes or resolves paths; empty
    where there is none, and for the known ones themselves."""
    if method in _BY_METHOD:
        return ""
    for text in _decoded(method):
        for whole in (text, _resolved(text)):
            found = _FOLDED.get(_fold(whole))
            if found is not None:
                return found
    return ""


def _decoded(method: str) -> Iterator[str]:
    """The text, and what it says once its escapes are read: twice over, and bytes of UTF-8 that are longer than they may be."""
    text = method[
        : 4 * LONGEST
    ]  # of a longer one this much decides what is said of it; it is refused anyway
    for _ in range(3):
        yield text
        for longer, plain in _OVERLONG.items():
            text = text.replace(longer, plain).replace(longer.lower(), plain)
        text = html.unescape(unquote(_unescaped(text), errors="ignore"))


_OVERLONG = {"%C0%AF": "/", "%C0%AE": ".", "%C1%9C": "/", "%E0%80%AF": "/"}


def _unescaped(text: str) -> str:
    r"""With `\u0074`, `%u0074` and `\x74` read."""
    for mark, digits in (("\\u", 4), ("%u", 4), ("\\x", 2)):
        first, *rest = text.split(mark)
        text = first + "".join(_read(mark, one, digits) for one in rest)
    return text


def _read(mark: str, text: str, digits: int) -> str:
    try:
        return chr(int(text[:digits], 16)) + text[digits:]
    except ValueError:
        return mark + text


def _resolved(text: str) -> str:
    """The path that it is to who takes `..` for the way up."""
    found: list[str] = []
    for segment in text.replace("\\", "/").split("/"):
        if segment == ".." and found:
            found.pop()
        elif segment.strip(".") or segment == "..":
            found.append(segment)
    return "/".join(found)


def _fold(text: str) -> str:
    """Letters and digits alone, without case, width, accents and what looks like something else in ASCII."""
    apart = normal("NFKD", normal("NFKC", text)).casefold()
    return "".join(one for one in apart if one.isalnum()).translate(_LOOKS)


_LOOKS = str.maketrans(
    "01\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0501\u04cf\u03b1\u03bf\u03c1\u03b9\u03bd\u03c4\u03ba\u0261\u0131",
    "olaeopcyxisdlaopivtkgi",
)
"""Digits, and letters of Cyrillic and Greek, as they look. What else is not ASCII is refused as such."""
_FOLDED = {_fold(one.method): one.method for one in WORDS}


# -- what operators declare -------------------------------------------------------------------------


def flaw_of_pattern(pattern: str) -> str:
    """Why an operator cannot declare this; empty where it can be. A pattern is a method, or the beginning of one and `*`."""
    stem = pattern.removesuffix("*")
    if "*" in stem:
        return "a * stands at the end alone"
    wild = stem != pattern
    first = _fold(stem.removeprefix(NOTIFICATIONS).replace(".", "/").partition("/")[0])
    if is_known(stem) or (wild and is_known(stem.rstrip("/."))) or first in _OURS:
        return "this is MCP's, MGP's or the gateway's own"
    if wild and (not stem or stem[-1] not in "/." or _of_the_specification(stem)):
        return "before the * stands a name space that is not MCP's, such as acme/ or notifications/acme."
    return flaw_of(stem.rstrip("/.") if wild else stem)


def _of_the_specification(stem: str) -> bool:
    inner = stem.removeprefix(NOTIFICATIONS)
    first = inner.replace(".", "/").partition("/")[0]
    return not first or _fold(first) in {_fold(one) for one in _SPACES}


def declares(patterns: Collection[str], method: str) -> bool:
    """Whether patterns name a method. None covers a known one, what reads as one, or, by its `*`, what ends as one."""
    if not patterns or is_known(method) or flaw_of(method):
        return False
    if method in patterns:
        return True
    stems = [one[:-1] for one in patterns if one.endswith("*")]
    return any(
        method.startswith(stem) and len(method) > len(stem) and not _ends_known(method)
        for stem in stems
    )


def _ends_known(method: str) -> bool:
    """A server that takes the beginning for a name space, up to any sign, would run the rest."""
    space = NOTIFICATIONS if method.startswith(NOTIFICATIONS) else ""
    name = method.removeprefix(space)
    cuts = [
        n for n, sign in enumerate(name) if sign in "/.:" or (sign in "-_$" and "/" in name[n:])
    ]
    ends = [name, *(name[n + 1 :] for n in cuts)]
    return any(
        _fold(form) in _FOLDED or is_known(form) for end in ends for form in (end, space + end)
    )
