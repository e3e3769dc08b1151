"""Parses gitleaks-style TOML into `SecretRule`s: reports each rule that cannot be applied, and notices about settings with no effect here.

Regexes are RE2's, as gitleaks' are. What cannot hold for a text without a file (`path`, `commits`) is left out with a notice; a rule that
could not be applied as it is written is a problem, and none of its file counts then.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]

from gatewright.patterns import Pattern
from gatewright.secret_scanning.exact import OWN
from gatewright.secret_scanning.operator_rules import AllowList, SecretRule

__all__ = ["FILE_BYTES", "MOST_RULES", "Read", "read_rules"]

FILE_BYTES = 256 * 1024
MOST_RULES = 300
"""Of all files together."""
_REGEX_CHARS, _MOST_WORDS, _WORD_CHARS, _LEAST = 2000, 1000, 100, 3
_MOST_REGEXES = 100
"""Of all allow-lists of one rule: each is looked for in the text around whatever the rule finds."""
_ID = Pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_BEGINS = Pattern(r"(?:\(\?i\)|\(\?i:|\(\?:|\(|\\b|\^)*")
_LITERAL = Pattern(r"(?:[A-Za-z0-9_-]|\\[.-])+")
_GROUPS = Pattern(r"\\.|\[\^?\]?(?:\[:[a-z^]+:\]|\\.|[^\]\\])*\]")
_OPEN = Pattern(r"\||\)(?:[?*]|\{0)|\[")
"""Of a regex without classes and escapes: what may make its beginning one of several, or none at all."""
_NO_EFFECT = {
    "path": "there are no files here, so it holds for every text",
    "skipReport": "what it finds is taken out like all others",
    "required": "it is applied without what it requires",
}
_KNOWN = frozenset({"id", "description", "regex", "keywords", "entropy", "secretGroup", "tags"})
_LISTS = ("allowlist", "allowlists")
_OF_A_LIST = frozenset(
    "description condition commits paths regexTarget regexes stopwords targetRules".split()
)
_INSTEAD = (
    "RE2 has no lookaround and no backreferences: write what may stand around the secret with secretGroup, and what is "
    "none into regexes of [[rules.allowlists]]"
)


class Read(NamedTuple):
    """The rules of a file. `problems` are (rule or place, what is wrong, what to write instead); `notices` (rule or place, what of
    it has no effect)."""

    rules: Sequence[SecretRule]
    problems: Sequence[tuple[str, str, str]]
    notices: Sequence[tuple[str, str]]


def read_rules(text: bytes) -> Read:
    """What a file says. Its content is never repeated, but for ids, names of members, and what RE2 says of a regex."""
    if len(text) > FILE_BYTES:
        what = f"it has {len(text)} bytes, and at most {FILE_BYTES} are read"
        return Read((), [("the file", what, "split it, or leave rules out")], ())
    try:
        said = tomllib.loads(text.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        return Read((), [("the file", f"it is no TOML: {problem}", "mend it there")], ())
    return _File(said).read()


class _Bad(Exception):  # noqa: N818 - what is wrong, and what to write instead
    def __init__(self, what: str, instead: str) -> None:
        super().__init__(what)
        self.what = what
        self.instead = instead


class _File:
    """One file while it is read."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self._said = said
        self._problems: list[tuple[str, str, str]] = []
        self._notices: list[tuple[str, str]] = []

    def read(self) -> Read:
        tables = self._said.get("rules")
        if not isinstance(tables, list) or not tables:
            self._problems.append(("rules", "there are none", "write [[rules]] with id and regex"))
            tables = []
        if len(tables) > MOST_RULES:
            what = f"there are {len(tables)}, and at most {MOST_RULES} count"
            self._problems.append(("rules", what, "leave some out"))
            tables = []
        self._unused()
        common = self._common()
        rules = [rule for at, one in enumerate(tables) if (rule := self._rule(at, one, common))]
        ids = [one.id for one in rules]
        self._untargeted(common, ids)
        for one in sorted({one for one in ids if ids.count(one) > 1}):
            self._problems.append((f"rule {one}", "another rule has this id", "choose another"))
        return Read(tuple(rules), self._problems, self._notices)

    def _unused(self) -> None:
        extend = self._said.get("extend")
        if isinstance(extend, dict):
            why = {
                "useDefault": "the gateway's own rules hold in any case",
                "path": "name that file in rules of [redaction] as well",
                "disabledRules": "none of the gateway's own rules can be switched off",
            }
            self._notices += [(f"extend.{one}", why.get(one, "it is not known")) for one in extend]
        known = {"rules", "extend", "title", "description", "minVersion", *_LISTS}
        self._notices += [(one, "it is not known") for one in self._said.keys() - known]

    def _common(self) -> Sequence[tuple[AllowList, frozenset[str]]]:
        """Allow-lists for all rules of the file, or for those that they name."""
        try:
            return [
                (found, frozenset(_texts(one, "targetRules")))
                for one in _tables(self._said)
                if (found := self._allow("the file", one)) is not None
            ]
        except _Bad as bad:
            self._problems.append(("the allow-list of the file", bad.what, bad.instead))
            return ()

    def _untargeted(
        self, common: Sequence[tuple[AllowList, frozenset[str]]], ids: Sequence[str]
    ) -> None:
        """Notices of allow-lists for rules that there are none of."""
        named = {one for _, rules in common for one in rules}
        for one in sorted(named.difference(ids)):
            shown = one if _ID.fits(one) else "a text that is no id"
            where = f"the file: targetRules of its allow-list: {shown}"
            self._notices.append((where, "no rule of this file has this id"))

    def _rule(
        self, at: int, said: Any, common: Sequence[tuple[AllowList, frozenset[str]]]
    ) -> SecretRule | None:
        named = said.get("id") if isinstance(said, dict) else None
        name = named if isinstance(named, str) and _ID.fits(named) else f"number {at + 1}"
        try:
            return self._read(f"rule {name}", said, common)
        except _Bad as bad:
            self._problems.append((f"rule {name}", bad.what, bad.instead))
            return None

    def _read(
        self, name: str, said: Any, common: Sequence[tuple[AllowList, frozenset[str]]]
    ) -> SecretRule | None:
        if not isinstance(said, dict):
            raise _Bad("it is no table", "write [[rules]] with id and regex")
        ident = said.get("id")
        if not isinstance(ident, str) or not _ID.fits(ident) or len(ident) > 64:
            raise _Bad("it has no usable id", 'write id = "name-of-it": a-z, 0-9 and -, at most 64')
        if ident == OWN:
            raise _Bad("its id is that of values that this configuration holds", "choose another")
        for one in said.keys() - _KNOWN - {*_LISTS}:
            self._notices.append((f"{name}: {one}", _NO_EFFECT.get(one, "it is not known")))
        if "regex" not in said and "path" in said:
            self._notices.append((name, "it asks for files alone, so it is left out"))
            return None
        regex = _regex(said.get("regex"), "regex")
        own = [found for one in _tables(said) if (found := self._allow(name, one)) is not None]
        theirs = [one for one, rules in common if not rules or ident in rules]
        many = sum(len(one.regexes) for one in (*own, *theirs))
        if many > _MOST_REGEXES:
            what = f"its allow-lists have {many} regexes, and at most {_MOST_REGEXES} count"
            raise _Bad(what, "join some with |, or write stopwords")
        if "\\n" in regex or "\n" in regex:
            why = "in results that come in pieces, whose lines go one by one; elsewhere it holds"
            self._notices.append((f"{name}: a new line in its regex", why))
        return SecretRule(
            ident,
            regex,
            _keywords(said.get("keywords"), regex),
            _group(said.get("secretGroup", 0), regex),
            _number(said.get("entropy", 0)),
            (*own, *theirs),
        )

    def _allow(self, name: str, said: Mapping[str, Any]) -> AllowList | None:
        """An allow-list; None for one that can never let anything stand here."""
        every = _is_every(said)
        unknown = sorted(said.keys() - _OF_A_LIST)
        if unknown and every:
            what = f"{unknown[0][:40]!a} of its allow-list is not known, and all of it has to hold"
            raise _Bad(what, "write regexes, stopwords, paths or commits, in these letters")
        for one in unknown:
            self._notices.append((f"{name}: {one} of its allow-list", "it is not known"))
        files = [one for one in ("paths", "commits") if said.get(one)]
        for one in files:
            why = (
                "it never holds, as there are no files here" if every else "there are no files here"
            )
            self._notices.append((f"{name}: {one} of its allow-list", why))
        target = said.get("regexTarget", "secret")
        if target not in ("secret", "match", "line"):
            raise _Bad("regexTarget is not known", 'write "secret", "match" or "line"')
        regexes = tuple(_regex(one, "regexes of an allow-list") for one in _texts(said, "regexes"))
        words = tuple(one.lower() for one in _texts(said, "stopwords"))
        if (files and every) or not (regexes or words):
            return None
        return AllowList(regexes, target, words, every)


def _tables(said: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in _LISTS:
        one = said.get(name, [])
        for table in one if isinstance(one, list) else [one]:
            if not isinstance(table, dict):
                raise _Bad(f"{name} is no table", "write [[rules.allowlists]]")
            yield table


def _is_every(said: Mapping[str, Any]) -> bool:
    """Whether all that an allow-list asks for has to hold. What reads as neither would let more stand than was meant."""
    condition = str(said.get("condition", "OR")).upper()
    if condition not in {"AND", "&&", "OR", "||", ""}:
        raise _Bad("condition of an allow-list is not known", 'write "OR" or "AND"')
    return condition in {"AND", "&&"}


def _texts(said: Mapping[str, Any], name: str) -> Sequence[str]:
    found = said.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, str) and one for one in found):
        raise _Bad(f"{name} is no list of texts", f'write {name} = ["…"]')
    if len(found) > _MOST_WORDS:
        raise _Bad(f"{name} has {len(found)}, and at most {_MOST_WORDS} count", "leave some out")
    return found


def _regex(said: Any, what: str) -> str:
    if not isinstance(said, str) or not said:
        raise _Bad(f"{what} is missing or no text", f"write {what} = '''…'''")
    if len(said) > _REGEX_CHARS:
        raise _Bad(f"{what} has more than {_REGEX_CHARS} characters", "split it into two rules")
    if not said.isascii():
        raise _Bad(f"{what} has characters other than ASCII", "tokens have none: leave them out")
    try:
        compiled = re2.compile(said.encode(), _options())
    except re2.error as problem:
        told = problem.args[0] if problem.args else ""
        why = told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
        raise _Bad(f"RE2 does not take {what}: {why}", _INSTEAD) from None
    if compiled.fullmatch(b"") is not None:
        raise _Bad(f"{what} finds the empty text", "let it ask for something that must be there")
    return said


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 4 << 20
    options.log_errors = False
    return options


def _group(said: Any, regex: str) -> int:
    groups = re2.compile(regex.encode(), _options()).groups
    if type(said) is not int or not 0 <= said <= groups:
        raise _Bad(
            f"secretGroup is no group of its regex, which has {groups}", "count its brackets"
        )
    return said


def _number(said: Any) -> float:
    if type(said) not in (int, float) or not 0 <= said <= 8:
        raise _Bad("entropy is no number of bits a character", "write a number from 0 to 8")
    return float(said)


def _keywords(said: Any, regex: str) -> tuple[str, ...]:
    words: Iterable[str] = _texts({} if said is None else {"keywords": said}, "keywords")
    found = tuple(dict.fromkeys(one.lower() for one in words)) or _leading(regex)
    if not found:
        what = "it has no keywords, and its regex does not always begin with fixed characters"
        raise _Bad(
            what, 'write keywords = ["…"]: of these one stands in each text with such a secret'
        )
    for one in found:
        if not _LEAST <= len(one) <= _WORD_CHARS or not one.isascii() or not one.isprintable():
            what = f"a keyword is not of {_LEAST} to {_WORD_CHARS} characters of ASCII"
            raise _Bad(what, "shorter ones stand in nearly every text")
        if '"' in one or "\\" in one:
            raise _Bad('a keyword has " or \\ in it', "JSON writes these otherwise: leave them out")
    return found


def _leading(regex: str) -> tuple[str, ...]:
    """The fixed characters that a regex surely begins with; none where there are alternatives, or a group may be left out."""
    if _OPEN.search(_GROUPS.sub("", regex)):
        return ()
    rest = regex[_end(_BEGINS, regex) :]
    fixed = rest[: _end(_LITERAL, rest)]
    if rest[len(fixed) : len(fixed) + 1] in ("?", "*", "{"):
        fixed = fixed[:-2] if fixed[-2:-1] == "\\" else fixed[:-1]
    fixed = fixed.replace("\\", "").lower()
    return (fixed,) if len(fixed) >= _LEAST else ()


def _end(pattern: Pattern[str], text: str) -> int:
    one = pattern.match(text)
    return 0 if one is None else one.end()
