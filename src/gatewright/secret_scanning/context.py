"""Detection rules for secrets by what stands beside them: key name, vendor, auth scheme, URL, option; `of_member` judges a JSON member.

`HINTS` is what a text must hold for any of it, JSON text with its escapes included; `RULES` find the
exact places in text without escapes, `of_member` judges a member of a JSON object. Each finding is (start, end, rule).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from gatewright.patterns import Pattern as TextPattern
from gatewright.secret_scanning.cookies import may_open
from gatewright.secret_scanning.names import (
    is_name_for,
    is_secret_name,
    looks_chosen,
    looks_random,
    may_be_secret,
)
from gatewright.secret_scanning.patterns import OnLine, Pattern, Run, either
from gatewright.secret_scanning.private_keys import private_keys
from gatewright.secret_scanning.terraform import DEFAULT, defaults
from gatewright.word_tables import tables, words

__all__ = [
    "HINTS",
    "NAMED",
    "PROGRAM",
    "RULES",
    "VALUE_MOST",
    "VENDORS",
    "Finding",
    "is_named",
    "is_paired",
    "of_member",
]

Finding = tuple[int, int, str]

_KEYWORDS = (
    "pass|pwd|secret|token|credential|authorization|cookie|mnemonic|bearer|_auth|jwt|(?:api|access|private|auth|account|signing|encryption|master|shared|license|service|"
    "app|storage|client|consumer|integration|webhook|subscription|ssh|primary|secondary|function|admin|"
    "deploy|session|host|customer|rest|write|ingest|ingestion|activation|personal|preshared)s?[ _-]?keys?|authkey|"
    "psk|kennwort|contrasena|senha|seed[ _-]?phrase|recovery[ _-]?codes?|preshared"
)
_IDENT = r"[A-Za-z0-9_.-]"
# A quote inside a JSON text that stands in a JSON text has up to three backslashes before it.
_QUOTES = r"(?:\\{0,3}[\"'`\]]){0,2}"
_GAP = r"(?:\\t|[ \t]){0,8}"
# Of programs (`=`, `:=`, `=>`), tables (`|`), XML (`>`), CSV (`,`).
_SIGNS = r"(?::{1,3}=|=>|=|\|\|?|>|\?=|,|:{1,2})"
_OPERATOR = f"{_QUOTES}{_GAP}{_SIGNS}{_GAP}"
# `{"name": "API_KEY", "value": "…"}`, as environments and headers are listed.
_PAIRED = (
    r"(?:\\[nrt]|[\s,;\"'`\\-]){1,16}(?i:(?:default_?|string)?value)"
    + _QUOTES
    + r"\s{0,4}[:=]\s{0,4}"
)
# The same with the name last; RE2 cannot look back, so the value before it is found by hand (`_value_before`).
_PAIR_NAME = (
    rf"(?i:\bname|\bkey|\bvariable|\bheader|\bparam|\benv|\bid){_QUOTES}{_GAP}[:=]{_GAP}{_QUOTES}"
)
_NAMED_AFTER = _PAIR_NAME + rf"[A-Za-z0-9_./-]{{0,40}}(?i:{_KEYWORDS})"
VENDORS: dict[str, tuple[str, ...]] = words(tables(__file__, "vendors.toml"))
"""Whose keys have no form of their own, and what the file says besides of some of them."""
_VENDOR = "(?i:" + "|".join(sorted(VENDORS["vendors"], key=len, reverse=True)) + ")"
_PLAIN_VALUE = r"[A-Za-z0-9_.=+/~:%-]"
_SAID = (
    r"(?i:credentials?|password|passphrase|passwd|token|bearer|basic|api[ _-]?key|secret|access[ _-]?key|"
    r"secret key|jwt|key)(?i: is| was| of| for|:)?(?:[ \t]|\\t){1,8}[\"'`]?"
)
_URL = r"[a-zA-Z0-9+.-]:(?:\\?/){2}"
"""The end of a scheme is enough. A count of what may stand before it has as many states as text of one character class."""

PROGRAM = "(?i:mysql|mariadb|login|redis-cli|sqlcmd)"
"""What has its password anywhere on its line."""

HINTS = either(
    [
        f"(?i:{_KEYWORDS}){_IDENT}{{0,32}}{_QUOTES}(?:{_GAP}{_SIGNS}|{_PAIRED})",
        _NAMED_AFTER,
        f"{_VENDOR}[A-Za-z0-9_. -]{{0,32}}{_OPERATOR}{_QUOTES}{_PLAIN_VALUE}{{8}}",
        f"{_SAID}{_PLAIN_VALUE}{{10}}",
        f"(?i:key|auth){_OPERATOR}{_QUOTES}{_PLAIN_VALUE}{{14}}",
        _URL + r"[^\s/?#@\"\\]{0,256}:[^\s/@\"]{1,256}@",
        _URL + "[A-Za-z0-9_-]{20,256}@",
        PROGRAM + r"[^\r\n]*[ \t]-[pPa]",
        "(?i:private key)",
        r"(?i:(?:-u|--user|sshpass -p|--pass(?:word)?|--token|--api-key|--secret|-pw))[ =]",
        r"(?i:login\s+\S{1,64}\s+password\s)",
        "PuTTY-User-Key-File",
    ]
)

_NAMED = f"((?i:{_KEYWORDS}){_IDENT}{{0,40}})(?:({_PAIRED})|({_OPERATOR}))"
_BESIDE_VENDOR = rf"(?:^|[^A-Za-z]|\\[nrt])({_VENDOR})[A-Za-z0-9_. -]{{0,32}}{_OPERATOR}{_QUOTES}({_PLAIN_VALUE}{{10,256}})"
_AFTER_WORDS = rf"(?:\b|[A-Z_]|\\[nrt]){_SAID}({_PLAIN_VALUE}{{10,256}})"
_KEY = rf"(?:\b|\\[nrt])(?i:key|auth){_OPERATOR}{_QUOTES}({_PLAIN_VALUE}{{14,256}})"
_IN_URL = _URL + r"[^\s/?#@:\"'<>\\]{0,256}:([^\s/@\"'<>\\]{1,256})@"
_USER_IN_URL = _URL + "([A-Za-z0-9_-]{20,256})@"
_OPTIONS = (
    r"(?:\s|^|[\"'])(?:(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{1,64}:|(?:sshpass )-p ?[\"']?|"
    r"--(?i:pass|passwd|password|passphrase|token|api-?key|secret|auth-token|access-token|secret-key|"
    r"client-secret)[ =][\"']?)"
    r"([^\s\"']{4,256})|(?i:login\s+\S{1,64}\s+password\s+)(\S{4,256})"
)
_PROGRAMS = tuple(
    (one["begin"], one["within"]) for one in tables(__file__, "commands.toml")["options"]
)
"""(how a command begins, where its password stands)."""
_options_of = tuple(OnLine(*one) for one in _PROGRAMS)
NAMED = Pattern(_NAMED, captures=True, bounded=True)
_named_after = Pattern(f"{_NAMED_AFTER}{_IDENT}{{0,40}}", bounded=True)
_named_after_parts = Pattern(f"{_PAIR_NAME}([A-Za-z0-9_./-]+)", captures=True)
_beside_vendor = Pattern(_BESIDE_VENDOR, captures=True, bounded=True)
_in_name = Pattern(rf"(?:^|[^A-Za-z])({_VENDOR})", captures=True)
_after_words = Pattern(_AFTER_WORDS, captures=True, bounded=True)
_key = Pattern(_KEY, captures=True, bounded=True)
_in_url = Pattern(_IN_URL, captures=True, bounded=True)
_user_in_url = Pattern(_USER_IN_URL, captures=True, bounded=True)
_options = Pattern(_OPTIONS, captures=True)

_PUBLIC = Pattern(r"@o[0-9]+\.ingest\.(?:[a-z]{2}\.)?sentry\.io/")
"""Hosts to which the user of a URL is a key that is in every page."""
_COOKIES = Pattern(r"[^\s\x0b=;,\"']{1,256}=[^\s\x0b=]")
_PARAMETERS = Pattern(r"[A-Za-z_-]{1,256}=[\"\w]")
_TO_LINE_END = Pattern(r"[^\r\n\\]*")
_PHRASE = TextPattern(r"[a-z]{3,12}(?:[ -][a-z]{3,12}){3,23}")
_KEY_PART = TextPattern(r"[A-Za-z0-9_-]{43,}")
_CACHED = TextPattern(r"-[0-9a-f]{32,}\Z")
"""What a cache is asked for: some words and a digest."""
_NAME_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
# Bytes before a keyword that are read as the beginning of its name.
_NAME_MOST = 40
_LINE = Pattern(r"[^\r\n\"'\\]*")
_OPENED = Pattern(r"\\*[\"'`]")
_BARE = Pattern(r"[^\s\x0b\"'`,;&<>)}\]\\]+")
_SCHEME = Pattern(
    r"(?i:bearer|basic|token|digest|api-?key|api-?token|key|negotiate|ssws|bot|aws4-hmac-sha256|splunk|geniekey|oauth|hawk|dpop|jwt)[ +]+"
)
_BARE_MOST = 256
_BARE_BACKWARDS = Pattern(r"={0,2}[^\s\x0b\"'`,;&<>)}\]\\:=]+")
_SPACES = tuple(bytes((sign,)) for sign in b", ;\t\r\n-")
_VALUE_NAME = Pattern(r"(?i:value)[\\\"'`]{0,8}[\s\x0b]{0,8}[:=][\s\x0b]{0,8}\z")
VALUE_MOST = 4096
_JUDGED = 512
"""So much of a value without quotes says whether it is a secret."""
_QUOTE_SIGNS = (b'"', b"'", b"`")
_OPENS = (*_QUOTE_SIGNS, b"\\")
_LINE_ENDS = (b"\\n", b"\\r", b"\\t")
_REFERENCES = (b"${", b"{{")
_OPENING = (b"(", b"[", b"{")
# Signs that stand between words and cells as well: what is behind them has to look random.
_WEAK = (b",", b">", b"|")


class _Values:
    """What stands behind names in one text. A name may be repeated inside a value, so no run is measured twice."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._bare = Run(_BARE, text)
        self._line = Run(_LINE, text)
        self._whole_line = Run(_TO_LINE_END, text)
        self._cookies_to = 0

    def behind(self, at: int) -> tuple[int, int, bool]:
        """(start, end, whether it is quoted) of the value that begins at `at`; a scheme before it is left out."""
        if self._text[at : at + 1] not in _OPENS:
            return *self._unquoted(at), False
        start = _OPENED.end_at(self._text, at)
        if start == at:
            return *self._unquoted(at), False
        closing = self._text[at:start]
        end = self._text.find(closing, start, start + VALUE_MOST + len(closing))
        if end < 0:
            return *self._unquoted(start), False
        return _SCHEME.end_at(self._text, start, end), end, True

    def _unquoted(self, at: int) -> tuple[int, int]:
        start = _SCHEME.end_at(self._text, at)
        return start, self._bare.end(start)

    def judged(self, name: str, start: int, end: int, *, quoted: bool) -> tuple[int, str]:
        """(end, what is judged): of a header's value more than its first word. The cookies of a line are judged once."""
        if quoted:
            return end, _text(self._text, (start, end))
        value = self._text[start : min(end, start + _JUDGED)].decode("utf-8", "ignore")
        if _is_header(name) and start >= self._cookies_to and _COOKIES.at(self._text, start):
            end = self._cookies_to = max(end, self._line.end(start))
            value = may_open(_text(self._text, (start, end)))
        elif name.lower().endswith("authorization") and _PARAMETERS.at(self._text, start):
            end = max(end, self._whole_line.end(start))
        return end, value


def _names(text: bytes) -> Iterator[Finding]:
    """Values beside names of secrets, in any notation that writes `name`, a sign, `value`."""
    at, values = 0, _Values(text)
    while (parts := NAMED.after(text, at)) is not None:
        # Behind the sign and not behind the value, which may hold the next name.
        at = max(parts[0][1], at + 1)
        if not is_named(text, *parts[1]):
            continue
        start, end, quoted = values.behind(parts[0][1])
        if _sign(text[slice(*parts[3])] if parts[3][0] >= 0 else b"") in _WEAK:
            weak = _text(text, (start, min(end, start + VALUE_MOST)))
            if not looks_random(weak, digests=True):
                continue
        name = text[slice(*parts[1])].decode()
        end, value = values.judged(name, start, end, quoted=quoted)
        if may_be_secret(value, quoted=quoted) and not is_name_for(name, value):
            yield start, end, "named"
            at = end


def _names_after(text: bytes) -> Iterator[Finding]:
    """Values in pairs of `value` and `name` whose name comes last."""
    for spans in _named_after.all(text):
        start = spans[0][0]
        parts = _named_after_parts.at(text, start)
        if parts is None or not is_secret_name(text[slice(*parts[1])].decode()):
            continue
        found = _value_before(text, start)
        if found is not None and may_be_secret(_text(text, found[:2]), quoted=found[2]):
            yield *found[:2], "named"


def _value_before(text: bytes, at: int) -> tuple[int, int, bool] | None:
    """(start, end, whether it is quoted) of what a member `value` directly before `at` says."""
    at -= len(_closing(text, at))  # the quote that opens the name
    at = _between(text, at)
    closing = _closing(text, at)
    end = at - len(closing)
    if closing:
        opened = text.rfind(closing, max(0, end - VALUE_MOST), end)
        start = opened + len(closing)
    else:
        # RE2 has no look-behind: the value is read from its end in reversed text.
        backwards = text[max(0, end - _BARE_MOST) : end][::-1]
        start = opened = end - _BARE_BACKWARDS.end_at(backwards, 0)
    if opened < 0 or not _VALUE_NAME.hits(text[max(0, opened - 32) : opened]):
        return None
    return _SCHEME.end_at(text, start, end), end, bool(closing)


def _closing(text: bytes, at: int) -> bytes:
    """The quote that ends at `at`, as it is written there; empty where there is none."""
    begun = at - 1
    if text[max(0, begun) : at] not in _QUOTE_SIGNS:
        return b""
    while at - begun < 8 and text[max(0, begun - 1) : begun] == b"\\":
        begun -= 1
    return text[begun:at]


def _between(text: bytes, at: int) -> int:
    """Where what stands between two members begins that ends at `at`."""
    for _ in range(64):
        if text[max(0, at - 2) : at] in _LINE_ENDS:
            at -= 2
        elif text[max(0, at - 1) : at] in _SPACES:
            at -= 1
        else:
            break
    return at


def is_named(text: bytes, start: int, end: int) -> bool:
    """Whether the name by a part of which something was found is one of a secret's: no reference to
    one (`${secret:NAME}`), and no word of a sentence (`must pass: this`)."""
    before = text[max(0, start - _NAME_MOST) : start]
    begun = start - len(before) + len(before.rstrip(_NAME_LETTERS))
    if begun and text[begun - 1 : begun + 1] in _LINE_ENDS:
        begun += 1
    name, before = text[begun:end].decode("latin-1"), text[max(0, begun - 2) : begun]
    if before in _REFERENCES or (name == "pass" and before[1:] == b" " and before[:1].isalnum()):
        return False
    return is_secret_name(name)


def _sign(operator: bytes) -> bytes:
    return operator.strip(b"\\\"'`] \t\r\n")


def _is_header(name: str) -> bool:
    return name.lower().endswith("cookie")


def _is_phrase(name: str) -> bool:
    return "phrase" in name.lower() or "mnemonic" in name.lower()


def _vendors(text: bytes) -> Iterator[Finding]:
    for parts in _beside_vendor.all(text):
        # `stripe.confirmPayment(…` is a call.
        if text[parts[0][1] : parts[0][1] + 1] in _OPENING:
            continue
        vendor, value = _text(text, parts[1]), _text(text, parts[2])
        bare = text[parts[2][0] - 1 : parts[2][0]] not in _QUOTE_SIGNS
        if _is_vendor_key(vendor, value) or (bare and _is_client(vendor, value)):
            yield *parts[2], "vendor"


def _spoken(text: bytes) -> Iterator[Finding]:
    for spans in _after_words.all(text):
        said = _text(text, spans[1])
        if looks_random(said, 12, digests=True) and not _CACHED.within(said):
            yield *spans[1], "named"


def _bare_keys(text: bytes) -> Iterator[Finding]:
    for spans in _key.all(text):
        said = _text(text, spans[1])
        if looks_random(said, 12) and not _CACHED.within(said):
            yield *spans[1], "named"


def _addresses(text: bytes) -> Iterator[Finding]:
    for spans in _in_url.all(text):
        if may_be_secret(_text(text, spans[1]), quoted=True):
            yield *spans[1], "url-password"


def _users(text: bytes) -> Iterator[Finding]:
    """Tokens that stand in a URL as a user without a password."""
    for spans in _user_in_url.all(text):
        if looks_random(_text(text, spans[1]), 20, digests=True) and not _PUBLIC.at(
            text, spans[1][1]
        ):
            yield *spans[1], "url-password"


def _commands(text: bytes) -> Iterator[Finding]:
    options = (next(one for one in spans[1:] if one[0] >= 0) for spans in _options.all(text))
    for span in chain(options, *(one.all(text) for one in _options_of)):
        said = _text(text, span)
        if may_be_secret(said, quoted=False) or looks_chosen(said):
            yield *span, "command-line"


def _is_client(vendor: str, value: str) -> bool:
    return (
        vendor.lower().startswith(VENDORS["numbered"])
        and value.isdigit()
        and 15 <= len(value) <= 20
    )


def _is_vendor_key(vendor: str, value: str) -> bool:
    # `git 4f2a…` is a commit; beside other vendors' names a row of hexadecimal digits is a key.
    return looks_random(value, digests=not vendor.lower().startswith(VENDORS["version_control"]))


def is_paired(name: str) -> bool:
    """Whether a member of this name holds the name of what a `value` beside it is the value of."""
    return name.lower() in {"name", "key", "variable", "header", "id", "param", "env"}


def of_member(name: str, value: str) -> tuple[int, str] | None:
    """Where in the value of a JSON member its secret begins, and by which rule; None where it is none."""
    said = value.encode()
    start = _SCHEME.end_at(said, 0)
    if is_secret_name(name):
        whole = may_open(value) if _is_header(name) else said[start:].decode()
        if _is_phrase(name) and _PHRASE.fits(whole):
            return start, "named"
        found = may_be_secret(whole, quoted=True) and not is_name_for(name, whole)
        return (start, "named") if found else None
    # RFC 7518, 6: the private and the symmetric part of a key.
    if name in {"d", "k"}:  # of a JSON Web Key
        return (0, "private-key") if _KEY_PART.fits(value) and looks_random(value) else None
    if name.lower() in {"key", "auth"}:
        return (0, "named") if looks_random(value, 12) else None
    vendor = _in_name.after(name.encode(), 0)
    if vendor is not None and _is_vendor_key(_text(name.encode(), vendor[1]), value):
        return 0, "vendor"
    return None


def _text(text: bytes, span: tuple[int, int]) -> str:
    return text[slice(*span)].decode("utf-8", "replace")


RULES: tuple[tuple[str, Callable[[bytes], Iterator[Finding]]], ...] = (
    (_NAMED, _names),
    (_NAMED_AFTER, _names_after),
    (_BESIDE_VENDOR, _vendors),
    (DEFAULT, defaults),
    (_AFTER_WORDS, _spoken),
    (_KEY, _bare_keys),
    (_IN_URL, _addresses),
    (_USER_IN_URL, _users),
    (either([_OPTIONS, *(rf"{one}[^\r\n|;]*?{where}" for one, where in _PROGRAMS)]), _commands),
    ("PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File", private_keys),
)
"""(what a text must hold, the finder of the exact places)."""
