"""Secrets that are told by what stands beside them: a name, a vendor, a scheme, an address.

`HINTS` is what a text must hold for any of it, JSON text with its escapes included; `RULES` find the
exact places in text without escapes, `of_member` judges a member of a JSON object. Each finding is (start, end, rule).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gatewright.redaction.cookies import may_open
from gatewright.redaction.names import is_secret_name, looks_chosen, looks_random, may_be_secret
from gatewright.redaction.patterns import Pattern, either
from gatewright.redaction.vendors import NUMBERED, VENDORS, VERSION_CONTROL

__all__ = ["HINTS", "RULES", "Finding", "is_paired", "of_member"]

Finding = tuple[int, int, str]

_KEYWORDS = (
    "pass|pwd|secret|token|credential|authorization|cookie|mnemonic|bearer|_auth|jwt|(?:api|access|private|auth|account|signing|encryption|master|shared|license|service|"
    "app|storage|client|consumer|integration|webhook|subscription|ssh|primary|secondary|function|admin|"
    "deploy|session|host|customer|rest|write|ingest|ingestion|activation|personal|preshared)s?[ _-]?keys?|authkey|"
    "psk|kennwort|contrasena|senha|seed[ _-]?phrase|recovery[ _-]?codes?|preshared"
)
_IDENT = r"[A-Za-z0-9_.-]"
_QUOTES = r"(?:\\{0,3}[\"'`\]]){0,2}"
_GAP = r"(?:\\t|[ \t]){0,8}"
_SIGNS = r"(?::{1,3}=|=>|=|\|\|?|>|\?=|,|:{1,2})"
_OPERATOR = f"{_QUOTES}{_GAP}{_SIGNS}{_GAP}"
_PAIRED = (
    r"(?:\\[nrt]|[\s,;\"'`\\-]){1,16}(?i:(?:default_?|string)?value)"
    + _QUOTES
    + r"\s{0,4}[:=]\s{0,4}"
)
_PAIR_NAME = (
    rf"(?i:\bname|\bkey|\bvariable|\bheader|\bparam|\benv|\bid){_QUOTES}{_GAP}[:=]{_GAP}{_QUOTES}"
)
_NAMED_AFTER = _PAIR_NAME + rf"[A-Za-z0-9_./-]{{0,40}}(?i:{_KEYWORDS})"
_VENDOR = "(?i:" + "|".join(sorted(VENDORS, key=len, reverse=True)) + ")"
_PLAIN_VALUE = r"[A-Za-z0-9_.=+/~:%-]"
_SAID = (
    r"(?i:credentials?|password|passphrase|passwd|token|bearer|basic|api[ _-]?key|secret|access[ _-]?key|"
    r"secret key|jwt|key)(?i: is| was| of| for|:)?(?:[ \t]|\\t){1,8}[\"'`]?"
)
_URL = r"[a-zA-Z][a-zA-Z0-9+.-]{1,24}:(?:\\?/){2}"

HINTS = either(
    [
        f"(?i:{_KEYWORDS}){_IDENT}{{0,32}}{_QUOTES}(?:{_GAP}{_SIGNS}|{_PAIRED})",
        _NAMED_AFTER,
        f"{_VENDOR}[A-Za-z0-9_. -]{{0,32}}{_OPERATOR}{_QUOTES}{_PLAIN_VALUE}{{8}}",
        f"{_SAID}{_PLAIN_VALUE}{{10}}",
        f"(?i:key|auth){_OPERATOR}{_QUOTES}{_PLAIN_VALUE}{{14}}",
        _URL + r"[^\s/?#@\"\\]{0,256}:[^\s/@\"]{1,256}@",
        _URL + "[A-Za-z0-9_-]{20,256}@",
        r"(?i:mysql|mariadb|login|redis-cli|sqlcmd)[^\r\n]*[ \t]-[pPa]",
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
_PEM = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PUTTY = (
    r"PuTTY-User-Key-File-[0-9](?:[^\n]*\n){3,40}?"
    r"Private-Lines: [0-9]+\s((?:[A-Za-z0-9+/=]+\s?)+)"
)
_OPTIONS = (
    r"(?:\s|^|[\"'])(?:(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{1,64}:|(?:sshpass )-p ?[\"']?|"
    r"--(?i:pass|passwd|password|passphrase|token|api-?key|secret|auth-token|access-token|secret-key|"
    r"client-secret)[ =][\"']?)"
    r"([^\s\"']{4,256})|(?i:login\s+\S{1,64}\s+password\s+)(\S{4,256})|"
    r"(?i:\b(?:mysql|mariadb)[a-z_-]*)\s[^\r\n|;]*?-p([^\s\"']{4,256})|"
    r"\blogin\s[^\r\n|;]*?\s-p ([^\s\"']{4,256})|\bredis-cli\s[^\r\n|;]*?-a ([^\s\"']{4,256})|"
    r"\bsqlcmd\s[^\r\n|;]*?-P ?([^\s\"']{4,256})"
)
_named = Pattern(_NAMED)
_named_parts = re.compile(_NAMED.encode())
_named_after = Pattern(f"{_NAMED_AFTER}{_IDENT}{{0,40}}")
_named_after_parts = re.compile(f"{_PAIR_NAME}([A-Za-z0-9_./-]+)".encode())
_beside_vendor = Pattern(_BESIDE_VENDOR)
_beside_vendor_parts = re.compile(_BESIDE_VENDOR.encode())
_in_name = Pattern(rf"(?:^|[^A-Za-z])({_VENDOR})", captures=True)
_after_words = Pattern(_AFTER_WORDS, captures=True)
_key = Pattern(_KEY, captures=True)
_in_url = Pattern(_IN_URL, captures=True)
_user_in_url = Pattern(_USER_IN_URL, captures=True)
_pem = Pattern(_PEM)
_putty = Pattern(_PUTTY, captures=True)
_options = Pattern(_OPTIONS, captures=True)

_PEM_END = re.compile(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(rb"(?:[A-Za-z0-9+/=\s]|\\+[nr]|[A-Za-z-]+: [^\n\\]*)*")
_PEM_LINE = re.compile(rb"[A-Za-z0-9+/=]{32}")
_COOKIES = re.compile(rb"[^\s=;,\"']+=[^\s=]")
_PARAMETERS = re.compile(rb"[A-Za-z_-]+=[\"\w]")
_TO_LINE_END = re.compile(rb"[^\r\n\\]*")
_PHRASE = re.compile(r"[a-z]{3,12}(?:[ -][a-z]{3,12}){3,23}")
_KEY_PART = re.compile(r"[A-Za-z0-9_-]{43,}")
_CACHED = re.compile(r"-[0-9a-f]{32,}\Z")
"""What a cache is asked for: some words and a digest."""
_NAME_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_NAME_MOST = 40
_PEM_LEAST = 24
_PEM_MOST = 64 * 1024
_LINE = re.compile(rb"[^\r\n\"'\\]*")
_OPENED = re.compile(rb"(\\*)([\"'`])")
_BARE = re.compile(rb"[^\s\"'`,;&<>)}\]\\]+")
_SCHEME = re.compile(
    rb"(?i:bearer|basic|token|digest|api-?key|api-?token|key|negotiate|ssws|bot|aws4-hmac-sha256|splunk|geniekey|oauth|hawk|dpop|jwt)[ +]+"
)
_BARE_MOST = 256
_BARE_BACKWARDS = re.compile(rb"={0,2}[^\s\"'`,;&<>)}\]\\:=]+")
_SPACES = tuple(bytes((sign,)) for sign in b", ;\t\r\n-")
_VALUE_NAME = re.compile(rb"(?i:value)[\\\"'`]{0,8}\s{0,8}[:=]\s{0,8}\Z")
_VALUE_MOST = 4096
_QUOTE_SIGNS = (b'"', b"'", b"`")
_LINE_ENDS = (b"\\n", b"\\r", b"\\t")
_REFERENCES = (b"${", b"{{")
_OPENING = (b"(", b"[", b"{")
_WEAK = (b",", b">", b"|")


def _value_of(text: bytes, at: int) -> tuple[int, int, bool]:
    """(start, end, whether it is quoted) of the value that begins at `at`; a scheme before it is left out."""
    opened = _OPENED.match(text, at)
    if opened is None:
        return *_bare(text, at), False
    start = opened.end()
    closing = opened.group()
    end = text.find(closing, start)
    if end < 0 or end - start > 4096:
        return *_bare(text, start), False
    scheme = _SCHEME.match(text, start, end)
    return (start if scheme is None else scheme.end()), end, True


def _bare(text: bytes, at: int) -> tuple[int, int]:
    scheme = _SCHEME.match(text, at)
    start = at if scheme is None else scheme.end()
    found = _BARE.match(text, start)
    return start, start if found is None else found.end()


def _names(text: bytes) -> Iterator[Finding]:
    """Values beside names of secrets, in any notation that writes `name`, a sign, `value`."""
    at = 0
    while (spans := _named.after(text, at)) is not None:
        at = max(spans[0][1], at + 1)
        parts = _named_parts.match(text, spans[0][0])
        if parts is None or not _is_named(text, *parts.span(1)):
            continue
        start, end, quoted = _value_of(text, parts.end())
        value = text[start:end].decode("utf-8", "replace")
        if _sign(parts[3] or b"") in _WEAK and not looks_random(value, digests=True):
            continue
        name = parts[1].decode()
        if _is_header(name) and not quoted and _COOKIES.match(text, start):
            end = max(end, _line_end(text, start))
            value = may_open(text[start:end].decode("utf-8", "replace"))
        elif name.lower().endswith("authorization") and _PARAMETERS.match(text, start):
            end = max(end, _whole_line(text, start))
        if may_be_secret(value, quoted=quoted):
            yield start, end, "named"
            at = end


def _names_after(text: bytes) -> Iterator[Finding]:
    """Values in pairs of `value` and `name` whose name comes last."""
    for spans in _named_after.all(text):
        start = spans[0][0]
        parts = _named_after_parts.match(text, start)
        if parts is None or not is_secret_name(parts[1].decode()):
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
        opened = text.rfind(closing, max(0, end - _VALUE_MOST), end)
        start = opened + len(closing)
    else:
        bare = _BARE_BACKWARDS.match(text[max(0, end - _BARE_MOST) : end][::-1])
        start = opened = end if bare is None else end - len(bare.group())
    if opened < 0 or not _VALUE_NAME.search(text[max(0, opened - 32) : opened]):
        return None
    scheme = _SCHEME.match(text, start, end)
    return (start if scheme is None else scheme.end()), end, bool(closing)


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


def _is_named(text: bytes, start: int, end: int) -> bool:
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


def _whole_line(text: bytes, at: int) -> int:
    found = _TO_LINE_END.match(text, at)
    return at if found is None else found.end()


def _line_end(text: bytes, at: int) -> int:
    found = _LINE.match(text, at)
    return at if found is None else found.end()


def _vendors(text: bytes) -> Iterator[Finding]:
    for spans in _beside_vendor.all(text):
        parts = _beside_vendor_parts.match(text, spans[0][0])
        if parts is None or text[parts.end() : parts.end() + 1] in _OPENING:
            continue
        vendor, value = parts[1].decode(), parts[2].decode()
        bare = text[parts.start(2) - 1 : parts.start(2)] not in _QUOTE_SIGNS
        if _is_vendor_key(vendor, value) or (bare and _is_client(vendor, value)):
            yield *parts.span(2), "vendor"


def _spoken(text: bytes) -> Iterator[Finding]:
    for spans in _after_words.all(text):
        said = _text(text, spans[1])
        if looks_random(said, 12, digests=True) and not _CACHED.search(said):
            yield *spans[1], "named"


def _bare_keys(text: bytes) -> Iterator[Finding]:
    for spans in _key.all(text):
        said = _text(text, spans[1])
        if looks_random(said, 12) and not _CACHED.search(said):
            yield *spans[1], "named"


def _addresses(text: bytes) -> Iterator[Finding]:
    for spans in _in_url.all(text):
        if may_be_secret(_text(text, spans[1]), quoted=True):
            yield *spans[1], "url-password"


def _users(text: bytes) -> Iterator[Finding]:
    """Tokens that stand in a URL as a user without a password."""
    for spans in _user_in_url.all(text):
        if looks_random(_text(text, spans[1]), 20, digests=True):
            yield *spans[1], "url-password"


def _commands(text: bytes) -> Iterator[Finding]:
    for spans in _options.all(text):
        span = next(one for one in spans[1:] if one[0] >= 0)
        said = _text(text, span)
        if may_be_secret(said, quoted=False) or looks_chosen(said):
            yield *span, "command-line"


def _end_of_key(text: bytes, begun: int, ending: int) -> int:
    """Where a key ends whose body begins at `begun`: behind its last line, or where base64 ends.
    `ending` is where the next such line may be."""
    body = _PEM_BODY.match(text, begun)
    end = begun if body is None else body.end()
    if not begun <= ending <= begun + _PEM_MOST:
        return end
    closing = _PEM_END.match(text, ending)
    if closing is None or not _PEM_LINE.search(text, begun, ending):
        return end
    return closing.end()


def _private_keys(text: bytes) -> Iterator[Finding]:
    done = ending = 0
    for spans in _pem.all(text):
        start, begun = spans[0]
        if start < done:
            continue
        if 0 <= ending < begun:  # looked for once, however many keys begin before it
            ending = text.find(b"-----END ", begun)
        end = _end_of_key(text, begun, ending)
        if end - begun >= _PEM_LEAST:
            yield start, end, "private-key"
            done = end
    for spans in _putty.all(text):
        yield *spans[1], "private-key"


def _is_client(vendor: str, value: str) -> bool:
    return vendor.lower().startswith(NUMBERED) and value.isdigit() and 15 <= len(value) <= 20


def _is_vendor_key(vendor: str, value: str) -> bool:
    return looks_random(value, digests=not vendor.lower().startswith(VERSION_CONTROL))


def is_paired(name: str) -> bool:
    """Whether a member of this name holds the name of what a `value` beside it is the value of."""
    return name.lower() in {"name", "key", "variable", "header", "id", "param", "env"}


def of_member(name: str, value: str) -> tuple[int, str] | None:
    """Where in the value of a JSON member its secret begins, and by which rule; None where it is none."""
    said = value.encode()
    scheme = _SCHEME.match(said)
    start = 0 if scheme is None else scheme.end()
    if is_secret_name(name):
        whole = may_open(value) if _is_header(name) else said[start:].decode()
        if _PHRASE.fullmatch(whole) and _is_phrase(name):
            return start, "named"
        return (start, "named") if may_be_secret(whole, quoted=True) else None
    if name in {"d", "k"}:  # of a JSON Web Key
        return (0, "private-key") if _KEY_PART.fullmatch(value) and looks_random(value) else None
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
    (_AFTER_WORDS, _spoken),
    (_KEY, _bare_keys),
    (_IN_URL, _addresses),
    (_USER_IN_URL, _users),
    (_OPTIONS, _commands),
    ("PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File", _private_keys),
)
"""(what a text must hold, the finder of the exact places)."""
