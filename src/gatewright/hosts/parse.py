"""Parses foreign JSON (with comments), TOML or YAML, detected by content, within length and depth bounds.

The text may be hostile. Every parser has a bound on length and depth, aliases of YAML are counted at
what they unfold to, and an error gives the line and never a word of the text, which may be a secret.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any

from gatewright.config.documents import has_long_key
from gatewright.hosts.model import CannotRead
from gatewright.hosts.served_bounds import check_weight
from gatewright.hosts.yaml_bounds import unfolds_too_far
from gatewright.patterns import MULTILINE, Pattern

__all__ = ["MAX_SLOW_BYTES", "parse"]

MAX_SLOW_BYTES = 2 * 1024 * 1024
"""TOML and YAML are read by slow parsers, and only catalogues come near this."""
MAX_LOOSE_BYTES = 256 * 1024
"""Single quotes and bare keys are read by a slower one still."""

_STARTS_JSON = Pattern(r"(?:\s|//[^\n]*\n|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*[{\[]")
_TABLE_HEADER = Pattern(r"^[ \t]*\[\[?[A-Za-z0-9_.\"' -]+\]\]?[ \t]*(?:#[^\n]*)?\r?$", MULTILINE)
_ASSIGNED = Pattern(r"^[A-Za-z0-9_.\"' -]+=", MULTILINE)
# An unclosed string or comment reaches to the end of its line or of the text, so that none is read twice.
_STRING = r'"(?:[^"\\\n]|\\.)*"?'
_COMMENT = Pattern(rf"({_STRING})|//[^\n]*|/\*[^*]*(?:\*+[^/*][^*]*)*(?:\*+/|\*+\Z)?")
_COMMA = Pattern(rf"({_STRING})|,(\s*[}}\]])")
_AT_LINE = Pattern(r"\(at line (\d+)")
_IN_STRING = Pattern(r"<string>:(\d+)")


def parse(content: bytes) -> Any:
    """What a text says. Raises `CannotRead` (`not-text`, `syntax`, `too-large`, `too-deep`)."""
    check_weight("it", content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise CannotRead("not-text", f"line {line} is not UTF-8", "save it as UTF-8") from None
    if not text.strip():
        raise CannotRead("syntax", "it is empty", "name a file that has servers in it")
    if _looks_like_toml(text):
        return _guarded("TOML", _toml, text)
    if _STARTS_JSON.match(text):
        return _guarded("JSON", _json, text)
    return _guarded("YAML", _yaml, text)


def _looks_like_toml(text: str) -> bool:
    start = text.lstrip()
    # A `[` begins an array of JSON as well: a line that is nothing but a header tells TOML.
    if start.startswith("{") or _TABLE_HEADER.search(text) is None:
        return _ASSIGNED.search(text) is not None and not start.startswith(("{", "["))
    return True


def _guarded(kind: str, read: Callable[[str], Any], text: str) -> Any:
    """Whatever a parser does with a hostile text, it is our error in the end."""
    if kind != "JSON" and len(text) > MAX_SLOW_BYTES:
        raise CannotRead(
            "too-large",
            f"this is {kind} of more than {MAX_SLOW_BYTES // 1024 // 1024} MB",
            "name the file that has the servers in it",
        )
    try:
        return read(text)
    except CannotRead:
        raise
    except RecursionError:
        raise CannotRead("too-deep", f"the {kind} is nested too deeply", _SHORTEN) from None
    except Exception as problem:  # noqa: BLE001 - parsers fail on hostile text in ways they do not document
        place = _place(problem, text)
        raise CannotRead("syntax", f"this is not {kind}{place}", "correct it there") from None


_SHORTEN = "name the file that has the servers in it"


def _place(problem: Exception, text: str) -> str:
    """Where a parser stopped, without what it saw there."""
    line = getattr(problem, "lineno", None)
    if line is None and (mark := getattr(problem, "problem_mark", None)) is not None:
        line = mark.line + 1
    if line is None and (told := _AT_LINE.search(str(problem))):
        line = int(told[1])
    if line is None and (told := _IN_STRING.match(str(problem))):
        line = int(told[1])
    if line is None and "end of document" in str(problem):
        line = text.count("\n") + 1
    return f" from line {line} on" if isinstance(line, int) else ""


def _json(text: str) -> Any:
    # By far the fastest, and right for most files.
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    plain = _COMMENT.sub(lambda found: found[1] or " ", text)
    plain = _COMMA.sub(lambda found: found[1] or found[2], plain)
    try:
        return json.loads(plain)
    except json.JSONDecodeError:
        if len(text) > MAX_LOOSE_BYTES:
            raise
    import json5  # noqa: PLC0415 - only for texts that nothing else reads

    return json5.loads(text)


def _toml(text: str) -> Any:
    # It would nest as deep as it has parts.
    if has_long_key(text):
        raise RecursionError
    return tomllib.loads(text)


def _yaml(text: str) -> Any:
    from ruamel.yaml import YAML  # noqa: PLC0415 - 60 ms, for the few hosts that write YAML

    reader = YAML(typ="safe", pure=True)
    node = reader.compose(text)
    if node is not None and unfolds_too_far(node):
        raise CannotRead("too-large", "the YAML unfolds to too much", "write out its aliases")
    return reader.constructor.construct_document(node) if node is not None else None
