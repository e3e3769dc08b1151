"""Scripts of `sed` and `awk`, which can run programs and write files: which of them only transform text.

Both are read token by token. `sed` is a list of one-letter commands, of which those that run (`e`),
write (`w`, `W`, the flags `e` and `w` of `s`) or cannot be read are refused. `awk` runs and writes
through few doors: `system`, a pipe, a redirected `print`, and what `@` loads.
"""

from __future__ import annotations

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
    rb'(?P<string>"(?:[^"\\]|\\.)*")|(?P<name>[A-Za-z_]\w*)|(?P<number>\.?\d[\w.]*)|'
    rb"(?P<comment>#[^\n]*)|(?P<space>\s+)|(?P<op>\|\||&&|>>|>=|<=|==|!=|\+\+|--|.)",
    DOTALL,
)
_AWK_REGEX = Pattern(rb"/(?:[^/\\\[\n]|\\.|\[\^?\]?(?:[^\]\\\n]|\\.)*\])+/")
_SLASH = ord("/")
_AWK_REFUSED = frozenset("system getline fflush close ARGV ARGC SYMTAB FUNCTAB".split())
"""Names by which a program is run, or files that are named nowhere on the command line are read."""
_AWK_WORDS = frozenset({"return", "print", "printf", "in", "else", "do", "case", "exit"})
_AWK_ENDS = frozenset({";", "{", "}"})
_OPERAND_ENDS = frozenset({")", "]", "++", "--", "$"})


class _Awk:
    """What has been read of an `awk` program so far."""

    def __init__(self) -> None:
        self.depth = 0
        """Open parentheses."""
        self.printing = False
        """Inside a `print`, whose `>` writes a file."""
        self.after_operand = False
        """Whether a slash would divide."""

    def rule(self, kind: str, text: str) -> str | None:
        """Take one token."""
        if kind == "name":
            return self._name(text)
        if kind == "op":
            return self._operator(text)
        if kind == "space" and "\n" in text:
            self.printing = False
        if kind in {"string", "number"}:
            self.after_operand = True
        return None

    def _name(self, text: str) -> str | None:
        self.after_operand = text not in _AWK_WORDS
        self.printing = self.printing or text in {"print", "printf"}
        return "script" if text in _AWK_REFUSED else None

    def _operator(self, text: str) -> str | None:
        if text in {"|", "@", "`"} or (text in {">", ">>"} and self.printing and self.depth <= 0):
            return "script"
        self.depth += {"(": 1, ")": -1}.get(text, 0)
        if text in _AWK_ENDS:
            self.printing = False
        self.after_operand = text in _OPERAND_ENDS
        return None


def awk_rule(program: str) -> str | None:
    """What speaks against an `awk` program: a rule's name, or None."""
    state = _Awk()
    source = program.encode(errors="replace")
    at = 0
    while at < len(source):
        if source[at] == _SLASH and not state.after_operand:
            regex = _AWK_REGEX.match(source, at)
            if regex is None:
                return "script"
            at, state.after_operand = regex.end(), True
            continue
        token = _AWK.match(source, at)
        if token is None or token[0] == b'"':
            return "script"
        rule = state.rule(token.lastgroup or "", token[0].decode("latin-1"))
        if rule is not None:
            return rule
        at = token.end()
    return "script" if state.depth else None
