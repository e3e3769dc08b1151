"""Parses YAML (bounded aliases); adds or removes one entry in its text and leaves every other character unchanged.

The parser's marks say where a container begins. A new entry goes in front of the others, right below
the container's key, because that place needs no guess about which comments belong to whom.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from gatewright.hosts.json_edit import newline_of
from gatewright.hosts.whole_file import CannotEdit, Unreadable
from gatewright.hosts.yaml_bounds import unfolds_too_far

__all__ = ["add", "parse", "remove"]


def parse(text: str) -> Any:
    """The document; None for a text that says nothing. Raises `Unreadable` with the line."""
    reader = _reader()
    try:
        node = reader.compose(text.removeprefix("\ufeff"))
        if node is not None and unfolds_too_far(node):
            raise Unreadable("it unfolds to too much; write out its aliases", 0)
        return None if node is None else reader.constructor.construct_document(node)
    except (YAMLError, RecursionError, ValueError) as problem:
        raise _unreadable(problem) from None


def add(
    text: str, container: Sequence[str], name: str, entry: Mapping[str, Any], *, listed: bool
) -> str:
    """The text with one more entry; the container, which is one key, is made where it is absent.

    With `listed` the container is a list and `name` is in the entry. Raises `Unreadable`, and
    `CannotEdit` where the text is written in a way that has no place for it.
    """
    value = [dict(entry)] if listed else {name: dict(entry)}
    if text.startswith("\ufeff"):
        # The parser's positions do not count it.
        return "\ufeff" + add(text[1:], container, name, entry, listed=listed)
    root = _compose(text)
    if root is None:
        return _appended(text, {container[0]: value})
    if not isinstance(root, MappingNode):
        raise CannotEdit("the file is not a mapping")
    found = _find(root, container[0])
    if found is None:
        if root.flow_style:
            raise CannotEdit("the file is written in braces")
        return _appended(text, {container[0]: value})
    return _inserted(text, found, value)


def remove(text: str, container: Sequence[str], name: str, *, listed: bool, emptied: bool) -> str:
    """The text without that entry; with `emptied` also without a container that is empty then."""
    if text.startswith("\ufeff"):
        return "\ufeff" + remove(text[1:], container, name, listed=listed, emptied=emptied)
    root = _compose(text)
    found = _find(root, container[0]) if isinstance(root, MappingNode) else None
    if found is None:
        raise CannotEdit(f"`{container[0]}` is not there")
    key, node = found
    parts = _entries(node, listed=listed)
    place = next((n for n, (label, *_) in enumerate(parts) if label == name), None)
    if place is None or not isinstance(node, CollectionNode) or node.flow_style:
        raise CannotEdit(f"`{container[0]}.{name}` cannot be taken out line by line")
    _, first, last = parts[place]
    if emptied and len(parts) == 1:
        first = key
    end = text.find("\n", _end(last))
    return text[: _line_start(text, first.start_mark.index)] + (text[end + 1 :] if end >= 0 else "")


def _reader() -> YAML:
    # `safe` makes no objects of tags; the pure parser gives marks with an index into the text.
    return YAML(typ="safe", pure=True)


def _unreadable(problem: Exception) -> Unreadable:
    mark = problem.problem_mark if isinstance(problem, MarkedYAMLError) else None
    what = problem.problem if isinstance(problem, MarkedYAMLError) else str(problem)
    return Unreadable(what or "not YAML", mark.line + 1 if mark is not None else 0)


def _compose(text: str) -> Node | None:
    try:
        found: Node | None = _reader().compose(text)
    except (YAMLError, RecursionError) as problem:
        raise _unreadable(problem) from None
    return found


def _find(root: MappingNode, key: str) -> tuple[Node, Node] | None:
    return next(((left, right) for left, right in root.value if left.value == key), None)


def _entries(node: Node, *, listed: bool) -> list[tuple[str, Node, Node]]:
    """(name, where it begins, where it ends) of every entry."""
    if listed and isinstance(node, SequenceNode):
        named = [(_find(one, "name"), one) for one in node.value if isinstance(one, MappingNode)]
        return [(found[1].value, one, one) for found, one in named if found is not None]
    if not listed and isinstance(node, MappingNode):
        return [(key.value, key, value) for key, value in node.value]
    return []


def _end(node: Node) -> int:
    """A position on the last line of what is written for a node.

    The end of a collection reaches over the comments below it, that of a block of text into the next line.
    """
    while isinstance(node, MappingNode | SequenceNode) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    mark = node.end_mark
    return int(
        mark.index - 1 if mark.column == 0 and mark.index > node.start_mark.index else mark.index
    )


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _appended(text: str, value: Any) -> str:
    newline = newline_of(text)
    gap = "" if text.endswith("\n") or not text else newline
    block = _block(value, newline)
    return text + gap + (block if not gap else block.removesuffix(newline))


def _inserted(text: str, found: tuple[Node, Node], value: Any) -> str:
    key, node = found
    listed = isinstance(value, list)
    if isinstance(node, ScalarNode) and node.value in {"", "null", "~"}:
        if node.value:
            raise CannotEdit(f"`{key.value}` is {node.value}; delete that word")
        return _below(text, key, value, key.start_mark.column + 2)
    if not isinstance(node, SequenceNode if listed else MappingNode):
        raise CannotEdit(f"`{key.value}` is not a {'list' if listed else 'mapping'}")
    if node.flow_style:
        at = node.start_mark.index + 1
        # JSON is flow style.
        inner = json.dumps(value, ensure_ascii=False)[1:-1] + (", " if node.value else "")
        return text[:at] + inner + text[at:]
    first = node.value[0][0] if isinstance(node, MappingNode) else node.value[0]
    line = text[_line_start(text, first.start_mark.index) : first.start_mark.index]
    return _below(text, key, value, len(line) - len(line.lstrip(" ")))


def _below(text: str, key: Node, value: Any, column: int) -> str:
    """The text with a block below the line of the key, that far in."""
    newline = newline_of(text)
    block = _block(value, newline, " " * column)
    end = text.find("\n", key.end_mark.index)
    if end < 0:
        return text + newline + block.removesuffix(newline)
    return text[: end + 1] + block + text[end + 1 :]


def _block(value: Any, newline: str, indent: str = "") -> str:
    writer: Any = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False
    # No line of it is folded.
    writer.width = 1_000_000
    out = io.StringIO()
    writer.dump(value, out)
    return "".join(indent + line + newline for line in out.getvalue().splitlines())
