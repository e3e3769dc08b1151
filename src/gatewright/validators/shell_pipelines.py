"""`read_list`: parses a shell line with bash's grammar into pipelines: lists, groups, `if`, loops, jobs; marks in place of substitutions.

What one line may hold is what coding agents write all day. Each command is taken out of it, to be judged by itself. Loops,
expansions, substitutions, jobs and here-documents are read where what they stand for is known; anything else, such as a function, is refused by the
name of its node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tree_sitter import Node

from gatewright.patterns import Pattern
from gatewright.validators.shell_commands import (
    Command,
    command_of,
    hold_lines,
    negated,
    redirection,
)
from gatewright.validators.shell_heredocs import without_heredocs
from gatewright.validators.shell_loops import assigned, body, goes, loop_of, read_names, sets_again
from gatewright.validators.shell_outputs import (  # fmt: skip
    ARITHMETIC,
    EXPANSIONS,
    PLACES,
    SUBSTITUTIONS,
    named_parts,
    stand_in,
    stands_alone,
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
    again: bool = False
    """Whether it runs beside what stands behind it (`&`), or once more after that."""
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
    source = _edited(source, known)
    parts = (root_of(source) if known else root).children
    for part in parts:
        if part.type not in _ENDING:
            steps += _beside(part, 0, ())
    if not steps:
        raise Unacceptable("empty")
    if b"\n" in source or b"\t" in source:
        hold_lines(one for step in steps for one in step.commands)
    return steps


def _edited(source: bytes, edits: Sequence[_Edit], begins: int = 0) -> bytes:
    """A text that begins at a place, with what stands for others in it."""
    for start, end, instead in reversed(edits):
        source = source[: start - begins] + instead + source[end - begins :]
    return source


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


_Edit = tuple[int, int, bytes]
"""Start, end and what stands there."""


class _Expansions:
    """The expansions of a line whose value needs no guess; what runs for one is added to the steps."""

    def __init__(self, root: Node, steps: list[Step]) -> None:
        self._root, self._steps = root, steps
        self._set = {form: (text, at) for name, text, at in assigned(root) for form in _forms(name)}
        self._marks = 0

    def read(self) -> list[_Edit]:
        """All of them, in their order."""
        return self._below(self._root, EXPANSIONS)

    def _below(self, root: Node, known: Mapping[bytes, bytes]) -> list[_Edit]:
        found, stack = list[_Edit](), [(root, known)]
        while stack:
            node, known = stack.pop()
            if node.type in _LOOPS:
                known = {**known, **dict.fromkeys(self._names(node), self._mark().encode())}
            elif (instead := self._instead(node, known)) is not None:
                found.append((node.start_byte, node.end_byte, instead))
                continue
            stack += [(one, known) for one in node.children]
        return sorted(found)

    def _mark(self) -> str:
        return chr(_FIRST_MARK + self._marks - 1)

    def _count(self) -> None:
        if self._marks >= _MOST_MARKS:
            raise Unacceptable("too_long")
        self._marks += 1

    def _instead(self, node: Node, known: Mapping[bytes, bytes]) -> bytes | None:
        if node.type in {"simple_expansion", "expansion"}:
            return self._value(node, node.text or b"", known)
        if node.type == "arithmetic_expansion" and ARITHMETIC.fits((node.text or b"").decode()):
            return b"0"
        instead = stand_in(node) if node.type in SUBSTITUTIONS else None
        if instead is None:
            return None
        self._count()
        mark = self._mark()
        for part in named_parts(node):
            inner = _beside(self._within(part, known), 1, (node.start_byte,))
            lists = mark if b"%" in instead else ""
            self._steps += [one._replace(lists=lists) for one in inner]
        return instead.replace(b"%", mark.encode())

    def _within(self, part: Node, known: Mapping[bytes, bytes]) -> Node:
        """A statement of a substitution, with what stands for the expansions in it."""
        edits = self._below(part, known)
        if not edits:
            return part
        inner = root_of(_edited(part.text or b"", edits, part.start_byte)).children
        if len(inner) != 1:
            raise Unacceptable("command_substitution")
        return inner[0]

    def _value(self, node: Node, text: bytes, known: Mapping[bytes, bytes]) -> bytes | None:
        """What a variable is, if that is known."""
        if text in PLACES and not stands_alone(node):
            return None
        value, start = self._set.get(text, (b"", 0))
        return known.get(text) or (value if value and start <= node.start_byte else None)

    def _names(self, node: Node) -> list[bytes]:
        """How a loop names its variables, for which a mark stands."""
        self._count()
        if node.type == "for_statement":
            name, values, printed = loop_of(node)
            names, lists = [name], [Command([Word("ls", bare=False), *values])]
            if printed is not None:
                steps = [] if values else list(_beside(printed, 1, ()))
                lists = steps[0].commands if len(steps) == 1 else [_UNSEEN]
        else:
            names, whole = read_names(node)
            lists = _before(node) if whole else [_UNSEEN]
        if sets_again(node.children[-1], names):
            raise Unacceptable("assignment")
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
        yield from _of_list(node, depth, scope)
    elif node.type in _INNER:
        yield from _of_inner(node, depth, scope)
    elif node.type == "pipeline":
        yield from _pipeline(node, depth, scope)
    elif node.type == "redirected_statement" and node.children[0].type in _OF_SEVERAL:
        yield from _redirected(node, depth, scope)
    else:
        yield Step([command_of(node)], scope)


def _of_list(node: Node, depth: int, scope: tuple[int, ...]) -> Iterator[Step]:
    certain, went = True, False
    for sign, part in _leaves(node):
        yield from _joined(sign if certain else sign.replace("&&", ";"), _steps(part, depth, scope))
        # What goes behind `||` or within another statement may not have run, and what stands before `||` may have failed.
        went |= goes(part)
        certain &= not went if sign == "||" else _is_plain(part) or not goes(part)


def _of_inner(node: Node, depth: int, scope: tuple[int, ...]) -> Iterator[Step]:
    """The steps of what holds other statements."""
    if node.type == "for_statement":
        words = loop_of(node)[1]
        if any(
            MARKS.within(one.text) for one in words
        ):  # what prints them runs, whoever names them
            yield Step([Command([Word("echo"), *words])], scope)
    deeper = depth + (node.type != "negated_command")
    within = (*scope, node.start_byte) if node.type == "subshell" else scope
    again = node.type in _LOOPS
    for part in _INNER[node.type](node):
        for step in _beside(part, deeper, within):
            yield step._replace(again=True) if again else step


def _beside(node: Node, depth: int, scope: tuple[int, ...]) -> Iterator[Step]:
    """The steps of a statement, which runs in a shell of its own where `&` stands behind it."""
    after = node.next_sibling
    if after is None or after.type != "&":
        yield from _steps(node, depth, scope)
        return
    for step in _steps(node, depth, (*scope, node.start_byte)):
        yield step._replace(again=True)


def _joined(sign: str, steps: Iterator[Step]) -> Iterator[Step]:
    """Steps of which the first stands behind a sign."""
    for first in steps:
        yield first._replace(joined=sign) if sign else first
        break
    yield from steps


_OF_SEVERAL = frozenset({"list", "pipeline", "negated_command", "while_statement"})
_GROUPS = frozenset({"subshell", "compound_statement", "while_statement"})
_LOOPS = frozenset({"for_statement", "while_statement"})


def _is_plain(node: Node) -> bool:
    """Whether a statement is one command, or a shell of its own."""
    inner = node.children[0] if node.type == "redirected_statement" else node
    return inner.type in {"command", "subshell"}


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
        yield from _of_parts(list(_parts(node)), depth, scope)
        return
    end = _leaves(inner)[-1][1]
    if end.type != "command" and goes(end):
        raise Unacceptable("pipeline")
    *before, last = _steps(first, depth, scope)
    yield from before
    others = [command_of(part) for part in node.children[1:] if part.type not in _PIPES]
    yield last._replace(commands=[*last.commands, *others])


def _of_parts(parts: list[Node], depth: int, scope: tuple[int, ...]) -> Iterator[Step]:
    """A pipeline, and before it what a part does in a shell of its own that goes elsewhere, or runs again."""
    commands = list[Command]()
    for part in parts:
        if part.type in _LOOPS or (part.type in _GROUPS and goes(part)):
            for step in _steps(part, depth + 1, (*scope, part.start_byte)):
                yield step._replace(commands=[*commands, *step.commands])
        commands += _piped(part)
    yield Step(commands, scope)


def _parts(node: Node) -> Iterator[Node]:
    for part in node.children:
        if part.type == "pipeline":
            yield from _parts(part)
        elif part.type not in _PIPES:
            yield part


def _piped(part: Node) -> Iterator[Command]:
    if part.type in _GROUPS:
        # Each of them may read what comes, and write what goes on.
        for step in _steps(part, 1):
            yield from step.commands
    else:
        yield command_of(part)
