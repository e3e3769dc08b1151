"""Parses shell lines of several commands with bash's grammar: lists (`&&`, `||`, `;`), pipes, redirections and assignments before a command.

What one line may hold is what coding agents write all day. Each command is taken out of it, to be judged by itself; loops, functions,
expansions, substitutions, jobs and here-documents stay refused by the name of their node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from tree_sitter import Node

from gatewright.patterns import Pattern
from gatewright.validators.shell_commands import (
    Command,
    command_of,
    negated,
    redirection,
)
from gatewright.validators.shell_heredocs import without_heredocs
from gatewright.validators.shell_loops import assigned, body, loop_of, read_names
from gatewright.validators.shell_outputs import (  # fmt: skip
    ARITHMETIC,
    EXPANSIONS,
    SUBSTITUTIONS,
    named_parts,
    stand_in,
)
from gatewright.validators.shell_syntax import (  # fmt: skip
    MAX_BYTES,
    Unacceptable,
    Word,
    is_plain,
    is_too_much,
    root_of,
    split_simple,
)

__all__ = ["MARKS", "Step", "read_list"]

MARKS = Pattern("[\ue000-\uf8ff]")
"""Characters that stand for what a command prints. No line has them: they are not printable."""
_FIRST_MARK, _MOST_MARKS = 0xE000, 32


class Step(NamedTuple):
    """The commands of one pipeline, and in which shell it runs, so that a `cd` in one of its own ends with it."""

    commands: list[Command]
    scope: tuple[int, ...] = ()
    """The shells of its own that it runs in, each by where it begins."""
    joined: str = ";"
    """The sign before it: behind `&&` what stands before it has succeeded."""
    job: bool = False
    """Whether it runs beside what stands behind it (`&`)."""
    lists: str = ""
    """The character that stands on the line for what it prints, in words that are judged before anybody has seen it."""


_JOINING = frozenset({"&&", "||", ";"})
_PIPES = frozenset({"|", "|&"})
_ENDING = frozenset({";", "&", "comment"})
_MOST_DEPTH = 8
_MOST_NESTED = 160
"""Levels of the grammar's tree, in which a list nests to the left."""


def read_list(text: str) -> list[Step]:
    """The pipelines of one line, in their order. Raises `Unacceptable`."""
    if not is_plain(text.translate(_BLANKS)):
        raise Unacceptable("control_character")
    source = text.encode()
    # Of a here-document nobody counts the operators; what is left of it is counted when it is taken out.
    if len(source) > MAX_BYTES or ("<<" not in text and is_too_much(text)):
        raise Unacceptable("too_long")
    simple = split_simple(text)
    return _read(source) if simple is None else [Step([Command(words) for words in simple])]


def _read(source: bytes) -> list[Step]:
    source, root = _plain_form(source)
    _hold_size(source, root)
    steps: list[Step] = []
    known = _Expansions(root, steps).read() if b"$" in source or b"<(" in source else []
    for start, end, instead in reversed(known):
        source = source[:start] + instead + source[end:]
    parts = (root_of(source) if known else root).children
    for part in parts:
        if part.type not in _ENDING:
            steps += _beside(part, 0, ())
    if not steps:
        raise Unacceptable("empty")
    if b"\n" in source or b"\t" in source:
        _hold_lines(steps)
    return steps


def _hold_size(source: bytes, root: Node) -> None:
    if b"\\\n" in source and _CUT.within(source.decode()):
        raise Unacceptable("escape")
    if is_too_much(source.decode()) or _is_too_deep(root):
        raise Unacceptable("too_long")


def _is_too_deep(root: Node) -> bool:
    """Whether the tree is deeper than what descends into it goes (`[[ ! ! ! …`)."""
    level, depth = [root], 0
    while level and depth <= _MOST_NESTED:
        level = [part for node in level for part in node.children]
        depth += 1
    return bool(level)


def _plain_form(source: bytes) -> tuple[bytes, Node]:
    """A text without its here-documents, and what the grammar makes of it."""
    root = root_of(source)
    if b"<<" not in source:
        return source, root
    source = without_heredocs(source, root)
    return source, root_of(source)


_CUT = Pattern(r"(?:^|[^ \t]|\\[ \t])\\\n")
"""An end of a line that a shell takes out of a word, and the grammar keeps: without a blank before it, which must itself end a word."""
_BLANKS = str.maketrans("\n\t", "  ")


def _hold_lines(steps: list[Step]) -> None:
    """A word of several lines is a message, and nothing that a rule reads as one line."""
    for command in (one for step in steps for one in step.commands):
        texts = [word.text for word in command.words]
        told = texts[:2] == ["git", "commit"]
        for before, text in pairwise(["", *texts]):
            if ("\n" in text or "\t" in text) and not (
                told and before in {"-m", "--message", "-am"}
            ):
                raise Unacceptable("control_character")
        if any("\n" in one or "\t" in one for one in command.variables):
            raise Unacceptable("control_character")
        if any("\n" in one.target.text for one in command.redirections):
            raise Unacceptable("control_character")


class _Expansions:
    """The expansions of a line whose value needs no guess; what runs for one is added to the steps."""

    def __init__(self, root: Node, steps: list[Step]) -> None:
        self._root, self._steps = root, steps
        self._set = {form: (text, at) for name, text, at in assigned(root) for form in _forms(name)}
        self._marks = 0
        self.found: list[tuple[int, int, bytes]] = []
        """Start, end and meaning of each."""

    def read(self) -> list[tuple[int, int, bytes]]:
        """All of them, in their order."""
        stack: list[tuple[Node, Mapping[bytes, bytes]]] = [(self._root, EXPANSIONS)]
        while stack:
            node, known = stack.pop()
            if node.type in {"for_statement", "while_statement"}:
                known = {**known, **dict.fromkeys(self._names(node), self._mark().encode())}
            elif (instead := self._instead(node, known)) is not None:
                self.found.append((node.start_byte, node.end_byte, instead))
                continue
            stack += [(one, known) for one in node.children]
        return sorted(self.found)

    def _mark(self) -> str:
        return chr(_FIRST_MARK + self._marks - 1)

    def _count(self) -> None:
        if self._marks >= _MOST_MARKS:
            raise Unacceptable("too_long")
        self._marks += 1

    def _instead(self, node: Node, known: Mapping[bytes, bytes]) -> bytes | None:
        text = node.text or b""
        if node.type in {"simple_expansion", "expansion"}:
            value, start = self._set.get(text, (b"", len(text)))
            return known.get(text) or (value if value and start <= node.start_byte else None)
        if node.type == "arithmetic_expansion" and ARITHMETIC.fits(text.decode()):
            return b"0"
        instead = stand_in(node) if node.type in SUBSTITUTIONS else None
        if instead is None:
            return None
        self._count()
        for part in named_parts(node):
            inner = _beside(part, 1, (node.start_byte,))
            lists = self._mark() if b"%" in instead else ""
            self._steps += [one._replace(lists=lists) for one in inner]
        return instead.replace(b"%", self._mark().encode())

    def _names(self, node: Node) -> list[bytes]:
        """How a loop names its variables, for which a mark stands."""
        self._count()
        if node.type == "for_statement":
            name, values = loop_of(node)
            names, lists = [name], [Command([Word("ls", bare=False), *values])]
        else:
            names, whole = read_names(node)
            lists = _before(node) if whole else [_UNSEEN]
        self._steps.append(Step(lists, lists=self._mark()))
        # Each command sets that one anew.
        return [form for one in names if one != b"_" for form in _forms(one)]


def _forms(name: bytes) -> tuple[bytes, bytes]:
    """How a line names a variable."""
    return b"$" + name, b"${" + name + b"}"


_UNSEEN = Command([Word("echo")])
"""What prints something that nobody has seen."""


def _before(node: Node) -> list[Command]:
    """The commands that write into a loop."""
    around = node.parent
    if around is None or around.type != "pipeline":
        return [_UNSEEN]
    before = around.children[: around.children.index(node)]
    return [command_of(part) for part in before if part.type not in _PIPES] or [_UNSEEN]


def _steps(node: Node, depth: int, scope: tuple[int, ...] = ()) -> Iterator[Step]:
    if depth > _MOST_DEPTH:
        raise Unacceptable("too_long")
    if node.type == "list":
        for sign, part in _leaves(node):
            yield from _joined(sign, _steps(part, depth, scope))
        return
    inner = _INNER.get(node.type)
    if inner is not None:
        deeper = depth + (node.type != "negated_command")
        within = (*scope, node.start_byte) if node.type == "subshell" else scope
        for part in inner(node):
            yield from _beside(part, deeper, within)
    elif node.type == "pipeline":
        yield from _pipeline(node, depth, scope)
    elif node.type == "redirected_statement" and node.children[0].type in _OF_SEVERAL:
        yield from _redirected(node, depth, scope)
    else:
        yield Step([command_of(node)], scope)


def _beside(node: Node, depth: int, scope: tuple[int, ...]) -> Iterator[Step]:
    """The steps of a statement, which runs in a shell of its own where `&` stands behind it."""
    after = node.next_sibling
    if after is None or after.type != "&":
        yield from _steps(node, depth, scope)
        return
    for step in _steps(node, depth, (*scope, node.start_byte)):
        yield step._replace(job=True)


def _joined(sign: str, steps: Iterator[Step]) -> Iterator[Step]:
    """Steps of which the first stands behind a sign."""
    for first in steps:
        yield first._replace(joined=sign) if sign else first
        break
    yield from steps


_OF_SEVERAL = frozenset({"list", "pipeline", "negated_command", "while_statement"})


def _leaves(node: Node) -> list[tuple[str, Node]]:
    """The parts of a list, which the grammar nests to the left, each with the sign before it."""
    found: list[tuple[str, Node]] = []
    while node.type == "list":
        *before, last = node.children
        if len(before) != 2 or before[1].type not in _JOINING:
            raise Unacceptable("list")
        found.append((before[1].type, last))
        node = before[0]
    return [("", node), *reversed(found)]


def _grouped(node: Node) -> list[Node]:
    return [part for part in node.children[1:-1] if part.type not in _ENDING]


_INNER: dict[str, Callable[[Node], list[Node]]] = {
    "negated_command": lambda node: [negated(node)],
    **dict.fromkeys(("for_statement", "while_statement", "do_group"), body),
    **dict.fromkeys(("subshell", "compound_statement"), _grouped),
    **dict.fromkeys(("if_statement", "elif_clause", "else_clause"), named_parts),
}
"""Kind of node → the statements in it, each judged by itself."""


def _redirected(node: Node, depth: int, scope: tuple[int, ...]) -> Iterator[Step]:
    """The grammar hangs a redirection at the end on all commands before it; it belongs to the last."""
    steps = list(_steps(node.children[0], depth, scope))
    *others, last = steps[-1].commands
    last = last._replace(redirections=(*last.redirections, *map(redirection, node.children[1:])))
    yield from steps[:-1]
    yield steps[-1]._replace(commands=[*others, last])


def _pipeline(node: Node, depth: int, scope: tuple[int, ...]) -> Iterator[Step]:
    """The grammar takes `a && b 2>&1 | c` for a pipe from both; only the last of a list is joined by it."""
    first = node.children[0]
    inner = first.children[0] if first.type == "redirected_statement" else first
    if inner.type != "list":
        yield Step(list(_piped(node)), scope)
        return
    *before, last = _steps(first, depth, scope)
    yield from before
    others = [command_of(part) for part in node.children[1:] if part.type not in _PIPES]
    yield last._replace(commands=[*last.commands, *others])


def _piped(node: Node) -> Iterator[Command]:
    for part in node.children:
        if part.type == "pipeline":
            yield from _piped(part)
        elif part.type in {"subshell", "compound_statement", "while_statement"}:
            # Each of them may read what comes, and write what goes on.
            for step in _steps(part, 1):
                yield from step.commands
        elif part.type not in _PIPES:
            yield command_of(part)
