"""Output of commands: tables, JSON, notes, reports of errors, with control characters escaped; keeps logs silent meanwhile.

Names, descriptions and results come from tool servers, which may be hostile: on a terminal and in
tables their control and direction characters are made visible, so that none can repaint the screen.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Any

import msgspec

from gatewright.cli.errors import CliError
from gatewright.cli.global_options import OUTPUT_OPTIONS
from gatewright.cli.log_lines import clean
from gatewright.cli.table_layout import cut, layout, padded
from gatewright.secret_scanning.escape_invisible import is_unseen, spelled
from gatewright.secret_scanning.invisible import hidden

__all__ = [
    "is_terminal",
    "note",
    "one_line",
    "print_document",
    "print_json",
    "print_line",
    "print_rows",
    "print_text",
    "report",
    "silence_logs",
    "visible",
]

_FORMS = "\ufe0e\ufe0f"
"""Whether the character before is drawn as text or in colour; one of them behind a character hides nothing."""


def visible(text: str) -> str:
    """The text with what would not be seen, or would act on a terminal, spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"\\u{{{ord(char):x}}}" if is_unseen(char) and not _is_plain(char, before) else char
        for before, char in pairwise(chain(" ", text))
    )


def _is_plain(char: str, before: str) -> bool:
    """Whether a character that draws nothing belongs to a text for people."""
    if char in "\n\t" or unicodedata.category(char) == "Zs":
        return True
    return char in _FORMS and not is_unseen(before) and before != " "


def one_line(text: str) -> str:
    """The text on one line with nothing in it that somebody might not see, for whoever decides by it: a name with a line
    end must not add a line that looks like one of ours."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"\\u{{{ord(char):x}}}" if char in "\n\t" or hidden(char) else char
        for char in visible(text)
    )


def is_terminal(descriptor: int) -> bool:
    """Whether a file descriptor is a terminal."""
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def note(text: str) -> None:
    """One line for people, beside the data; where a text has more, they stand below it."""
    if OUTPUT_OPTIONS.quiet:
        return
    print(_below(visible(clean(text)), "  "), file=sys.stderr, flush=True)


def silence_logs() -> Callable[[], None]:
    """Keep what the parts log from mixing with what a command says, until the result is called.

    `-v` shows it all the same.
    """
    log, deaf = logging.getLogger("gatewright"), logging.NullHandler()
    if not OUTPUT_OPTIONS.verbose:
        log.addHandler(deaf)
    return lambda: log.removeHandler(deaf)


def print_document(value: Any) -> None:
    """One JSON document: indented for a person, one line for a program."""
    text = msgspec.json.encode(value, order="deterministic")
    if is_terminal(1):
        text = msgspec.json.format(text, indent=2)
    print_json(text)


def print_json(text: bytes) -> None:
    """JSON as it is for a program; on a terminal with nothing that hides or steers, in the escapes of JSON itself."""
    shown = text.decode()
    sys.stdout.write((spelled(shown, keep="\n") if is_terminal(1) else shown) + "\n")
    sys.stdout.flush()


def print_text(text: str) -> None:
    """Text of a tool: as it is for a program, with nothing invisible for a person."""
    # Half a surrogate pair, which JSON can spell, cannot be written as UTF-8.
    shown = visible(text) if is_terminal(1) else text.encode(errors="replace").decode()
    sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")
    sys.stdout.flush()


def print_line(
    cells: Sequence[object], widths: Sequence[int] = (), *, one_line: bool = False
) -> None:
    """One row by itself, at once: padded to `widths` for a person, tab-separated for a program.

    `one_line` cuts it where the terminal ends.
    """
    texts = [_cell(value) for value in cells]
    if is_terminal(1):
        first = [padded(text, width) for text, width in zip(texts, widths, strict=False)]
        line = "  ".join([*first, *texts[len(first) :]]).rstrip()
        if one_line:
            line = cut(line, shutil.get_terminal_size().columns)
    else:
        line = "\t".join(texts)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on a terminal; else one line a row, tab-separated, without a heading."""
    cells = [[_cell(value) for value in row] for row in rows]
    if is_terminal(1):
        _print_table(columns, cells)
        return
    for row in cells:
        sys.stdout.write("\t".join(row) + "\n")
    sys.stdout.flush()


def report(problem: CliError, *, json: bool) -> None:
    """Say on standard error why the command ends: one JSON line, or two lines for a person."""
    message, hint = clean(problem.message), clean(problem.hint)
    if json or not is_terminal(2):
        body = {"code": problem.code, "message": message, "hint": hint}
        if problem.request_id:
            body["request_id"] = problem.request_id
        sys.stderr.write(msgspec.json.encode({"error": body}).decode() + "\n")
    else:
        said = {"error": message, " hint": hint, "trace": problem.request_id}
        for name, text in said.items():
            if text or name == "error":
                sys.stderr.write(f"{name}: {_below(visible(text), ' ' * 7)}\n")
    sys.stderr.flush()


def _below(text: str, lead: str) -> str:
    """The text with something in front of each line but the first: much of what is shown are words of a server, and a line of
    those must not read as one of ours."""
    first, *more = text.split("\n")
    return "\n".join([first, *(lead + line if line else "" for line in more)])


def _cell(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(_cell(item) for item in value)
    text = "" if value is None else str(value)
    # A tab or a line end would begin another cell or row.
    return visible(" ".join(text.split()))


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    # Only a terminal pays for the table library.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    heads = [column.upper() for column in columns]
    placed = layout(heads, rows, console.width)
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    if placed is None:
        table.show_header = False
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for number, row in enumerate(rows):
            if number:
                table.add_row()
            for head, cell in zip(heads, row, strict=True):
                if cell:
                    table.add_row(head, Text(cell))
    else:
        for number, width in placed:
            table.add_column(heads[number], overflow="fold", width=width)
        for row in rows:
            table.add_row(*(Text(row[number]) for number, _ in placed))
    console.print(table)
