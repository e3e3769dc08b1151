"""`read`: parses a shell line of one command, or a pipe, with bash's grammar into words (quotes, braces, escapes); names what is not allowed.

Theory: a shell rewrites its text before it runs anything, so text cannot be judged; words can. The
line is parsed with the grammar of bash, and only what has one reading passes: plain commands, words
and quotes, and where it is allowed a pipe between them. Every other construct is refused by the name
of its node, so there is no list of dangerous constructs that could be incomplete.

What the shell would still do to accepted words is done here (escapes, braces) or noted (globs).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Point

from gatewright.patterns import Match, Pattern
from gatewright.secret_scanning.unicode_forms import normal
from gatewright.validators.shell_globs import hides_class

__all__ = [
    "MAX_BYTES",
    "Unacceptable",
    "Word",
    "by_grammar",
    "command_words",
    "is_plain",
    "is_too_much",
    "named",
    "node_words",
    "read",
    "root_of",
    "split_simple",
]

MAX_BYTES = 4096
"""Longest command line that is parsed; a longer one is no line that somebody typed."""

# Words that braces may make of one: `{a,b}{a,b}…` doubles with each.
_MAX_BRACES = 32
_MAX_OPERATORS = 64

_READ = 64
"""Bytes that the parser is given at a time: what it reads again of the last it was given, nobody counts."""
_READS = 16
"""How often it is given a line, at most. Of lines that are accepted none takes more than four, lines made of pieces of two kinds among them."""
_SHORT = 128
"""Bytes of a line that is parsed however often it is read: half a millisecond at most."""

_language = Language(tree_sitter_bash.language())
_parser = Parser(_language)

_PLAIN_NODES = frozenset({"word", "number", "raw_string", "string", "concatenation", "ansi_c_string", "brace_expression"})  # fmt: skip
_PROGRAM = Pattern(r"[A-Za-z0-9_./][A-Za-z0-9_.+/-]*")
_OPERATOR = Pattern(r"[|&;<>(`]+")
_GLOB = Pattern(r"[*?\[]")
_ESCAPED = Pattern(r"\\(.)")
_ESCAPED_IN_QUOTES = Pattern(r'\\([$`"\\])')
_LIVE_DOLLAR = Pattern(r"(?:^|[^\\])(?:\\\\)*\$[\w({\[@*#?$!'\"-]")
_BEFORE = Pattern(r"~(?:[+-][0-9]*|[0-9]+)(?:/|\n?\Z)")
_BRACES = Pattern(r"([^{}]*)\{([^{}]*,[^{}]*)\}([^{}]*)")
_RANGE = Pattern(r"\{[^{},]*\.\.[^{},]*\}")
_NUMBERS = Pattern(r"\{(-?\d+)\.\.(-?\d+)(?:\.\.-?\d+)?\}")
_ANSI = Pattern(r"\$'((?:[ -&(-\[\]-~]|\\[tn\\'\"?])*)'")
_ANSI_ESCAPE = Pattern(r"\\(.)")
_OPERATORS = frozenset(";&|<>$`\\'\"(){}*?[]~#!^%")
_LIVE_IN_QUOTES = frozenset("$`\\'\"")
_QUOTED = Pattern(r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*\"""")


def _first(found: Match[str]) -> str:
    said: str = found[1]
    return said


class Unacceptable(Exception):  # noqa: N818 - a verdict, not a malfunction
    """The line is no plain command. `what` names the node or the reason in one word."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Word(NamedTuple):
    """One word as a program would get it."""

    text: str
    glob: bool = False
    """Whether the shell may put names of files in its place."""
    bare: bool = True
    """Whether it stood there without quotes and escapes."""


def is_plain(text: str) -> bool:
    """Whether a text has no control, format or line characters and none that a later
    normalisation (NFKC) would turn into a live shell operator. In quotes most of them are mere punctuation."""
    if not text.isprintable():
        return False
    if text.isascii():
        return True
    hidden = _hidden_operators(text)
    if not hidden:
        return True
    quoted = "$" not in text and not hidden & _LIVE_IN_QUOTES
    return quoted and not _hidden_operators(_QUOTED.sub("", text))


def _hidden_operators(text: str) -> frozenset[str]:
    folded = (normal("NFKC", one) for one in text if not one.isascii())
    return _OPERATORS.intersection("".join(folded))


def read(text: str, *, pipes: bool) -> list[list[Word]]:
    """The commands of one line, each as its words, the program first. Raises `Unacceptable`."""
    if not is_plain(text):
        raise Unacceptable("control_character")
    source = text.encode()
    if len(source) > MAX_BYTES or is_too_much(text):
        raise Unacceptable("too_long")
    commands = split_simple(text, pipes=pipes)
    if commands is not None:
        return commands
    return by_grammar(source, pipes=pipes)


def is_too_much(text: str) -> bool:
    """Whether a text has more operators than anybody types."""
    return len(text) > _MAX_OPERATORS and len(_OPERATOR.findall(text)) > _MAX_OPERATORS


def by_grammar(source: bytes, *, pipes: bool) -> list[list[Word]]:
    """What `read` gives, by the grammar alone, of a text that is neither too long nor hides anything."""
    parts = root_of(source).children
    if len(parts) != 1:
        raise Unacceptable(_first_strange(parts) if parts else "empty")
    return [command_words(node.children) for node in _commands(parts[0], pipes=pipes)]


def root_of(source: bytes) -> Node:
    """What the grammar makes of a text. Raises `Unacceptable` where it is none of it."""
    if len(source) > _SHORT and not _read_soon(source):
        raise Unacceptable("syntax_error")
    root = _parser.parse(source).root_node
    # The parser goes on behind an error; what it makes of the rest is a guess.
    if root.has_error:
        raise Unacceptable("syntax_error")
    return root


def _read_soon(source: bytes) -> bool:
    """Whether the parser is through, without an error, before it has read a text many times.

    Where nothing fits it looks for what would, from every place on to the end: the square of the text, 50 ms for 4 KiB of `[$`."""
    pieces = 0

    def given(at: int, _: Point) -> bytes:
        nonlocal pieces
        pieces += 1
        return source[at : at + _READ]

    def is_enough(*_: object) -> bool:
        return pieces * _READ > len(source) * _READS

    # A parser of its own: other Python runs while this one asks for more, and one that is ended would go on with its text.
    try:
        tree = Parser(_language).parse(given, progress_callback=is_enough)
    except ValueError:  # ended by `is_enough`, that it asks once in a hundred steps
        return False
    return not tree.root_node.has_error


_SIMPLE = Pattern(r"[A-Za-z0-9_./:=,+%@ |-]+")
"""Nothing but characters that no shell rewrites, spaces and pipes: most lines. A parser costs as much as all the rest."""

_KEYWORDS = frozenset(
    "if then elif else fi for while until do done case esac in select function time coproc "
    "declare typeset export readonly local unset unsetenv test".split()
)
"""First words with which the grammar reads what follows in another way."""


_WHOLE = Pattern(r"""'[^'\n\t]*'|"[^"$`\\!\n\t]*\"""")
"""A text in quotes in which a shell finds nothing to do."""
_PLACE = "\0"
"""Stands for one. No line has it: it is not printable."""


def split_simple(text: str, *, pipes: bool = True) -> list[list[Word]] | None:
    """The commands of a pipeline that no shell rewrites and no grammar has to be asked about; None for all other lines."""
    if _SIMPLE.fits(text):
        return _split(text, pipes=pipes, quoted=iter(()))
    if "'" not in text and '"' not in text:
        return None
    outside = _WHOLE.sub(_PLACE, text)
    if not _SIMPLE.fits(outside.replace(_PLACE, "x")):
        return None
    return _split(outside, pipes=pipes, quoted=(one[0][1:-1] for one in _WHOLE.finditer(text)))


def _split(text: str, *, pipes: bool, quoted: Iterator[str]) -> list[list[Word]] | None:
    """The commands of a simple line, in which places stand for what is quoted; None where the grammar has to be asked."""
    lines = text.split("|")
    if "==" in text or (len(lines) > 1 and not pipes):  # a word of its own to the grammar
        return None
    commands = []
    for line in lines:
        name, *rest = line.split() or ("",)
        if not _PROGRAM.fits(name) or name in _KEYWORDS:
            return None
        words = [Word(name)]
        for one in rest:
            if _PLACE not in one:
                words.append(Word(one))
            elif one == _PLACE:
                words.append(Word(next(quoted), bare=False))
            else:  # of several pieces
                return None
        commands.append(words)
    return commands


def _first_strange(parts: list[Node]) -> str:
    strange = (part.type for part in parts if part.type != "command")
    return named(next(strange, "list"))


def named(kind: str) -> str:
    """A word for a node; operators have no name in the grammar but themselves."""
    return _TOKENS.get(kind, kind)


_TOKENS = {";": "list", "&": "background", "&&": "list", "||": "list", "$": "expansion"}


def _commands(node: Node, *, pipes: bool) -> Iterator[Node]:
    if node.type == "command":
        yield node
    elif node.type == "pipeline" and pipes:
        for part in node.children:
            if part.type == "command":
                yield part
            elif part.type not in {"|", "|&"}:
                raise Unacceptable(named(part.type))
    else:
        raise Unacceptable(named(node.type))


def command_words(parts: list[Node]) -> list[Word]:
    """The words of one command, its program first."""
    head = parts[0]
    if head.type != "command_name":
        raise Unacceptable(named(head.type))
    name = _text(head)
    if not _PROGRAM.fits(name):
        raise Unacceptable("program_name")
    words = [Word(name)]
    end = head.end_byte
    for part in parts[1:]:
        if part.start_byte == end:  # one word to a shell, which the grammar has cut: `{a$,b}c`
            raise Unacceptable("gap")
        end = part.end_byte
        words.extend(node_words(part))
    return words


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def node_words(node: Node) -> Iterator[Word]:
    """The words that one argument becomes: more than one where braces multiply it."""
    kind = node.type
    if kind == "word":
        yield from _unquoted(_text(node))
    elif kind == "raw_string":
        yield Word(_text(node)[1:-1], bare=False)
    elif kind == "string":
        yield Word(_quoted(node), bare=False)
    elif kind == "concatenation":
        yield from _joined(node)
    elif kind == "ansi_c_string":
        yield _ansi(_text(node))
    elif kind == "brace_expression":
        yield from _unquoted(_text(node))
    elif kind == "number" and not node.children:
        yield Word(_text(node))
    else:
        raise Unacceptable(named(kind))


def _joined(node: Node) -> Iterator[Word]:
    """A word of several pieces. Where one is quoted, braces in the others are not expanded by us."""
    kinds = {part.type for part in node.children}
    if strange := kinds - _PLAIN_NODES - {"$"}:
        raise Unacceptable(named(min(strange)))
    if kinds <= {"word", "number", "brace_expression", "$"}:
        yield from _unquoted(_text(node))
        return
    if hides_class(_text(node)):
        raise Unacceptable("gap")
    pieces: list[Word] = []
    at = node.start_byte
    for part in node.children:
        if part.start_byte != at:
            raise Unacceptable("gap")
        at = part.end_byte
        found = [Word("$")] if part.type == "$" else list(node_words(part))
        if len(found) != 1 or ("{" in found[0].text and found[0].bare):
            raise Unacceptable("brace_expression")
        pieces += found
    text = "".join(piece.text for piece in pieces)
    if any(piece.text == "$" and piece.bare for piece in pieces):
        raise Unacceptable("expansion")
    split = any(piece.bare and _STANDS.within(piece.text) for piece in pieces)
    yield Word(text, any(piece.glob for piece in pieces), bare=split)


def _quoted(node: Node) -> str:
    if any(part.type not in {'"', "string_content"} for part in node.children):
        strange = next(p.type for p in node.children if p.type not in {'"', "string_content"})
        # A lone dollar before the closing quote is only a dollar.
        if strange != "$":
            raise Unacceptable(named(strange))
    text = _text(node)
    # The grammar does not name every expansion in quotes, so the text itself is looked at as well.
    if not text.startswith('"') or _LIVE_DOLLAR.within(text[:-1]) or "`" in text:
        raise Unacceptable("expansion")
    return _ESCAPED_IN_QUOTES.sub(_first, text[1:-1])


def _unquoted(text: str) -> Iterator[Word]:
    if text.startswith("!") and len(text) > 1:
        raise Unacceptable("history_expansion")
    if "{" not in text or text == "{}":
        yield _unescaped(text)
        return
    if "\\" in text:
        # Which of the braces are still live is the shell's business.
        raise Unacceptable("brace_expression")
    if _RANGE.within(text):
        text = _counted(text)
    for one in _expanded(text):
        yield _unescaped(one)


def _counted(text: str) -> str:
    """A word with a range of numbers, as the first of the words that it becomes: the others differ in digits.

    Other ranges, and numbers where an option could begin, are refused."""
    found = _NUMBERS.sub(_first, text)
    if _RANGE.within(found) or text.startswith("-"):
        raise Unacceptable("brace_expression")
    return found


def _ansi(text: str) -> Word:
    """A text with escapes, if they are the plainest ones: characters by number hide what is written."""
    found = _ANSI.fullmatch(text)
    if found is None:
        raise Unacceptable("ansi_c_string")
    return Word(_ANSI_ESCAPE.sub(lambda one: {"t": "\t", "n": "\n"}.get(one[1], one[1]), found[1]), bare=False)  # fmt: skip


def _unescaped(text: str) -> Word:
    if _BEFORE.begins(text):
        raise Unacceptable("tilde")
    escaped = "\\" in text
    live = _ESCAPED.sub("", text) if escaped else text
    if "$" in live[:-1] or (live == "$" and escaped):
        raise Unacceptable("expansion")
    if live.endswith("\\") or (escaped and hides_class(text)):
        raise Unacceptable("escape")
    plain = _ESCAPED.sub(_first, text) if escaped else text
    return Word(plain, _GLOB.within(live), not escaped or _STANDS.within(plain))


_STANDS = Pattern("[\ue000-\uf8ff]")
"""What stands for an expansion, which a shell splits outside of quotes whatever else is quoted."""


def _expanded(text: str) -> list[str]:
    """What braces with commas make of a word; they may not be nested."""
    found = [text]
    while "," in text and any(_BRACES.fits(one) for one in found):
        found = [after for one in found for after in _once(one)]
        if len(found) > _MAX_BRACES:
            raise Unacceptable("brace_expression")
    if any("{" in one and "," in one for one in found):
        raise Unacceptable("brace_expression")
    return found


def _once(text: str) -> list[str]:
    match = _BRACES.fullmatch(text)
    if match is None:
        return [text]
    before, choices, after = match.groups()
    return [before + choice + after for choice in choices.split(",")]
