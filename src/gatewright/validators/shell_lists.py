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
from gatewright.validators.shell_conditions import condition_words
from gatewright.validators.shell_heredocs import without_heredocs
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
    command_words,
    is_plain,
    is_too_much,
    named,
    node_words,
    root_of,
    split_simple,
)

__all__ = ["MARKS", "Command", "Redirection", "Step", "read_list"]

MARKS = Pattern("[\ue000-\uf8ff]")
"""Characters that stand for what a command prints. No line has them: they are not printable."""
_FIRST_MARK, _MOST_MARKS = 0xE000, 32


class Redirection(NamedTuple):
    """`2>>log`: what is redirected is not told, only how and where to."""

    sign: str
    target: Word


class Command(NamedTuple):
    """One command of a line."""

    words: list[Word]
    """Empty for an assignment that stands alone."""
    variables: tuple[str, ...] = ()
    """`NAME=value`, as they stand before it."""
    redirections: tuple[Redirection, ...] = ()


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
_MOST_NESTED, _MOST_OF_A_LOOP = 160, 16
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
    known = list(_known_expansions(root, steps)) if b"$" in source or b"<(" in source else []
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


def _known_expansions(root: Node, steps: list[Step]) -> Iterator[tuple[int, int, bytes]]:
    """Start, end and meaning of each expansion whose value needs no guess. What runs for one is added to the steps."""
    stack: list[tuple[Node, Mapping[bytes, bytes]]] = [(root, EXPANSIONS)]
    found: list[tuple[int, int, bytes]] = []
    marks = 0
    while stack:
        node, known = stack.pop()
        if marks > _MOST_MARKS:
            raise Unacceptable("too_long")
        mark = chr(_FIRST_MARK + marks)
        if node.type in {"simple_expansion", "expansion"} and (node.text or b"") in known:
            found.append((node.start_byte, node.end_byte, known[node.text or b""]))
        elif node.type == "arithmetic_expansion" and ARITHMETIC.fits((node.text or b"").decode()):
            found.append((node.start_byte, node.end_byte, b"0"))
        elif node.type in SUBSTITUTIONS and (instead := stand_in(node)) is not None:
            marks += 1
            found.append((node.start_byte, node.end_byte, instead.replace(b"%", mark.encode())))
            for part in named_parts(node):
                inner = _beside(part, 1, (node.start_byte,))
                steps += [one._replace(lists=mark if b"%" in instead else "") for one in inner]
        elif node.type == "for_statement":
            marks += 1
            name, values = _loop(node)
            steps.append(Step([Command([Word("ls", bare=False), *values])], lists=mark))
            inside = {b"$" + name: mark.encode(), b"${" + name + b"}": mark.encode()}
            stack += [(one, {**known, **inside}) for one in node.children]
        else:
            stack += [(one, known) for one in node.children]
    yield from sorted(found)


def _loop(node: Node) -> tuple[bytes, list[Word]]:
    """The variable of a loop, and the words that it goes through. Raises `Unacceptable` where nobody can say what these are."""
    head = [one for one in node.children if one.type != ";"]
    if [one.type for one in head[:3]][::2] != ["for", "in"] or head[-1].type != "do_group":
        raise Unacceptable("for_statement")
    values = [word for one in head[3:-1] for word in node_words(one)]
    if not _LOOPS.fits((head[1].text or b"").decode()):
        raise Unacceptable("assignment")
    if not 0 < len(values) <= _MOST_OF_A_LOOP or any(one.text.startswith("-") for one in values):
        raise Unacceptable("for_statement")
    return head[1].text or b"", values


_LOOPS = Pattern(
    r"[A-Z]|[a-z_][a-z0-9_]{0,3}|(?:file|files|name|item|line|test|dir|folder|pkg|package|module|branch|commit|host|port|version|target|service|script)s?"
)
"""Names of variables that mean nothing to a shell or a program."""


def _body(node: Node) -> list[Node]:
    """The statements of a loop. Where it may go from folder to folder nobody can say where it is."""
    if node.type == "for_statement":
        _loop(node)
        return [node.children[-1]]
    parts = [part for part in node.children[1:-1] if part.type not in _ENDING]
    if _GOES.within((node.text or b"").decode()):
        raise Unacceptable("for_statement")
    return parts


_GOES = Pattern(r"(?:^|[^\w./-])(?:cd|pushd|popd)(?:[^\w./-]|\n?\Z)")


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
        yield Step([_one(node)], scope)


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


_OF_SEVERAL = frozenset({"list", "pipeline", "negated_command"})


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


def _not_going(node: Node) -> Node:
    """What is negated. Behind `! cd x &&` the folder is the one before: nobody computes that."""
    inner = node.children[-1]
    if (inner.text or b"").lstrip(b"\\\"'").startswith((b"cd", b"pushd", b"popd")):
        raise Unacceptable(named(node.type))
    return inner


_INNER: dict[str, Callable[[Node], list[Node]]] = {
    "negated_command": lambda node: [_not_going(node)],
    **dict.fromkeys(("for_statement", "do_group"), _body),
    **dict.fromkeys(("subshell", "compound_statement"), _grouped),
    **dict.fromkeys(("if_statement", "elif_clause", "else_clause"), named_parts),
}
"""Kind of node → the statements in it, each judged by itself."""


def _redirected(node: Node, depth: int, scope: tuple[int, ...]) -> Iterator[Step]:
    """The grammar hangs a redirection at the end on all commands before it; it belongs to the last."""
    steps = list(_steps(node.children[0], depth, scope))
    *others, last = steps[-1].commands
    last = last._replace(redirections=(*last.redirections, *map(_redirection, node.children[1:])))
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
    others = [_one(part) for part in node.children[1:] if part.type not in _PIPES]
    yield last._replace(commands=[*last.commands, *others])


def _piped(node: Node) -> Iterator[Command]:
    for part in node.children:
        if part.type == "pipeline":
            yield from _piped(part)
        elif part.type in {"subshell", "compound_statement"}:
            # Each of them may read what comes, and write what goes on.
            for step in _steps(part, 1):
                yield from step.commands
        elif part.type not in _PIPES:
            yield _one(part)


def _one(node: Node) -> Command:
    kind = node.type
    if kind == "redirected_statement":
        body, *others = node.children
        inner = _one(body)
        return inner._replace(redirections=(*inner.redirections, *map(_redirection, others)))
    if kind == "negated_command":
        return _one(_not_going(node))
    if kind == "test_command":
        return Command(list(condition_words(node)))
    if kind == "command":
        return _plain_command(list(node.children))
    set_ = _set_parts(node)
    if set_ is None:
        raise Unacceptable(named(kind))
    return Command([], tuple(map(_assignment, set_)))


def _set_parts(node: Node) -> list[Node] | None:
    """The assignments that a statement is made of; None where it is none."""
    if node.type == "variable_assignment":
        return [node]
    if node.type == "variable_assignments":
        return list(node.children)
    exports = node.type == "declaration_command" and node.children[0].type == "export"
    # Alone it shows the environment.
    return list(node.children[1:]) or None if exports else None


def _plain_command(parts: list[Node]) -> Command:
    variables, redirections = [], []
    while parts and parts[0].type in {"variable_assignment", "file_redirect"}:
        part = parts.pop(0)
        if part.type == "file_redirect":
            redirections.append(_redirection(part))
        else:
            variables.append(_assignment(part))
    words = command_words(parts) if parts else []
    return Command(words, tuple(variables), tuple(redirections))


def _assignment(node: Node) -> str:
    if not node.children:
        raise Unacceptable("assignment")
    name, *rest = node.children
    values = rest[1:]
    if name.type != "variable_name" or not rest or rest[0].type != "=" or len(values) > 1:
        raise Unacceptable("assignment")
    words = [word for value in values for word in node_words(value)]
    if len(words) > 1:
        raise Unacceptable("assignment")
    return f"{(name.text or b'').decode()}={words[0].text if words else ''}"


def _redirection(node: Node) -> Redirection:
    if node.type != "file_redirect":
        raise Unacceptable(named(node.type))
    parts = [part for part in node.children if part.type != "file_descriptor"]
    if len(parts) != 2:
        raise Unacceptable("file_redirect")
    words = list(node_words(parts[1]))
    if len(words) != 1:
        raise Unacceptable("file_redirect")
    return Redirection(parts[0].type, words[0])
