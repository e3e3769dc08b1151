"""Texts that are meant to make whoever reads them slow: the trigger words of the gateway's own tables, repeated,
nested, never closed, and with long runs of what patterns skip between them.

`texts(size)` makes plain texts, `in_json` puts one into the shapes in which a tool's result can carry it. A text is made
by its name alone, so a figure can be measured again at another size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import cycle, islice
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from gatewright.secret_scanning import context, passwords
from gatewright.secret_scanning.context import VENDORS
from gatewright.secret_scanning.formats import formats
from gatewright.secret_scanning.personal import PERSONAL

__all__ = ["in_json", "names", "text", "texts", "triggers"]

_WORDS = (
    *"Cookie Set-Cookie Authorization token password secret api_key key auth bearer mnemonic passphrase".split(),
    *("Authorization: Digest", "Authorization: Bearer", "token is", "name: token", "value", "seed phrase"),
    *("aws_secret_access_key", "client_secret", "jwt", "Token (", "passwort", "пароль", "密码", "temporary password"),
    *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "-----BEGIN ", "[REDACTED:", "[REDACTED:a"),
    *("PuTTY-User-Key-File-2: a\nb\nc\nd\n", "Private-Lines: 1\n", "mysql -u a", "login a -p", "sqlcmd -S", "redis-cli -h"),
    *("https://a", "https://a:", "https://a:b@", "https:\\/\\/", "ghp_", "sk-ant-", "AKIA", "eyJhbGci", "cGFzc3dvcmQ", "c2VjcmV0"),
    *("${secret:", "WIFI:", "jdbc:oracle:thin:", "type=\"password\"", "curl -u a:", "openssl a", "zip a", "mongo a"),
    *("+49 151 ", "4111 1111 ", "DE89 3704 ", "a@b.", "a@", "123-45-", "ssn ", "phone: ", "\\u0070assword", "\\u0041"),
    *("\x1b]0;", "\x1b[", "\x9b", "\U0001f3f4", "\u200d", "\ufe0f", "</a><a>", "&a=", "session=1; ", "access_token=", "-u "),
)  # fmt: skip
_JOINTS = ("", " ", ": ", ": a ", "=a; ", "=", "; ", ",", "\n", '"', '\\"', "\\", ' = "', "=a=b; ", "': '", '":"a","', ":[", " | ")  # fmt: skip
_RUNS = (
    *(" ", "\t", "\n", "\r\n", '"', "'", "`", "\\", "\\\\n", '\\"', "[", "{", "(", "<", "A", "a", "0", "0 ", "-", "=", ":", ";"),
    *("/", "_", ".", "@", ",", "|", "é", "密", "\u200b", "\u200d", "A ", "aA0", "a.", "a-", "A_", "0-", "a: ", "a=b; ", "%41", "+", "\\u0041"),
)  # fmt: skip


def _said(parsed: Any) -> str:
    """The first text that a parsed pattern fits, each repetition as often as it must."""
    found: list[str] = []
    for code, value in parsed:
        if code is codes.LITERAL:
            found.append(chr(value))
        elif code in {codes.MAX_REPEAT, codes.MIN_REPEAT}:
            found.append(_said(value[2]) * value[0])
        elif code is codes.SUBPATTERN:
            found.append(_said(value[3]))
        elif code is codes.BRANCH:
            found.append(_said(value[1][0]))
        elif code is codes.IN:
            found.append(_one_of(value))
        elif code in {codes.ANY, codes.NOT_LITERAL}:
            found.append("a")
    return "".join(found)


def _one_of(members: Any) -> str:
    allowed = re.compile(_class(members), re.ASCII)
    return next(char for char in ("a", "0", "A", *map(chr, range(1, 256))) if allowed.match(char))


def _class(members: Any) -> str:
    """A class of characters, written again."""
    kinds = {codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_WORD: r"\w", codes.CATEGORY_SPACE: r"\s"}
    kinds |= {codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_NOT_WORD: r"\W"}
    pieces = []
    for code, value in members:
        if code is codes.NEGATE:
            pieces.append("^")
        elif code is codes.RANGE:
            pieces.append(f"\\x{value[0]:02x}-\\x{value[1]:02x}")
        elif code is codes.CATEGORY:
            pieces.append(kinds[value])
        else:
            pieces.append(f"\\x{value:02x}")
    return f"[{''.join(pieces)}]"


def _sample(pattern: str) -> str:
    """What a pattern of the tables, which are about bytes, fits."""
    return _said(parser.parse(pattern)).encode("latin-1").decode("utf-8", "ignore")


def triggers() -> dict[str, str]:
    """Name → text that makes some rule look closer, for every row of the tables."""
    found = {f"word {one!r}": one for one in _WORDS}
    for number, (name, hint, rest) in enumerate(formats()):
        found[f"format {number} {name}"] = _sample(hint)
        found[f"format {number} {name} whole"] = _sample(f"(?:{hint})(?:{rest})")
    for kind, (hint, pattern) in PERSONAL.items():
        found[f"personal {kind}"] = _sample(hint)
        found[f"personal {kind} whole"] = _sample(pattern)
    for place, rules in (("context", context.RULES), ("chosen", passwords.RULES)):
        for number, (pattern, _) in enumerate(rules):
            found[f"{place} {number}"] = _sample(pattern)
    return found | {f"vendor {one}": one for one in VENDORS["vendors"][::16]}


def _shapes(trigger: str) -> dict[str, tuple[str, str]]:
    """Name → (what stands at the beginning, what is repeated)."""
    found = {f"joined by {joint!r}": ("", trigger + joint) for joint in _JOINTS}
    found |= {f"then {run!r}": (trigger, run) for run in _RUNS}
    found |= {f"said, then {run!r}": (f'{trigger}: "', run) for run in _RUNS}
    found |= {f"between {run!r}": ("", trigger + run * 60) for run in _RUNS[::2]}
    found |= {f"before {run!r}": ("", run * 60 + trigger + ": a1B2c3D4") for run in _RUNS[1::2]}
    found["with others"] = ("", "".join(f"{trigger} {one} " for one in _WORDS[::7]))
    return found


def names() -> Iterator[str]:
    """The names of all texts."""
    for trigger, said in triggers().items():
        yield from (f"{trigger} {shape}" for shape in _shapes(said))


def texts(size: int, *, every: int = 1, first: int = 0) -> Iterator[tuple[str, str]]:
    """(name, text of `size` characters); of all of them each `every`-th, from the `first`."""
    number = 0
    for trigger, said in triggers().items():
        for shape, (begin, repeated) in _shapes(said).items():
            if number % every == first % every:
                yield f"{trigger} {shape}", _filled(begin, repeated, size)
            number += 1


def text(name: str, size: int) -> str:
    """The text of this name."""
    for trigger, said in triggers().items():
        if name.startswith(f"{trigger} "):
            shape = _shapes(said).get(name[len(trigger) + 1 :])
            if shape is not None:
                return _filled(*shape, size)
    raise KeyError(name)


def _filled(begin: str, repeated: str, size: int) -> str:
    return (begin + repeated * (1 + (size - len(begin)) // len(repeated)))[:size]


def in_json(said: str, *, pieces: int = 64) -> Iterator[tuple[str, bytes]]:
    """(shape, JSON text): one string, a list of many, members of that name, nested objects, JSON within JSON."""
    step = max(1, len(said) // pieces)
    parts = [said[at : at + step] for at in range(0, len(said), step)]
    content = [{"type": "text", "text": said}]
    yield "text", json.dumps({"content": content}, ensure_ascii=False).encode()
    yield "list", json.dumps({"content": [{"type": "text", "text": one} for one in parts]}).encode()
    yield "strings", json.dumps({"structuredContent": {"password": parts}}).encode()
    named = [{"name": one[:40], "value": one} for one in parts]
    yield "named", json.dumps({"structuredContent": {"env": named}}).encode()
    nested: Any = said[: len(said) // 2]
    for one in islice(cycle(parts), min(len(parts), 60)):
        nested = {one[:20] or "a": nested}
    yield "nested", json.dumps({"structuredContent": nested}).encode()
    inner = json.dumps({"password": said, "token": parts[:4]})
    yield "escaped", json.dumps({"content": [{"type": "text", "text": inner}]}).encode()
    yield "twice escaped", json.dumps({"a": json.dumps({"b": inner})}).encode()
