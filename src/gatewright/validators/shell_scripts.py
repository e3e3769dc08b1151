"""Scripts of `sed` and `awk`, which can run programs and write files: which of them only transform text.

Both are read token by token. `sed` is a list of one-letter commands, of which those that run (`e`),
write (`w`, `W`, the flags `e` and `w` of `s`) or cannot be read are refused. `awk` runs and writes
through few doors: `system`, a pipe, a redirected `print`, and what `@` loads.
"""

from __future__ import annotations

import re

__all__ = ["awk_rule", "sed_rule"]

# A bracket expression must not hold the delimiter, nor a backslash before what could end it: implementations
# differ in where such a text ends.
_SET = r"\[\^?\]?(?:\[:\w+:\]|(?!{0})[^\]\\\[]|\\(?!{0})[\w.*+$()-])*\]"
_WHERE = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\[]|\\.|" + _SET.format("/") + r")+/[IM]*)"
_ADDRESS = re.compile(rf"\s*(?:{_WHERE}(?:\s*,\s*(?:[+~]\d+|{_WHERE}))?\s*)?!*\s*")
_SIMPLE = re.compile(r"(?:[dDpPnNgGhHxz=F]|[lLqQ]\s*\d*)\s*(?=[;}]|$)|[{};]")
_LABEL = re.compile(r"[btT:]\s*[\w.-]*\s*(?=[;}]|$)")
_TEXT = re.compile(r"[aic#].*", re.DOTALL)
_PART = r"((?:(?!\2)[^\\]|\\.)*)"
_SOUGHT = r"((?:(?!\2)[^\\\[]|\\.|" + _SET.format(r"\2") + ")*)"
_SUBSTITUTE = re.compile(rf"([sy])([^\w\s\\]){_SOUGHT}\2{_PART}\2([a-zA-Z0-9]*)\s*(?=[;}}]|$)")
_FLAGS = re.compile(r"[gpiIMm0-9]*")


def sed_rule(script: str) -> str | None:
    """What speaks against a `sed` script: a rule's name, or None."""
    at = 0
    while at < len(script):
        at = _end(_ADDRESS, script, at) or at
        if at == len(script):
            break
        found = _SUBSTITUTE.match(script, at)
        if found is not None:
            if not _FLAGS.fullmatch(found[5]):
                return "script"
            at = found.end()
            continue
        after = next((e for e in (_end(p, script, at) for p in (_SIMPLE, _LABEL, _TEXT)) if e), 0)
        if not after:
            return "script"
        at = after
    return None


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found is not None else 0


_AWK = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<name>[A-Za-z_]\w*)|(?P<number>\.?\d[\w.]*)|'
    r"(?P<comment>#.*)|(?P<space>\s+)|(?P<op>\|\||&&|>>|>=|<=|==|!=|\+\+|--|.)",
    re.DOTALL,
)
_AWK_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[\^?\]?(?:[^\]\\\n]|\\.)*\])+/")
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
    at = 0
    while at < len(program):
        if program[at] == "/" and not state.after_operand:
            regex = _AWK_REGEX.match(program, at)
            if regex is None:
                return "script"
            at, state.after_operand = regex.end(), True
            continue
        token = _AWK.match(program, at)
        if token is None or token[0] == '"':
            return "script"
        rule = state.rule(token.lastgroup or "", token[0])
        if rule is not None:
            return rule
        at = token.end()
    return "script" if state.depth else None
