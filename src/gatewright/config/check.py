"""Validates and converts a TOML table by its struct; `Report` collects all errors and warnings with line and suggestion.

The walk follows the annotations of the struct. What passes comes back converted; what does not is
reported and left out, so that one wrong value hides none of the others. Keys that the shape does not
know are warnings: a file written for a later version, or for another reader, still loads (MGP §15.2).
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from gatewright.config.documents import Document
from gatewright.config.problems import Problem
from gatewright.config.toml_positions import KeyPath

__all__ = ["Report", "Table", "meant", "read_list", "read_table"]

Table = dict[str, Any]

_BAD = object()


class Report:
    """Collects what is wrong (`errors`) and what is odd (`warnings`) in one file."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []

    def problem(self, path: KeyPath, what: str, instead: str) -> Problem:
        """One problem at `path`, not yet counted as anything."""
        return Problem(self.document.origin(path), self.label(path), what, instead)

    def error(self, path: KeyPath, what: str, instead: str) -> None:
        """The file cannot be used."""
        self.errors.append(self.problem(path, what, instead))

    def warn(self, path: KeyPath, what: str, instead: str) -> None:
        """The file can be used, but somebody should look."""
        self.warnings.append(self.problem(path, what, instead))

    def label(self, path: KeyPath) -> str:
        """`path` for people: `servers.ID.mgp.trust_level`, or the number where there is no id."""
        parts: list[str] = []
        value: Any = self.document.data
        for step in path:
            value = _inside(value, step)
            name = value.get("id") if isinstance(step, int) and isinstance(value, dict) else None
            parts.append(name if isinstance(name, str) and name else str(step))
        return ".".join(parts)


def _inside(value: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return value[step] if isinstance(value, list) and step < len(value) else None
    return value.get(step) if isinstance(value, dict) else None


def read_table(
    value: Any, shape: type[msgspec.Struct], path: KeyPath, report: Report
) -> Table | None:
    """The keys of a table that are known and right, converted. None where it is no table."""
    if not isinstance(value, dict):
        report.error(
            path, f"{_found(value)} where a table belongs", f"write {_header(path)} and keys below"
        )
        return None
    fields = _fields(shape)
    for key in value.keys() - fields.keys():
        report.warn((*path, key), "this key is not known and has no effect", meant(key, fields))
    found: Table = {}
    for name, field in fields.items():
        if name in value:
            converted = _convert(value[name], field.type, (*path, name), report)
            if converted is not _BAD:
                found[name] = converted
        elif field.required:
            report.error((*path, name), "this key is missing", _advice(name, field.type))
    return found


@cache
def _fields(shape: type[msgspec.Struct]) -> Mapping[str, msgspec.structs.FieldInfo]:
    """The fields by name. msgspec evaluates every annotation anew, 2 ms for the larger tables, whenever it is asked."""
    return MappingProxyType({field.name: field for field in msgspec.structs.fields(shape)})


def _header(path: KeyPath) -> str:
    """The line that begins a table; for one of an array, the one that begins each of them."""
    name = ".".join(step for step in path if isinstance(step, str))
    return f"[[{name}]]" if path and isinstance(path[-1], int) else f"[{name or 'it'}]"


def meant(word: str, known: Iterable[str]) -> str:
    """What to write instead of a word that nobody knows."""
    near = difflib.get_close_matches(word, list(known), 1)
    return f"did you mean {near[0]}?" if near else "remove it, or check the spelling"


def read_list(value: Any, name: str, report: Report) -> list[Any]:
    """The elements of an array of tables; nothing where it is something else."""
    if isinstance(value, list):
        return value
    report.error(
        (name,), f"{_found(value)} where an array of tables belongs", f"write [[{name}]] for each"
    )
    return []


def _convert(value: Any, kind: Any, path: KeyPath, report: Report) -> Any:
    chosen = _option(value, kind)
    reader = _READERS.get(get_origin(chosen) or chosen)
    if reader is not None:
        return reader(value, chosen, path, report)
    if isinstance(chosen, type) and issubclass(chosen, msgspec.Struct):
        return _struct(value, chosen, path, report)
    return _leaf(value, chosen, path, report)


def _option(value: Any, kind: Any) -> Any:
    """Of a union, the member that `value` can only have meant."""
    if get_origin(kind) not in {Union, types.UnionType}:
        return kind
    options = [option for option in get_args(kind) if option is not types.NoneType]
    for option in options:
        bare = get_origin(option) or option
        tabular = bare is dict or (isinstance(bare, type) and issubclass(bare, msgspec.Struct))
        if (isinstance(value, dict) and tabular) or (isinstance(value, list) and bare is tuple):
            return option
    return options[0]


def _struct(value: Any, shape: type[msgspec.Struct], path: KeyPath, report: Report) -> Any:
    # Errors of its members were reported by themselves: the struct would only repeat them.
    before = len(report.errors)
    found = read_table(value, shape, path, report)
    return _BAD if found is None or len(report.errors) > before else shape(**found)


def _tuple(value: Any, kind: Any, path: KeyPath, report: Report) -> Any:
    if not isinstance(value, list):
        report.error(path, f"{_found(value)} where a list belongs", _advice(str(path[-1]), kind))
        return _BAD
    of = get_args(kind)[0]
    found = [_convert(item, of, (*path, number), report) for number, item in enumerate(value)]
    return _BAD if any(item is _BAD for item in found) else tuple(found)


def _dict(value: Any, kind: Any, path: KeyPath, report: Report) -> Any:
    if not isinstance(value, dict):
        report.error(
            path, f"{_found(value)} where a table belongs", f"write {_header(path)} and keys below"
        )
        return _BAD
    of = get_args(kind)[1]
    found = {key: _convert(item, of, (*path, key), report) for key, item in value.items()}
    return _BAD if any(item is _BAD for item in found.values()) else found


def _leaf(value: Any, kind: Any, path: KeyPath, report: Report) -> Any:
    try:
        found = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        report.error(path, f"{_found(value)} does not fit here", _better(value, path, kind))
        return _BAD
    # TOML can spell one (`\u0000`); no argument, variable or path can carry it.
    if isinstance(found, str) and "\0" in found:
        report.error(path, "the text contains a NUL character", "remove it")
        return _BAD
    return found


_READERS: Mapping[Any, Callable[[Any, Any, KeyPath, Report], Any]] = {tuple: _tuple, dict: _dict}


def _found(value: Any) -> str:
    """What stands there, short enough for one line."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = msgspec.json.encode(value).decode() if isinstance(value, str | bool) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _advice(name: str, kind: Any) -> str:
    kind = _option(None, kind)
    return f"write {_expected(kind)}, for example {_key(name)} = {_example(kind)}"


def _better(value: Any, path: KeyPath, kind: Any) -> str:
    """The word that was meant, else what may stand here."""
    words = [one for one in get_args(kind) if isinstance(one, str)]
    near = difflib.get_close_matches(value, words, 1) if isinstance(value, str) else []
    return (f'did you mean "{near[0]}"? ' if near else "") + _advice(str(path[-1]), kind)


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else f'"{name}"'


def _expected(kind: Any) -> str:
    if get_origin(kind) is Annotated:
        bare, *notes = get_args(kind)
        meta = next((note for note in notes if isinstance(note, Meta)), Meta())
        return meta.description or _bounded(_expected(bare), meta)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(f'"{word}"' for word in get_args(kind))
    if get_origin(kind) is tuple:
        return "a list of texts in quotes"
    words = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text in quotes",
        datetime: "a date and time with its offset",
    }
    return words.get(kind, "a table")


def _bounded(words: str, meta: Meta) -> str:
    if meta.ge is not None:
        words += f" from {meta.ge}"
    if meta.gt is not None:
        words += f" above {meta.gt}"
    if meta.le is not None:
        words += f" to {meta.le}"
    if meta.min_length is not None or meta.max_length is not None:
        most = "" if meta.max_length is None else f", at most {meta.max_length} characters"
        words += f" that is not empty{most}" if meta.min_length else most
    return words


def _example(kind: Any) -> str:
    if get_origin(kind) is Annotated:
        bare, *notes = get_args(kind)
        meta = next((note for note in notes if isinstance(note, Meta)), Meta())
        if meta.examples:
            return str(meta.examples[0])
        if bare in {int, float}:
            return str(meta.ge or 1)
        return _example(bare)
    if get_origin(kind) is Literal:
        return f'"{get_args(kind)[0]}"'
    if get_origin(kind) is tuple:
        return '["one", "two"]'
    examples = {bool: "true", int: "1", float: "1", str: '"text"', datetime: "2030-12-31T23:59:59Z"}
    return examples.get(kind, "{}")
