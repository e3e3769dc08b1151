"""Detection rules for passwords chosen by people, in sentences, source code, tables and command lines; and for wallet mnemonics.

A chosen password is no random text, and what introduces it is often words of prose. So a value counts
only where it looks chosen: letters with digits or signs among them, and nothing that programs call something.

`HINTS` is what a text must hold for any of it, JSON text with its escapes included; `RULES` find the exact places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from gatewright.patterns import Pattern as TextPattern
from gatewright.secret_scanning.foreign_words import FOREIGN, FOREIGN_HINT
from gatewright.secret_scanning.names import looks_chosen, looks_random, may_be_secret
from gatewright.secret_scanning.patterns import Next, OnLine, Pattern, either
from gatewright.word_tables import tables

__all__ = ["COMMANDS", "HINTS", "PROGRAM", "RULES"]

Finding = tuple[int, int, str]

_ENGLISH = (
    "(?i:pass ?word|passwd|passphrase|passcode|wi-?fi key|unseal key|(?:bind|admin|root|db)[ _]?pw)|"
    r"\b(?i:pw|pwd|pass|creds)\b[\"'*]{0,2}[ \t]{0,128}[:=]|DB_PASS|API_(?:KEY|TOKEN)|(?i:secret[ _]?key|api[ _-]?key|api_secret|client_?secret)|"
    r"(?:AUTH|NONCE|LOGGED_IN)_SALT|requirepass|masterauth|bindpw|authtok|_PASS\b|(?i:(?:api|access|auth)[_ -]?token)|\b[tT]oken (?:[a-z]{1,32} ){0,3}?(?:[a-z]{1,32}:|->)|\b[tT]oken(?:: ?| )(?:[sS]tring|&?str)\b"
)
_WORD = f"(?:{_ENGLISH}|{FOREIGN})"
_PROGRAMS = (
    r"(?:mongo(?:sh)?|mongodump|ldap[a-z]+|lftp|https? -a|7za?|zip|unzip|unrar|twine|ipmitool|mosquitto_[ps]ub|"
    r"openssl|svn|smbclient)"
)
_CALLS = (
    r"(?:\bauth ?= ?|HTTPBasicAuth|NetworkCredential|getConnection|mysqli_connect|\bPDO|signIn\w*|BasicAuth|setBasicAuth|"
    r"jwt[.](?:sign|encode|verify|decode)|hmac[.]new|createHmac|ConvertTo-SecureString)"
)
COMMANDS: dict[str, Any] = tables(__file__, "commands.toml")
"""Where commands have a password; what is in the tables says the file."""
_BRIEF = "|".join(COMMANDS["words"])
_PHRASE_WORD = r"(?i:mnemonic|(?:seed|recovery|backup|secret)[ _-]?(?:phrase|words))"
_MNEMONIC = (
    r"(?i:mnemonic|(?:seed|recovery|backup|secret)[ _-]?(?:phrase|words)|seed)[\"'`]{0,2}[^a-z\r\n]{1,12}"
    r"((?:[a-z]{3,8}[ ]){11,23}[a-z]{3,8})"
)

_COMMAND_HINT = either(
    [
        rf"\b{_PROGRAMS}[ \t][^\r\n|;]*?-?[pPakwuU]",
        _BRIEF,
        r":(?:[0-9]{2,5}|[*]):[^:\s]+:[^:\s]+:\S",
    ]
)
_COMMAND_MET = either([rf"\b{_PROGRAMS}[ \t]", _BRIEF, r":(?:[0-9]{4}|[*]):[^:\s]"])
"""What needs few states, for the one pass that asks about all rules."""

PROGRAM = rf"\b{_PROGRAMS}[ \t]"
"""What has its password anywhere on its line."""

HINTS = either(
    [
        f"(?:{_ENGLISH}|{FOREIGN_HINT})[^\\r\\n]*?[0-9]",
        _COMMAND_HINT,
        f"{_CALLS}[( ]",
        _PHRASE_WORD,
    ]
)

_words = Pattern(_WORD, bounded=True)
_DIGIT = Pattern("[0-9]", bounded=True)
_LINE_END = Pattern(r"[\r\n]", bounded=True)
_calls = Pattern(f"{_CALLS}[( ]")
_mnemonic = Pattern(_MNEMONIC, captures=True, bounded=True)

_VALUE = r"([^\s\x0b\"'`<>|\\,;]{6,64})"
_OPEN = r"(?:<!\[CDATA\[|(?:\\?[\"'`*_@b(\xab]){0,4})"
_TYPE = r"(?:[ \t]*[&*]?(?:[sS]tring|str|&'static str|char|text|String[?])[ \t]*=)?"
_SIGN = Pattern(
    r"[^\r\n:=]{0,72}?(?:\xef\xbc\x9a|<-|->|[ \t]-[ \t]|[ \t|]\|{1,2}=?|</\w+>[\s\x0b]{0,8}<\w+>|[=:>]{1,3}|\\?\t|,)"
    + _TYPE
    + r"[ \t*]*(?:String::from)?"
    + _OPEN
    + r"[ \t]*"
    + _VALUE,
    captures=True,
)
_COPULA = Pattern(
    r"(?:(?:\b(?:is|was|to|ist|lautet|est|es|are|be|jest|adalah|zijn)(?: now)?|[ \t](?:\xc3[\xa9\xa8]|\xc3\xa4r|\xd1\x8d\xd1\x82\xd0\xbe)|\xe3\x81\xaf)[ \t]+|"
    r"(?:\xe3\x81\xaf|\xe6\x98\xaf|\xe4\xb8\xba|\xe7\x82\xba)[ \t]*)(?:\xe3\x80[\x8c\x8e]|\xe2\x80[\x9c-\x9e\x98]|\xc2\xab)?"
    + _OPEN
    + _VALUE,
    captures=True,
)
"""Verbs before a value: `is`, é, è, är, это, は, 是, 为, 為, with the quotation marks of their languages."""
_QUOTED = Pattern(r"[^\r\n;=:]{0,40}?[\s\x0b@b(\[=,][\"']([^\s\x0b\"']{6,64})[\"']", captures=True)
_DIRECT = Pattern(r"[\"'`*)]{0,3}(?:[ \t]+|\\t)" + _OPEN + _VALUE, captures=True)
_PHRASE = Pattern(r"[^\r\n:=]{0,72}")
_STRINGS = Pattern(r"[\"']([^\s\x0b\"'\\]{6,128})[\"']", captures=True)
_HOST = Pattern(r"[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}(?::\d+)?")
_NEXT = Pattern(r"&(?:amp;)?[\w.\[\]-]+=")
"""Where the next parameter of a query begins."""
# Bytes behind a word for a password in which the password begins.
_SPAN = 160


def _introduced(text: bytes) -> Iterator[Finding]:
    """What stands behind a word for a password on a line with a digit: behind a sign, a verb, or alone."""
    digit, line = Next(_DIGIT, text), Next(_LINE_END, text)
    for word in _words.all(text):
        at = word[0][1]
        # `HINTS` promise a digit on the line; without one nothing there looks chosen.
        if digit.after(at)[1] > line.after(at)[0] or digit.after(at)[0] == len(text):
            continue
        # The word may have taken its sign along (`token:`), which the patterns begin with.
        for start, end in _candidates(text, at - text.endswith((b":", b"=", b"->"), 0, at)):
            said = _before_mark(_before_next(text[start:end])).rstrip(b".,;:)*_")
            if _is_chosen(said):
                yield start, start + len(said), "named"
                break


def _before_next(said: bytes) -> bytes:
    found = _NEXT.after(said, 0) if b"&" in said else None
    return said if found is None else said[: found[0][0]]


_MARKS = tuple(map(bytes.fromhex, "e3808d e3808f e2809d c2bb e28099 e38082 efbc8c efbc81".split()))
"""Closing quotation marks and full stops of other scripts, as UTF-8."""


def _before_mark(said: bytes) -> bytes:
    """A value without the quotation mark or the full stop of another script, and what follows."""
    for mark in () if said.isascii() else _MARKS:
        said = said.partition(mark)[0]
    return said


def _candidates(text: bytes, at: int) -> Iterator[tuple[int, int]]:
    end = min(len(text), at + _SPAN)
    near = text[at:end]
    for pattern in (_DIRECT, _SIGN, _QUOTED):
        found = pattern.at(near, 0)
        if found is not None:
            yield found[1][0] + at, found[1][1] + at
    stop = _PHRASE.end_at(near, 0)
    for found in _COPULA.all(text[max(0, at - 1) : end]):
        begun = found[0][0] + max(0, at - 1)
        if at <= begun < at + stop:
            yield found[1][0] + max(0, at - 1), found[1][1] + max(0, at - 1)


def _is_chosen(said: bytes) -> bool:
    return (
        said.isascii() and not (b"." in said and _HOST.fits(said)) and looks_chosen(said.decode())
    )


def _called(text: bytes) -> Iterator[Finding]:
    """Constant passwords among the arguments of a call that logs in or signs."""
    for spans in _calls.all(text):
        line = text[spans[0][1] : spans[0][1] + _SPAN].split(b"\n")[0]
        for found in _STRINGS.all(line):
            said = line[slice(*found[1])]
            if _is_chosen(said) or looks_random(said.decode("latin-1"), 12, digests=True):
                yield spans[0][1] + found[1][0], spans[0][1] + found[1][1], "named"


_command_hint = Pattern(_COMMAND_HINT)
_commands = Pattern(either(one["pattern"] for one in COMMANDS["commands"]), captures=True)
_options_of = tuple(OnLine(one["begin"], one["within"]) for one in COMMANDS["anywhere"])
_WORDS = TextPattern(r"[a-z]+(?:[ -][a-z]+){3,}")
_LETTER, _FIGURE = TextPattern(r"(?:.*[A-Za-z])"), TextPattern(r"(?:.*\d)")


def _is_given(said: str) -> bool:
    if _LETTER.begins(said) and _FIGURE.begins(said) and may_be_secret(said, quoted=True):
        return True
    return looks_chosen(said) or looks_random(said, 10) or _WORDS.fits(said)


def _commanded(text: bytes) -> Iterator[Finding]:
    if not _command_hint.hits(text):
        return
    commands = (next(one for one in spans[1:] if one[0] >= 0) for spans in _commands.all(text))
    for span in chain(commands, *(one.all(text) for one in _options_of)):
        said = text[slice(*span)].decode("utf-8", "replace")
        if _is_given(said):
            yield *span, "command-line"


def _phrases(text: bytes) -> Iterator[Finding]:
    """The words of a wallet, where they are called so."""
    for spans in _mnemonic.all(text):
        # BIP 39: 12, 15, 18, 21 or 24 words.
        if (text[slice(*spans[1])].count(b" ") + 1) % 3 == 0:
            yield *spans[1], "mnemonic"


RULES: tuple[tuple[str, Callable[[bytes], Iterator[Finding]]], ...] = (
    (_WORD, _introduced),
    (f"{_CALLS}[( ]", _called),
    (_COMMAND_MET, _commanded),
    (_PHRASE_WORD, _phrases),
)
"""(what a text must hold, the finder of the exact places)."""
