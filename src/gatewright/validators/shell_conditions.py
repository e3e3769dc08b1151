"""Rewrites a condition on a shell line, `[ -f x ]` or `[[ a && b ]]`, as the words of the command `test`."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from gatewright.validators.shell_syntax import Unacceptable, Word, named, node_words

__all__ = ["condition_words"]


def condition_words(node: Node) -> Iterator[Word]:
    """`[ -f x ]`, as a command of plain words. Raises `Unacceptable`."""
    yield Word("test")
    # Between double brackets nothing is split.
    whole = node.children[0].type == "[["
    for part in node.children[1:-1]:
        yield from (one._replace(bare=False) if whole else one for one in _tested(part))


def _tested(node: Node) -> Iterator[Word]:
    if node.type in {
        "unary_expression",
        "binary_expression",
        "negation_expression",
        "parenthesized_expression",
    }:
        for part in node.children:
            yield from _tested(part)
    elif node.type in {"word", "string", "raw_string", "concatenation", "number"}:
        yield from node_words(node)
    elif node.type in {"test_operator", "=", "!=", "==", "!", "<", ">", "&&", "||", "(", ")"}:
        yield Word((node.text or b"").decode())
    else:
        raise Unacceptable(named(node.type))
