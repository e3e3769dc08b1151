"""Finds literal secrets in configuration values, by name, form or entropy, and masks them for messages.

`gatewright.secret_scanning` knows the forms, and where it would damage what travels it is in doubt for the text.
Here it is the other way round: missing a secret writes it into a file that may be committed, while taking
a harmless text for one only makes the file longer, for replacing a part never changes what the server gets.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from gatewright.patterns import ASCII, IGNORECASE, Pattern
from gatewright.secret_scanning.scanner import scanner

__all__ = [
    "is_placeholder",
    "is_secret_name",
    "looks_secret",
    "mask",
    "mask_reference",
    "secret_spans",
]

Span = tuple[int, int]

_NAME = Pattern(
    r"token|secret|passw|passphrase|pwd|credential|cookie|bearer|jwt|signature|session"
    r"|auth(?:\Z|[^o]|o\Z|o[^r]|ori)|(?:^|[^a-z])(?:key|pat|dsn|pin|otp|sid|pass)(?:\Z|[^a-z])"
    r"|(?:api|access|private|secret|client|account|encryption|license|service|master|admin|app)_?key"
    r"|connection_?string|conn_?str|webhook",
    IGNORECASE,
)
# `max_tokens`, `token_file`, `auth_type`: about a secret, and none.
_NOT_NAME = Pattern(
    r"(?:^|[^a-z])(?:max|min|limit|num|count|ttl|expir\w*|timeout|file|path|dir|type|method|mode|enabled?)(?:\Z|[^a-z])",
    IGNORECASE,
)
_PLACEHOLDER = Pattern(
    r"<[^<>]*>|\[[^\[\]]*\]|(?:your|my|insert|enter|replace|put)[-_ ][A-Za-z_ -]{0,60}|[xX*.…]{3,}"
    r"|(?:[A-Za-z]{2,8}[-_])?[xX*.…]{6,}",
    IGNORECASE,
)
_CAMEL = Pattern(r"([a-z0-9])([A-Z])")

# What begins like a secret, be it as short as it may.
_BEGUN = Pattern(
    r"\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]|-[^-])*(?:-\Z|-----END [A-Z ]*PRIVATE KEY-----)?",
    ASCII,
)
_USERINFO = Pattern(r"//[^\s:@/?#]*:(?P<secret>[^\s]{1,512}[^\s]{0,512})@")
_ONLY_USER = Pattern(r"//(?P<secret>[^\s:@/?#]{8,})@")
_PARAMETER = Pattern(r"[?&;](?P<name>[^=&;#\s]+)=(?P<secret>[^&;#\s]+)")
_ASSIGNED = Pattern(r"(?:--?)?(?P<name>[A-Za-z_][\w.-]*)\s?[=:]\s*")
_RUN = Pattern(r"\S+")
_SCHEMES = frozenset({"bearer", "basic", "token", "apikey", "digest"})
_SCHEME = Pattern(r"(?:Bearer|Basic|Token|ApiKey|Digest)\s+", IGNORECASE)
_SCHEMED = Pattern(r"\b(?:Bearer|Basic)\s+(?P<secret>[^\s\"',;]{6,})", IGNORECASE | ASCII)
_WORD = Pattern(r"[A-Za-z0-9+_-]{16,}={0,2}")
_DIGESTS = ("sha1:", "sha256:", "sha384:", "sha512:", "@")
_LETTER, _FIGURE = Pattern("[A-Za-z]"), Pattern("[0-9]")
_PART = Pattern("[-_=+]")
_HEXADECIMAL = Pattern(r"[0-9a-f]{40,128}")


def is_placeholder(value: str) -> bool:
    """Whether somebody wrote here what ought to be written: `<token>`, `YOUR_API_KEY`, `xxxx`."""
    return _PLACEHOLDER.fullmatch(value.strip()) is not None


def is_secret_name(name: str) -> bool:
    """Whether what stands under this name is a secret, whatever it looks like."""
    plain = _CAMEL.sub(lambda found: f"{found[1]}_{found[2]}", name)
    return _NAME.search(plain) is not None and _NOT_NAME.search(plain) is None


def secret_spans(text: str, name: str = "") -> list[Span]:
    """Where secrets stand in a literal text, in order, without overlap. `name` is what it stands under."""
    if name and is_secret_name(name):
        scheme = _SCHEME.match(text)
        start = scheme.end() if scheme else 0
        return [(start, len(text))] if text[start:].strip() else []
    return _joined(sorted(_found(text)))


def looks_secret(text: str) -> bool:
    """Whether any part of a text has a secret's form."""
    return bool(secret_spans(text))


def mask(text: str, *, named: bool = True) -> str:
    """The text for people, with `***` where a secret may stand, and nothing that cannot be written. Without `named`
    what follows a name is left: in a sentence of ours that is a word."""
    text = text.encode(errors="replace").decode()
    done, at = [], 0
    for start, end in secret_spans(text) if named else _joined(sorted(_alone(text))):
        done += [text[at:start], "***"]
        at = end
    return "".join([*done, text[at:]])


def mask_reference(name: str) -> str:
    """What a text refers to (`NAME`, `secret:NAME`, `file:PATH`) for people."""
    kind, colon, rest = name.rpartition(":")
    return f"{kind}{colon}{mask(rest)}"


def _found(text: str) -> Iterator[Span]:
    yield from _alone(text)
    yield from _assigned(text)


def _alone(text: str) -> Iterator[Span]:
    """What is known by its form."""
    yield from _formed(text)
    yield from (found.span() for found in _BEGUN.finditer(text))
    for pattern in (_USERINFO, _ONLY_USER, _SCHEMED):
        yield from (found.span("secret") for found in pattern.finditer(text))
    for found in _PARAMETER.finditer(text):
        if is_secret_name(found["name"]):
            yield found.span("secret")
    for found in _WORD.finditer(text):
        # `image@sha256:…` pins a version.
        named = text.endswith(_DIGESTS, 0, found.start()) and _HEXADECIMAL.fullmatch(found[0])
        if not named and _is_random(found[0]):
            yield found.span()


def _assigned(text: str) -> Iterator[Span]:
    """Values behind names. They are looked at and not passed: what follows a name may be the next one."""
    runs = [one.span() for one in _RUN.finditer(text)]
    begins = [start for start, _ in runs]
    for found in _ASSIGNED.finditer(text):
        if found.start() and not (
            text[found.start() - 1].isspace() or text[found.start() - 1] in ",;="
        ):
            continue
        # The run without a space in which the sign ends.
        number = bisect_right(begins, found.end()) - 1
        if number < 0 or runs[number][1] <= found.end() or not is_secret_name(found["name"]):
            continue
        scheme = text[found.end() : runs[number][1]].lower() in _SCHEMES
        yield (
            runs[number + 1]
            if scheme and number + 1 < len(runs)
            else (found.end(), runs[number][1])
        )


def _formed(text: str) -> Iterator[Span]:
    """What the rules for everything that travels know: forms of vendors, names beside values."""
    raw = text.encode(errors="replace")
    found = scanner(secrets=True, personal=frozenset())
    if not found.worth_a_look(raw):
        return
    for start, end, _ in found.find(raw):
        # The scanner counts bytes, spans are characters.
        before = len(raw[:start].decode(errors="replace"))
        yield before, before + len(raw[start:end].decode(errors="replace"))


def _joined(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _is_random(word: str) -> bool:
    """Whether a word was drawn rather than written: letters and digits mixed inside one of its parts."""
    if word.startswith("sha256-") and _HEXADECIMAL.fits(word.removeprefix("sha256-")):
        return False
    parts = _PART.split(word)
    mixed = [part for part in parts if _LETTER.within(part) and _FIGURE.within(part)]
    cased = any(len(part) >= 24 and part.lower() != part != part.upper() for part in parts)
    if sum(map(len, mixed)) < 12 and not cased:
        return False
    return _entropy(word) >= (3.0 if len(word) >= 32 else 3.3)


def _entropy(word: str) -> float:
    """Bits for each character."""
    counts = Counter(word)
    return -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values())
