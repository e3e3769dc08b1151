"""Takes here-documents that are data out of a shell text: what `cat` or `tee` writes, and the message of `git commit -m "$(cat <<'EOF' …)"`.

Behind a quoted word a shell reads a here-document as it is, and one without `$`, backticks and backslashes in any case. Where it ends is
asked twice, of the grammar and of the lines: it is the first line that is the word and nothing else. What else stands on the line of the sign stays and is judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from gatewright.validators.shell_syntax import Unacceptable

__all__ = ["without_heredocs"]

_TAKERS = frozenset({b"cat", b"tee"})
_QUOTES = b"'\"\\"
_LIVE = frozenset(b"$`\\")
"""What a shell reads in a here-document whose word is not quoted."""
_COMMITTING = 2

Edit = tuple[int, int, bytes]


def without_heredocs(source: bytes, root: Node) -> bytes:
    """The text without its here-documents. Raises `Unacceptable` where one is for another program, or is no mere data."""
    edits: list[Edit] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "command_substitution" and (found := _message(source, node)) is not None:
            edits.append(found)
        elif node.type == "heredoc_redirect":
            edits += _document(source, node)
            # What else stands on its line.
            stack += [one for one in node.children if one.type not in _OWN]
        else:
            stack += node.children
    for start, end, instead in sorted(edits, reverse=True):
        source = source[:start] + instead + source[end:]
    return source


_OWN = frozenset({"<<", "heredoc_start", "heredoc_body", "heredoc_end"})


def _document(source: bytes, node: Node) -> Iterator[Edit]:
    """The edits that take one out."""
    parts = {part.type: part for part in node.children}
    sign, start, end = parts.get("<<"), parts.get("heredoc_start"), parts.get("heredoc_end")
    taker = node.parent.children[0] if node.parent is not None else None
    name = taker.children[0].text if taker is not None and taker.type == "command" else b""
    if sign is None or start is None or end is None or name not in _TAKERS:
        raise Unacceptable("heredoc_redirect")
    word = start.text or b""
    plain = word.strip(b"'\"").replace(b"\\", b"")
    if not plain.isalnum():
        raise Unacceptable("heredoc_redirect")
    begun = source.find(b"\n", start.end_byte) + 1
    lines = source[begun:].split(b"\n") if begun else []
    if plain not in lines:
        raise Unacceptable("heredoc_redirect")
    ends = begun + sum(len(one) + 1 for one in lines[: lines.index(plain)])
    quoted = word[:1] in _QUOTES
    if ends != end.start_byte or not (quoted or _LIVE.isdisjoint(source[begun:ends])):
        raise Unacceptable("heredoc_redirect")
    yield sign.start_byte, start.end_byte, b""
    yield begun, ends + len(plain), b""


def _message(source: bytes, node: Node) -> Edit | None:
    """The edit for a message of `git commit` that is nothing but a here-document; None for any other substitution."""
    inner = [part for part in node.children if part.is_named]
    command = (
        node.parent.parent if node.parent is not None and node.parent.type == "string" else None
    )
    if len(inner) != 1 or inner[0].type != "redirected_statement" or command is None:
        return None
    words = [part.text for part in command.children[:_COMMITTING]]
    body = inner[0].children
    if command.type != "command" or words != [b"git", b"commit"] or len(body) != _COMMITTING:
        return None
    if body[0].text != b"cat" or body[1].type != "heredoc_redirect":
        return None
    if any(part.type not in _OWN for part in body[1].children):
        return None
    list(_document(source, body[1]))
    return node.start_byte, node.end_byte, b"message"
