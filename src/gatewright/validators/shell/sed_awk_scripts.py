"""Parses `sed` and `awk` scripts, token by token; refuses those that run programs or write files. Endless loops: `script_capabilities.py`.

Both are read token by token. `sed` is a list of one-letter commands, of which those that run (`e`),
write (`w`, `W`, the flags `e` and `w` of `s`) or cannot be read are refused. `awk` runs and writes
through few constructs: `system`, a pipe, a redirected `print`, and what `@` loads. Where a slash of `awk` may divide in one implementation and
begin a regular expression in another, what follows is text to one of them and code to the other: such a script is refused.
"""

from __future__ import annotations

from enum import Enum
from string import punctuation

from gatewright.patterns import DOTALL, Pattern, escape

__all__ = ["awk_rule", "sed_rule"]

_MEMBERS = ".*+$()-"
"""What may stand behind a backslash in a bracket expression, besides letters and digits."""


def _set(delimiter: str) -> str:
    """A bracket expression. It must not hold the delimiter, nor a backslash before what could end it: implementations differ
    in where such a text ends."""
    members = "".join(escape(one) for one in _MEMBERS if one != delimiter)
    return rf"\[\^?\]?(?:\[:\w+:\]|[^\]\\\[{escape(delimiter)}]|\\[\w{members}])*\]"


def _substitution(delimiter: str) -> Pattern[bytes]:
    """`s` or `y` with their two parts and the flags, up to what ends a command."""
    sign = escape(delimiter)
    sought = rf"(?:[^\\\[{sign}]|\\.|{_set(delimiter)})*"
    text = rf"([sy]{sign}{sought}{sign}(?:[^\\{sign}]|\\.)*{sign}([a-zA-Z0-9]*)\s*){_END}"
    return Pattern(text.encode())


# Scripts are read as bytes, at places in them: in UTF-8 no byte of another letter is one of these signs.
_END = r"(?:[;}]|\n?\Z)"
_WHERE = rf"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\[]|\\.|{_set('/')})+/[IM]*)"
_ADDRESS = Pattern(rf"(\s*(?:{_WHERE}(?:\s*,\s*(?:[+~]\d+|{_WHERE}))?\s*)?!*\s*)".encode())
_COMMANDS = (
    Pattern(rf"((?:[dDpPnNgGhHxz=F]|[lLqQ]\s*\d*)\s*){_END}".encode()),
    Pattern(rb"([{};])"),
    Pattern(rf"([btT:]\s*[\w.-]*\s*){_END}".encode()),
    Pattern(rb"(#[^\n]*)"),
    Pattern(rb"([aic][^\n]*)\n?\Z"),  # lines that follow could belong to the text, or be commands
)
_SUBSTITUTIONS = {ord(one): _substitution(one) for one in punctuation if one not in "\\_"}
_FLAGS = Pattern(rb"[gpiIMm0-9]*")


def sed_rule(script: str) -> str | None:
    """What speaks against a `sed` script: a rule's name, or None."""
    source = script.encode(errors="replace")
    at = 0
    while at < len(source):
        at = _end(_ADDRESS, source, at)
        if at == len(source):
            break
        known = _SUBSTITUTIONS.get(source[at + 1]) if at + 1 < len(source) else None
        found = known.match(source, at) if known is not None else None
        if found is not None:
            if not _FLAGS.fits(found[2]):
                return "script"
            at = found.end(1)
            continue
        after = next((end for one in _COMMANDS if (end := _end(one, source, at)) > at), at)
        if after == at:
            return "script"
        at = after
    return None


def _end(pattern: Pattern[bytes], source: bytes, at: int) -> int:
    """Where what fits at a place ends; the place itself where nothing does."""
    found = pattern.match(source, at)
    return at if found is None else found.end(1)


_AWK = Pattern(
    rb'(?P<string>"(?:[^"\\]|\\.)*")|(?P<name>[A-Za-z_]\w*)|'
    rb"(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?P<glued>[\w.])?|"
    rb"(?P<comment>#[^\n]*)|(?P<continued>\\\n)|(?P<space>\s+)|(?P<op>\|\||&&|>>|>=|<=|==|!=|\+\+|--|.)",
    DOTALL,
)
# Implementations differ in whether a slash in a bracket expression ends the regular expression, and in where such a bracket
# expression ends: one with a slash in it holds nothing that they read differently.
_AWK_SET = (
    rb"\[\^?(?:\]|\[:\w+:\]|[^\]\\\[/\n^]|\\[^\n])(?:\[:\w+:\]|[^\]\\\[/\n]|\\[^\n])*\]|"
    rb"\[\^?(?:[^\]\\\[\n^]|\\[^\]\n])(?:[^\]\\\[\n]|\\[^\]\n])*\]"
)
_AWK_REGEX = Pattern(rb"/(?:[^/\\\[\n]|\\[^\n]|" + _AWK_SET + rb")+/")
_SLASH = ord("/")
_AWK_REFUSED = frozenset("system getline fflush close ARGV ARGC SYMTAB FUNCTAB".split())
"""Names by which a program is run, or files that are named nowhere on the command line are read."""
_AWK_WORDS = frozenset({"return", "print", "printf", "else", "do", "exit"})
"""Behind these a slash begins a regular expression."""
_AWK_UNSURE = frozenset(
    "BEGIN BEGINFILE END ENDFILE and asort asorti atan2 break case compl continue cos default delete exp for func function gensub "
    "gsub if in index int length log lshift match mktime next nextfile or patsplit rand rshift sin split sprintf sqrt srand strftime "
    "strtonum sub substr switch systime tolower toupper typeof while xor".split()
)
"""Behind these it is an error, or means one thing here and another there: `length` without parentheses, what only some know."""
_AWK_HEADS = frozenset({"if", "while", "for", "switch", "function", "func"})
"""What their parentheses hold is no operand."""
_AWK_ENDS = frozenset({";", "{", "}"})
_AWK_BEFORE_REGEX = _AWK_ENDS | frozenset(
    "( [ , + - * / % ^ ! ~ = < > ? : || && >> >= <= == !=".split()
)
_AWK_COUNTS = frozenset({"++", "--"})
_PAIRS = {")": "(", "]": "["}


class _Slash(Enum):
    """What a slash would be at a place."""

    DIVIDES = 1
    BEGINS = 2
    UNSURE = 3


class _Awk:
    """What has been read of an `awk` program so far."""

    def __init__(self) -> None:
        self.open: list[tuple[str, str]] = []
        """Parentheses and brackets that are open, each with the token before it."""
        self.printing = False
        """Inside a `print`, whose `>` writes a file."""
        self.slash = _Slash.BEGINS
        self.last = ""
        """The token before, if it is a name or an operator."""

    def rule(self, kind: str, text: str) -> str | None:
        """Take one token."""
        if kind in {"space", "continued"}:
            self._space(kind, text)
            return None
        if kind == "comment":  # whether its last backslash continues it is not asked
            return "script" if text.endswith("\\") else None
        if kind == "glued":  # `1system("x")` is a number and a call
            return "script"
        rule = None
        if kind == "name":
            rule = self._name(text)
        elif kind == "op":
            rule = self._operator(text)
        else:
            self.slash = _Slash.DIVIDES
        self.last = text if kind in {"name", "op"} else ""
        return rule

    def _space(self, kind: str, text: str) -> None:
        """A new line ends a statement whose last operand is there. Not every implementation says so between parentheses."""
        if kind == "continued" or "\n" not in text or self.slash is not _Slash.DIVIDES:
            return
        if self.open:
            self.slash = _Slash.UNSURE
        else:
            self.slash, self.printing = _Slash.BEGINS, False

    def _name(self, text: str) -> str | None:
        if text in _AWK_WORDS:
            self.slash = _Slash.BEGINS
        else:
            self.slash = _Slash.UNSURE if text in _AWK_UNSURE else _Slash.DIVIDES
        if text in {"print", "printf"}:
            self.printing = True
            return "script" if self.open else None
        return "script" if text in _AWK_REFUSED else None

    def _operator(self, text: str) -> str | None:
        if text in {"|", "@", "`", "\\"} or (text in {">", ">>"} and self._redirects()):
            return "script"
        if text in _AWK_ENDS:
            self.printing = False
        if text in _PAIRS:
            return self._closed(text)
        if text in {"(", "["}:
            self.open.append((text, self.last))
        self.slash = self._behind(text)
        return None

    def _behind(self, text: str) -> _Slash:
        """What a slash is behind an operator."""
        if text in _AWK_COUNTS and self.last not in _AWK_COUNTS and self.slash is _Slash.DIVIDES:
            return _Slash.DIVIDES  # `x++ / 2`
        return _Slash.BEGINS if text in _AWK_BEFORE_REGEX else _Slash.UNSURE

    def _redirects(self) -> bool:
        return self.printing and all(sign == "[" for sign, _ in self.open)

    def _closed(self, text: str) -> str | None:
        sign, before = self.open.pop() if self.open else ("", "")
        of_a_head = sign == "(" and before in _AWK_HEADS
        self.slash = _Slash.UNSURE if of_a_head else _Slash.DIVIDES
        return None if sign == _PAIRS[text] else "script"


def awk_rule(program: str) -> str | None:
    """What speaks against an `awk` program: a rule's name, or None."""
    state = _Awk()
    source = program.encode(errors="replace")
    at = 0
    while at < len(source):
        if source[at] == _SLASH:
            after = _behind_regex(source, at, state)
            if after is None:
                return "script"
            if after > at:
                at, state.slash, state.last = after, _Slash.DIVIDES, ""
                continue
        token = _AWK.match(source, at)
        if token is None or token[0] == b'"':
            return "script"
        rule = state.rule(token.lastgroup or "", token[0].decode("latin-1"))
        if rule is not None:
            return rule
        at = token.end()
    return "script" if state.open else None


def _behind_regex(source: bytes, at: int, state: _Awk) -> int | None:
    """Where the regular expression ends that a slash begins; the place itself where it divides; None where that cannot be known.
    `/=` is an assignment or, behind an operand that nothing can be assigned to, a regular expression."""
    if state.slash is _Slash.BEGINS:
        regex = _AWK_REGEX.match(source, at)
        return None if regex is None else regex.end()
    unsure = state.slash is _Slash.UNSURE or source[at + 1 : at + 2] == b"="
    if unsure and (source.find(b'"', at + 1) >= 0 or source.find(b"/", at + 1) >= 0):
        return None
    return at
