"""Parses JSON with comments; adds or removes one member of such a text and leaves every other character unchanged.

What is inserted looks like its neighbours: their indentation, their line ends, one line where they
have one line, and a comma at the end where they have it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from gatewright.hosts.json_spans import Member, Node, plain, scan
from gatewright.hosts.whole_file import CannotEdit
from gatewright.patterns import Pattern

__all__ = ["add", "newline_of", "parse", "remove"]

_BREAK = Pattern(r"\r\n|\n|\r")
# Nothing is read twice: comments in a row could be cut in as many ways as there are numbers of that many bits.
_LAST_LINE_COMMENT = Pattern(
    r"(?:[ \t\r\n]|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/|//[^\r\n]*[\r\n])*//[^\r\n]*"
)
_SPACES = " \t\r\n"
_SAME = 50
"""How often one key may stand in an object."""


class _Style(msgspec.Struct, frozen=True):
    """How this text is written: its line end, one step of indentation, what follows a colon."""

    newline: str
    unit: str
    colon: str

    def block(self, value: Any, indent: str) -> str:
        """The value over several lines; all but the first begin with `indent`."""
        text = json.dumps(value, indent=self.unit, ensure_ascii=False, separators=(",", self.colon))
        return text.replace("\n", self.newline + indent)

    def line(self, value: Any) -> str:
        """The value on one line."""
        comma = ", " if self.colon == ": " else ","
        return json.dumps(value, ensure_ascii=False, separators=(comma, self.colon))


def newline_of(text: str) -> str:
    """How the lines of the text end; `\\n` where there is only one."""
    found = _BREAK.search(text)
    return found[0] if found else "\n"


def parse(text: str) -> Any:
    """The value of the text; None where there is none. Raises `Unreadable`."""
    return plain(scan(text))


def add(text: str, container: Sequence[str], name: str, entry: Any) -> str:
    """The text with `entry` as member `name` of the object at `container`, made where it is absent.

    Raises `Unreadable`, and `CannotEdit` where something else stands in the way.
    """
    root = scan(text)
    path = [*container, name]
    if root is None:
        return _only(text, _nested(path, entry))
    node = root
    for depth, key in enumerate(path):
        if node.members is None:
            where = f"`{'.'.join(path[:depth])}`" if depth else "the file"
            raise CannotEdit(f"{where} is not an object")
        found = node.find(key)
        if found is None:
            value = _nested(path[depth + 1 :], entry)
            return _inserted(text, root, node, key, value)
        node = found.value
    raise CannotEdit(f"`{'.'.join(path)}` is already there")


def remove(text: str, container: Sequence[str], name: str, *, emptied: bool) -> str:
    """The text without that member; with `emptied` also without the objects that are empty then."""
    path = [*container, name]
    holder = _reach(scan(text), container)
    same = sum(one.key == name for one in (holder.members if holder else None) or ())
    # Each is looked for in the whole text.
    if same > _SAME:
        raise CannotEdit(f"`{'.'.join(path)}` stands there {same} times")
    text = _removed(text, path)
    while _reach(scan(text), path) is not None:  # a key may stand there twice
        text = _removed(text, path)
    while emptied and (path := path[:-1]) and _is_empty(_reach(scan(text), path)):
        text = _removed(text, path)
    return text


def _nested(keys: Sequence[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _only(text: str, value: Any) -> str:
    """The value in a text that has none yet."""
    style = _Style(newline_of(text), "  ", ": ")
    gap = "" if text.strip("\ufeff \t") == "" or text.endswith(("\n", "\r")) else style.newline
    return text + gap + style.block(value, "") + style.newline


def _inserted(text: str, root: Node, node: Node, key: str, value: Any) -> str:
    """The text with one more member at the end of the object `node`."""
    style = _style(text, root)
    last = node.members[-1] if node.members else None
    # Behind the trailing comma where there is one; `comma` is -1 where there is none.
    after = node.start + 1 if last is None else max(last.value.end, last.comma + 1)
    tail = text[after : node.end - 1]
    kept = tail.rstrip(_SPACES)
    at = after + len(kept)
    # Behind `// …` on the same line the new member would be part of the comment.
    in_comment = _LAST_LINE_COMMENT.fullmatch(kept) is not None
    pair = {key: value}
    if _on_one_line(text, root, node) and not in_comment:
        gap = " " if last is not None and style.colon == ": " else ""
        piece = gap + style.line(pair)[1:-1]
    else:
        indent = _indent(text, node, style)
        body = style.block(pair, "")[1:-1].strip()
        piece = style.newline + indent + _shifted(style, body, indent)
        if last is None and not _BREAK.search(tail[len(kept) :]):
            piece += style.newline + _line_indent(text, node.start)
    if last is None:
        return text[:at] + piece + text[at:]
    if last.comma >= 0:
        return text[:at] + piece + "," + text[at:]
    return text[: last.value.end] + "," + text[last.value.end : at] + piece + text[at:]


def _shifted(style: _Style, body: str, indent: str) -> str:
    """A member that was written one step in, moved to `indent`."""
    return body.replace(style.newline + style.unit, style.newline + indent)


def _on_one_line(text: str, root: Node, node: Node) -> bool:
    # An empty object shows no style of its own.
    around = node if node.members else root
    return bool(around.members) and not _BREAK.search(text[around.start : around.end])


def _style(text: str, root: Node) -> _Style:
    first = next(_members(root), None)
    tight = first is not None and text[first.value.start - 1] == ":"
    return _Style(newline_of(text), _unit(text, root), ":" if tight else ": ")


def _members(node: Node) -> Iterator[Member]:
    for member in node.members or []:
        yield member
        yield from _members(member.value)


def _unit(text: str, node: Node, outer: str = "") -> str:
    """One step of indentation: the first that is found from outside to inside."""
    for member in node.members or []:
        indent = _own_line(text, member)
        if indent and indent != outer and indent.startswith(outer):
            return indent.removeprefix(outer)
    for member in node.members or []:
        if member.value.members:
            return _unit(text, member.value, _line_indent(text, member.value.start))
    return "  "


def _indent(text: str, node: Node, style: _Style) -> str:
    """How far in a new member of this object stands: as far as the last one on a line of its own."""
    for member in reversed(node.members or []):
        indent = _own_line(text, member)
        if indent is not None:
            return indent
    return _line_indent(text, node.start) + style.unit


def _own_line(text: str, member: Member) -> str | None:
    """The space in front of a member that begins its line; None where something else does."""
    before = text[_line_start(text, member.start) : member.start]
    return before if before.strip(" \t") == "" else None


def _line_indent(text: str, at: int) -> str:
    line = text[_line_start(text, at) : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _reach(node: Node | None, path: Sequence[str]) -> Node | None:
    """What stands at the end of a path of keys."""
    for key in path:
        member = node.find(key) if node else None
        node = member.value if member else None
    return node


def _is_empty(node: Node | None) -> bool:
    return node is not None and node.members == []


def _removed(text: str, path: Sequence[str]) -> str:
    node = _reach(scan(text), path[:-1])
    members = node.members or [] if node else []
    place = next((n for n, one in enumerate(members) if one.key == path[-1]), None)
    if node is None or place is None:
        raise CannotEdit(f"`{'.'.join(path)}` is not there")
    return _cut(text, node, members, place)


def _cut(text: str, node: Node, members: Sequence[Member], place: int) -> str:
    """The text without one member, the comma that belongs to it, and the space in front of it."""
    member = members[place]
    previous = members[place - 1] if place else None
    after = node.start + 1 if previous is None else previous.comma + 1
    end = max(member.value.end, member.comma + 1)
    before = text[after : member.start].rstrip(_SPACES)
    if _LAST_LINE_COMMENT.fullmatch(before) and not _BREAK.match(text[end:].lstrip(" \t")):
        # Its line end is also the end of the comment in front of it.
        before = text[after : member.start]
    # The last of several: the comma before it has to go, which would now be a trailing one.
    if previous is not None and member.comma < 0:
        after_value = text[previous.value.end : previous.comma]
        return text[: previous.value.end] + after_value + before + text[end:]
    if len(members) == 1 and not before and not text[end : node.end - 1].strip(_SPACES):
        end = node.end - 1
    return text[:after] + before + text[end:]
