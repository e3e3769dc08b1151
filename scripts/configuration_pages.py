"""Writes the configuration reference: a page for each table of `mgp.toml` in docs/configuration, the list of tables in
docs/configuration.md, and the JSON Schema.

A page is text that was written by hand, with parts between `<!-- begin NAME … -->` and `<!-- end NAME -->` that are
written here: what the table `NAME` is, and its keys with type, unit, default, sentence, and whether a reload takes a
change over. They follow from the shapes of `gatewright.config` and their docstrings.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from gatewright.config.changes import is_applied
from gatewright.config.file_tables import FileTable
from gatewright.config.reference import Key, keys_of, paragraphs
from gatewright.config.schema import FILE, TABLES, rendered

__all__ = [
    "INDEX",
    "anchor",
    "filled",
    "heading",
    "main",
    "names_in",
    "page_of",
    "pages",
    "section",
]

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("docs/configuration")
INDEX = Path("docs/configuration.md")

_PART = re.compile(r"(<!-- begin (\S+)[^\n]*-->\n).*?(<!-- end \2 -->)", re.DOTALL)
_DOCUMENT = re.compile(r"docs/([a-z-]+\.md)((?:#[a-z-]+)?)")
_TABLE = re.compile(r"`(\[{1,2}[a-zA-Z._]+\]{1,2})`")
_COLUMNS = ("key", "type", "unit", "default", "change", "meaning")


def page_of(table: str) -> Path:
    """The page of a table: that of the table of the file in which it stands."""
    return FOLDER / f"{table.partition('.')[0]}.md"


def names_in(page: Path) -> list[str]:
    """The tables of a page, in their order."""
    return [name for name in TABLES if page_of(name) == page]


def heading(table: str) -> str:
    """The header line of a table as the file has it: `[[servers]]`, `[servers.auth]`."""
    above, _, key = table.rpartition(".")
    shape = TABLES.get(above, FileTable)
    kinds = {field.name: str(field.type) for field in msgspec.structs.fields(shape)}
    return f"[[{table}]]" if kinds.get(key, "").startswith("tuple[") else f"[{table}]"


def anchor(table: str) -> str:
    """What GitHub calls the heading of a table in links."""
    return "".join(one for one in table.lower() if one.isalnum() or one == "_")


def section(table: str) -> str:
    """The part of a page about one table."""
    shape = TABLES[table]
    level = "#" if page_of(table).stem == table.removesuffix(".NAME") else "##"
    lines = [f"{level} `{heading(table)}`", ""]
    for paragraph in paragraphs(shape):
        lines += [_linked(paragraph, table), ""]
    return "\n".join([*lines, *_keys(table, list(keys_of(shape)))]) + "\n"


def filled(text: str, part: Callable[[str], str]) -> str:
    """A page with each of its parts written anew."""
    return _PART.sub(lambda found: f"{found[1]}{part(found[2])}{found[3]}", text)


def pages(root: Path = ROOT) -> Iterator[tuple[Path, bytes]]:
    """Each file with what it has to say. A table without a part gets one at the end of its page."""
    for page in dict.fromkeys(map(page_of, TABLES)):
        path = root / page
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        present = {found[2] for found in _PART.finditer(text)}
        text += "".join(_empty(name) for name in names_in(page) if name not in present)
        yield path, filled(text, section).encode()
    path = root / INDEX
    yield path, filled(path.read_text(encoding="utf-8"), lambda _: _index()).encode()
    yield root / FILE.relative_to(ROOT), rendered()


def _empty(name: str) -> str:
    return f"<!-- begin {name}: written by scripts/docs configuration -->\n<!-- end {name} -->\n"


def _keys(table: str, keys: list[Key]) -> Iterator[str]:
    changes = {key.name: _change(table, key.name) for key in keys}
    every = set(changes.values())
    hidden = {
        name
        for name, has in (("unit", any(key.unit for key in keys)), ("change", len(every) > 1))
        if not has
    }
    columns = [name for name in _COLUMNS if name not in hidden]
    yield _row(columns)
    yield _row("---" for _ in columns)
    for key in keys:
        cells = {
            "key": f"`{key.name}`",
            "type": key.kind,
            "unit": key.unit,
            "default": key.default,
            "change": changes[key.name],
            "meaning": _linked(key.sentence, table),
        }
        yield _row(cells[name].replace("|", "\\|") for name in columns)
    yield ""
    if "change" in hidden:
        yield f"A change of any key takes effect {_WHEN[every.pop()]}."
    else:
        yield f"A change takes effect {_WHEN['reload']} (`reload`) or {_WHEN['restart']} (`restart`)."


_WHEN = {"reload": "at the next reload", "restart": "when the gateway is started again"}


def _change(table: str, key: str) -> str:
    return "reload" if is_applied(f"{table}.{key}".removeprefix("mcp.")) else "restart"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _linked(text: str, table: str) -> str:
    """A sentence of a table's page, with links to the pages and tables that it names."""
    text = _DOCUMENT.sub(lambda found: f"[{found[1]}](../{found[1]}{found[2]})", text)
    return _TABLE.sub(lambda found: _to(found[1], table), text)


def _to(shown: str, table: str) -> str:
    name = shown.strip("[]")
    if name not in TABLES or name == table:
        return f"`{shown}`"
    page = page_of(name)
    place = f"#{anchor(name)}" if page == page_of(table) else f"{page.name}#{anchor(name)}"
    return f"[`{shown}`]({place})"


def _index() -> str:
    lines = [_row(("table", "what it is")), _row(("---", "---"))]
    for page in dict.fromkeys(map(page_of, TABLES)):
        for name in names_in(page):
            place = f"{FOLDER.name}/{page.name}" + (f"#{anchor(name)}" if "." in name else "")
            said = _DOCUMENT.sub(
                lambda found: f"[{found[1]}]({found[1]}{found[2]})", paragraphs(TABLES[name])[0]
            )
            lines.append(_row((f"[`{heading(name)}`]({place})", said)))
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write what differs, or with `--check` only name it and return 1."""
    parser = argparse.ArgumentParser(prog="scripts/docs configuration", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    checks = parser.parse_args(arguments).check
    found = [
        (path, held) for path, held in pages(root) if not path.exists() or path.read_bytes() != held
    ]
    for path, held in found:
        print(path.relative_to(root))
        if not checks:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(held)
    return int(checks and bool(found))


if __name__ == "__main__":
    sys.exit(main())
