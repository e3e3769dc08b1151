"""Translates hosts' placeholders (`${env:X}`, `$X`, `{env:X}`) to `${X}`; refuses any that run programs or read files; parses the gateway's.

Nothing is looked up and nothing is executed here: `${env:TOKEN}`, `$TOKEN`, `{env:TOKEN}` and the like
all become `${TOKEN}`, what a host asked its user for becomes a variable or a secret with a name, and
what would run a program or read a secret of ours is refused. A placeholder that no host would have
replaced stays the text it was, spelled `$${`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

import msgspec

from gatewright.command_text import to_type
from gatewright.hosts.model import Refused
from gatewright.patterns import DOTALL, IGNORECASE, Match, Pattern

__all__ = [
    "Meaning",
    "Piece",
    "Syntax",
    "escape",
    "pieces",
    "places",
    "references",
    "shown",
    "translate",
    "variable",
]

Syntax = str
"""`braces` ${X}, `dollar` $X, `templates` ${{ x.Y }}, `prefixed` {env:X}, `mustache` {{x.y}}, `names` {x}."""

_PATTERNS: Mapping[Syntax, str] = {
    "templates": r"\$\{\{(?P<templates>[^{}]*)\}\}",
    "braces": r"\$\{(?P<braces>[^}]*)\}",
    "dollar": r"\$(?P<dollar>[A-Za-z_][A-Za-z0-9_]*)",
    "prefixed": r"\{(?P<prefixed>(?:env|file):[^{}]*)\}",
    "mustache": r"\{\{(?P<mustache>[^{}]*)\}\}",
    "names": r"\{(?P<names>[A-Za-z_][A-Za-z0-9_.-]*)\}",
}
_LITERAL = r"(?P<literal>\$\{)"
_OURS = Pattern(r"(?P<plain>\$\$\{)|\$\{(?P<reference>[^}]*)\}")
_VARIABLE = Pattern(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", DOTALL)
_EXECUTED = Pattern(r"(?:cmd|command|shell|exec|sh|bash)\s*:", IGNORECASE)
_MADE_OF = Pattern(r"[^A-Za-z0-9]+")

Meaning = Callable[[str], str | None]
"""What a placeholder stands for, in our syntax; None where nobody knows it."""


class Piece(msgspec.Struct, frozen=True):
    """A part of a text of ours: literal `text`, or a `reference` (what stands between the braces)."""

    text: str = ""
    reference: str | None = None

    @property
    def default(self) -> str:
        """The default that a reference carries."""
        found = _VARIABLE.fullmatch(self.reference or "")
        return (found[2] or "") if found else ""


def translate(text: str, syntaxes: tuple[Syntax, ...], meaning: Meaning) -> str:
    """`text` in our syntax. `meaning` is asked first about every placeholder. Raises `Refused`."""
    pattern = _compiled(syntaxes)
    done: list[str] = []
    at = 0
    for found in pattern.finditer(text):
        done.append(text[at : found.start()])
        at = found.end()
        new = _replaced(found, meaning)
        # Together they would read `$${…`, which is our spelling of a plain `${`.
        if new.startswith("${") and found.start() and text[found.start() - 1] == "$":
            raise Refused(
                "a $ stands directly before a variable, which our file cannot say",
                "write the value by hand",
            )
        done.append(new)
    done.append(text[at:])
    return "".join(done)


def escape(text: str) -> str:
    """Literal text in our syntax."""
    return text.replace("${", "$${")


def variable(name: str) -> str:
    """The name of a variable made of any text: `api-key` gives `API_KEY`."""
    made = _MADE_OF.sub("_", name).strip("_").upper() or "VALUE"
    return f"_{made}" if made[0].isdigit() else made


def pieces(text: str) -> Iterator[Piece]:
    """A text in our syntax taken apart, literals unescaped."""
    literal: list[str] = []
    at = 0
    for found in _OURS.finditer(text):
        literal.append(text[at : found.start()])
        at = found.end()
        if found["plain"]:
            literal.append("${")
            continue
        if any(literal):
            yield Piece("".join(literal))
        literal = []
        yield Piece(reference=found["reference"])
    literal.append(text[at:])
    if any(literal):
        yield Piece("".join(literal))


def references(text: str) -> Iterator[str]:
    """What a text of ours reads: `NAME` for a variable, `secret:NAME`, `file:PATH`; without defaults."""
    for piece in pieces(text):
        if piece.reference is not None:
            found = _VARIABLE.fullmatch(piece.reference)
            yield found[1] if found else piece.reference


def shown(parts: Iterator[Piece] | list[Piece]) -> str:
    """Pieces as one text in our syntax again."""
    return "".join(
        escape(piece.text) if piece.reference is None else f"${{{piece.reference}}}"
        for piece in parts
    )


def _compiled(syntaxes: tuple[Syntax, ...]) -> Pattern[str]:
    # The first alternative wins: a `${` that is no placeholder of this host is text.
    return Pattern("|".join([*(_PATTERNS[name] for name in syntaxes), _LITERAL]), DOTALL)


def _replaced(found: Match[str], meaning: Meaning) -> str:
    syntax = found.lastgroup or "literal"
    if syntax == "literal":
        return "$${"
    inner = found[syntax].strip()
    known = meaning(inner)
    return known if known is not None else _READ[syntax](inner, found[0])


def _braces(inner: str, whole: str) -> str:
    if _EXECUTED.match(inner):
        raise Refused("${cmd: …} would run a program", "put its result into a variable")
    if inner.startswith(("secret:", "file:")):
        raise Refused(
            f"${{{inner.partition(':')[0]}:…}} would read what is ours",
            "write it into mgp.toml by hand if it is meant",
        )
    if inner.startswith("input:"):
        raise Refused("an input is used that the file does not describe", "use a variable")
    found = _VARIABLE.fullmatch(inner)
    if found is None:
        return escape(whole)
    name, default = found.groups()
    if default is None:
        return f"${{{name}}}"
    if "${" in default:
        raise Refused("a placeholder stands inside a placeholder", "write one, not nested")
    return f"${{{name}:-{default}}}"


def _dollar(inner: str, _: str) -> str:
    return f"${{{inner}}}"


def _prefixed(inner: str, whole: str) -> str:
    kind, _, name = inner.partition(":")
    if kind == "file":
        raise Refused(
            "{file:…} reads a file", f"use `{to_type('secret set NAME')}` and ${{secret:NAME}}"
        )
    return _braces(name, whole) if _VARIABLE.fullmatch(name) else whole


def _templates(inner: str, _: str) -> str:
    return f"${{{variable(inner.partition('.')[2] or inner)}}}"


def _mustache(inner: str, _: str) -> str:
    if "|" in inner:
        raise Refused("a template with a filter cannot be said in our file", "write it by hand")
    return f"${{{variable(inner)}}}"


def _names(inner: str, _: str) -> str:
    return f"${{{variable(inner)}}}"


_READ: Mapping[Syntax, Callable[[str, str], str]] = {
    "braces": _braces,
    "dollar": _dollar,
    "prefixed": _prefixed,
    "templates": _templates,
    "mustache": _mustache,
    "names": _names,
}


def places(workspace: str | None, separator: str = os.sep) -> dict[str, str]:
    """What hosts call the places they know, in our syntax. Without a workspace it is a variable."""
    folder = "${WORKSPACE_FOLDER}" if workspace is None else escape(workspace)
    name = "${WORKSPACE_NAME}" if workspace is None else escape(os.path.basename(workspace))  # noqa: PTH119 - a text, not a file
    return {
        "workspaceFolder": folder,
        "workspaceRoot": folder,
        "workspaceFolderBasename": name,
        "userHome": "${HOME}",
        "pathSeparator": separator,
        "/": separator,
    }
