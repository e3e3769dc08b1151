"""The tables of docs/authors.md: `python -m benchmarks.authors` prints them, `--write` puts them into the page.

Each SDK is asked in an environment of its own (`make peers`); what is printed is what it said.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.processes import ROOT, Trouble, peer_python

__all__ = ["PAGE", "main", "section", "tables"]

PAGE = ROOT / "docs" / "authors.md"
NAMES = {"ours": "gatewright.sdk", "official": "official SDK 2.3", "fastmcp": "FastMCP 4.1"}
_SECTION = re.compile(r"<!-- figures -->\n(.*?)<!-- /figures -->", re.DOTALL)
_WHEN = {"declaration": "**declaration**", "call": "call", "never": "**never**"}
_CHARS = 150
_LINK = re.compile(r" For further information visit \S+")


def _asked(name: str) -> dict[str, Any]:
    environments = {"official": "sdk2", "fastmcp": "fastmcp"}
    python = peer_python(environments[name]) if name in environments else sys.executable
    command = [str(python), "-m", "benchmarks.authors.probe", name]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise Trouble(f"{name}: {done.stderr[-800:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def tables(found: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The lines of the section, from the report of each SDK."""
    names = list(found)
    yield from _row(["", *(NAMES[one] for one in names)])
    yield from _row(["---"] * (len(names) + 1))
    yield from _row(
        ["lines of code for the ten tools", *(str(found[one]["lines"]) for one in names)]
    )
    for part, what, refused in (
        ("calls", "bad calls that are refused", ("declaration", "call")),
        ("mistakes", "mistakes that the author hears of", ("declaration", "call")),
        ("mistakes", "of these, before anything is called", ("declaration",)),
    ):
        counts = [sum(when in refused for when, _ in found[one][part].values()) for one in names]
        yield from _row([what, *(f"{one} of {len(found[names[0]][part])}" for one in counts)])
    for part, heading in (("calls", "a bad call"), ("mistakes", "a mistake")):
        yield ""
        yield from _row([heading, *(NAMES[one] for one in names)])
        yield from _row(["---"] * (len(names) + 1))
        for what in found[names[0]][part]:
            yield from _row([what, *(_cell(*found[one][part][what]) for one in names)])


def _row(cells: Iterable[str]) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"


def _cell(when: str, words: str) -> str:
    plain = _LINK.sub("", words).replace("|", "\\|").replace("<", "&lt;")
    short = plain if len(plain) <= _CHARS else plain[: _CHARS - 1] + "…"
    return f"{_WHEN[when]}: {short}"


def section(page: str) -> str:
    """What the page says between its marks. Raises `ValueError` where it has none."""
    found = _SECTION.search(page)
    if found is None:
        raise ValueError("the page has no <!-- figures --> section")
    return found[1]


def main(arguments: list[str] | None = None) -> int:
    """Print the tables, or write them; 1 where a peer is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put them into docs/authors.md")
    asked = parser.parse_args(arguments)
    try:
        text = "\n".join(tables({name: _asked(name) for name in NAMES})) + "\n"
    except Trouble as trouble:
        print(f"benchmarks.authors: {trouble}", file=sys.stderr)
        return 1
    if not asked.write:
        print(text, end="")
        return 0
    page = PAGE.read_text(encoding="utf-8")
    section(page)  # that there is one
    marked = f"<!-- figures -->\n{text}<!-- /figures -->"
    PAGE.write_text(_SECTION.sub(lambda _: marked, page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
