"""Reads one command from bash's syntax tree: words, assignments before it, redirections, negation by `!`; refuses multi-line words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from tree_sitter import Node

from gatewright.validators.shell_conditions import condition_words
from gatewright.validators.shell_loops import goes
from gatewright.validators.shell_syntax import Unacceptable, Word, command_words, named, node_words

__all__ = ["Command", "Redirection", "command_of", "hold_lines", "negated", "redirection"]


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


def negated(node: Node) -> Node:
    """What is negated. Behind `! cd x &&` the folder is the one before: nobody computes that."""
    inner = node.children[-1]
    if inner.type != "subshell" and goes(inner):
        raise Unacceptable(named(node.type))
    return inner


def command_of(node: Node) -> Command:
    """One command, an assignment or a condition. Raises `Unacceptable` where it is anything else."""
    kind = node.type
    if kind == "redirected_statement":
        body, *others = node.children
        inner = command_of(body)
        return inner._replace(redirections=(*inner.redirections, *map(redirection, others)))
    if kind == "negated_command":
        return command_of(negated(node))
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
            redirections.append(redirection(part))
        else:
            variables.append(_assignment(part))
            if parts and parts[0].start_byte == part.end_byte:  # one word to a shell
                raise Unacceptable("gap")
    redirections += [redirection(one) for one in parts if one.type == "herestring_redirect"]
    parts = [one for one in parts if one.type != "herestring_redirect"]
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


def redirection(node: Node) -> Redirection:
    """A redirection to, or from, one plain word. Raises `Unacceptable`."""
    if node.type not in {"file_redirect", "herestring_redirect"}:
        raise Unacceptable(named(node.type))
    parts = [part for part in node.children if part.type != "file_descriptor"]
    if len(parts) != 2:
        raise Unacceptable("file_redirect")
    words = list(node_words(parts[1]))
    if len(words) != 1:
        raise Unacceptable("file_redirect")
    return Redirection(parts[0].type, words[0])


def hold_lines(commands: Iterable[Command]) -> None:
    """A word of several lines is a message, and nothing that a rule reads as one line. Raises `Unacceptable`."""
    for command in commands:
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
