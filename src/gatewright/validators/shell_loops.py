"""Parses `for` and `while read` loops of a shell line (variable, values, body) and constant assignments; refuses any other loop.

What a loop goes through is on the line, or comes from its input, which nobody has seen. A variable is known where it is set once, by what runs
in any case before it is named; where it may not have been set, it would be whatever the environment has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from tree_sitter import Node

from gatewright.patterns import Pattern
from gatewright.validators.shell_syntax import Unacceptable, Word, node_words

__all__ = ["Loop", "assigned", "body", "goes", "is_own_name", "loop_of", "read_names", "sets_again"]

_MOST_OF_A_LOOP = 16
_ENDING = frozenset({";", "&", "comment"})

Loop = tuple[bytes, list[Word], Node | None]
"""The variable of a loop, the words that it goes through, and a command among them whose output it does."""


def loop_of(node: Node) -> Loop:
    """What a `for` names. Raises `Unacceptable` where nobody can say what it goes through."""
    head = [one for one in node.children if one.type != ";"]
    if [one.type for one in head[:3]][::2] != ["for", "in"] or head[-1].type != "do_group":
        raise Unacceptable("for_statement")
    printed = [one for one in head[3:-1] if one.type == "command_substitution"]
    values = [word for one in head[3:-1] if one not in printed for word in node_words(one)]
    if not is_own_name((head[1].text or b"").decode()):
        raise Unacceptable("assignment")
    if not 0 < len(values) + len(printed) <= _MOST_OF_A_LOOP or any(one.text.startswith("-") for one in values):  # fmt: skip
        raise Unacceptable("for_statement")
    return head[1].text or b"", values, printed[0].named_children[0] if printed else None


_NAME = r"(?:[A-Z]|[a-z_][a-z0-9_]{0,3}|(?:file|files|name|item|line|test|dir|folder|pkg|package|module|branch|commit|host|port|version|target|service|script)s?)"
_LOOPS = Pattern(_NAME)
_TIED = frozenset({"path", "argv"})
"""To zsh these are `PATH` and the arguments."""
_READ = Pattern(
    rf"(IFS=(?:''|\"\")? |IFS=(?:[,:;|]|'[,:;| \\t]'|\"[,:;| ]\"|\$'\\t') )?read (?:-r )?({_NAME}(?: {_NAME}){{0,3}})"
)


def read_names(node: Node) -> tuple[list[bytes], bool]:
    """What a `while` reads from its input, and whether its one variable gets whole lines. Raises `Unacceptable` for any other `while`."""
    words = [one for one in node.children if one.is_named]
    found = _READ.fullmatch((words[0].text or b"").decode()) if words else None
    if found is None or node.children[0].type != "while" or len(words) != len(("read", "do")):
        raise Unacceptable(node.type)
    names = str(found[2]).split()
    if not all(map(is_own_name, names)):
        raise Unacceptable("assignment")
    whole = len(names) == 1 and (not found[1] or found[1].strip("\"' ") == "IFS=")
    return [one.encode() for one in names], whole


def is_own_name(name: str) -> bool:
    """Whether a variable of this name means nothing to a shell or a program."""
    return _LOOPS.fits(name) and name not in _TIED


def sets_again(body: Node, names: Collection[bytes]) -> bool:
    """Whether what stands in a loop sets a variable of it: behind that it is none of the words that are judged in its place."""
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type == "variable_name" and node.text in names:
            return True
        if node.type == "while_statement" and not set(names).isdisjoint(read_names(node)[0]):
            return True
        if node.type not in _NAMING:
            stack += node.children
    return False


def body(node: Node) -> list[Node]:
    """The statements of a loop. Where it may go from folder to folder nobody can say where it is."""
    if node.type == "for_statement":
        loop_of(node)
        return [node.children[-1]]
    if node.type == "while_statement":
        read_names(node)
        return [node.children[-1]]
    parts = [part for part in node.children[1:-1] if part.type not in _ENDING]
    # A shell of its own comes back.
    if any(part.type != "subshell" and goes(part) for part in parts):
        raise Unacceptable("for_statement")
    return parts


def goes(node: Node) -> bool:
    """Whether something in a statement may go to another folder."""
    return _GOES.within((node.text or b"").decode())


_GOES = Pattern(r"(?:^|[^\w./-])(?:cd|chdir|pushd|popd)(?:[^\w./-]|\n?\Z)")
_PLAIN = Pattern(r"[\w./:@%+,][\w./:@%+,-]*")
"""A text that means the same in whatever place of a line."""


def assigned(root: Node) -> Iterator[tuple[bytes, bytes, int]]:
    """Name and text of each variable that a line sets, and from where on that is what it is."""
    found = [one for statement in root.children for one in _first(statement)]
    said = _said(root) if found else Counter[bytes]()
    for node in found:
        name, text = _parts(node)
        if text and said[name] == 1 and name != b"_":  # which each command sets anew
            yield name, text, node.end_byte


def _first(statement: Node) -> list[Node]:
    """The assignments with which a statement begins that runs in this shell."""
    after = statement.next_sibling
    if after is not None and after.type == "&":
        return []
    while statement.type == "list":
        statement = statement.children[0]
    if statement.type == "variable_assignments":
        return list(statement.children)
    return [statement] if statement.type == "variable_assignment" else []


def _parts(node: Node) -> tuple[bytes, bytes]:
    """The name, and the text if it is a plain one."""
    name, *rest = node.children
    try:
        words = [word for one in rest[1:] for word in node_words(one)]
    except Unacceptable:
        words = []
    one = words[0] if len(words) == 1 and rest[0].type == "=" else Word("")
    plain = not one.glob and _PLAIN.fits(one.text)
    return name.text or b"", one.text.encode() if plain else b""


def _said(root: Node) -> Counter[bytes]:
    """How often each name stands on the line as what is set, or as a word that a command could set."""
    stack, found = [root], Counter[bytes]()
    while stack:
        node = stack.pop()
        if node.type in {"variable_name", "word"}:
            found[node.text or b""] += 1
        if node.type not in _NAMING:
            stack += node.children
    return found


_NAMING = frozenset({"simple_expansion", "expansion"})
