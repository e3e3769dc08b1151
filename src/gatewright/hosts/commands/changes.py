"""Changes of hosts' files: shown as a diff with secrets masked, confirmed, written; a backup and a record are left to undo them.

What is shown is the whole change, but for secrets: lines around it, and originals that leave with
`--take-over`, belong to somebody else's servers and may hold their keys.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
import typer

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.output import is_terminal, visible
from gatewright.hosts.commands.host_files import edited, records
from gatewright.hosts.entry_splices import Record, splice
from gatewright.hosts.host_table import Host
from gatewright.hosts.records import Records
from gatewright.hosts.whole_file import remove_folders, replace_text
from gatewright.patterns import Pattern
from gatewright.secret_scanning.credentials import secret_spans

__all__ = ["Action", "Change", "agree", "carry_out", "masked", "show"]

Action = Literal["created", "changed", "removed", "unchanged"]

_LONG = 240
_MANY = 40_000
_AROUND = 60
_BREAKS = Pattern(r"\r\n|\n|\r")
_PAIR = Pattern(
    r"""(?P<name>"(?:[^"\\]|\\.)*"|[\w.-]+)\s*[:=]\s*(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'\[{,][^,}\n]*)"""
)
_REFERENCES = ("$", "{env:")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One host's file before and after; None where there is none. `record` is what to remember then."""

    host: Host
    file: Path
    before: str | None
    after: str | None
    record: Record
    private: bool = True

    @property
    def action(self) -> Action:
        """What happens to the file."""
        if self.before == self.after:
            return "unchanged"
        if self.before is None:
            return "created"
        return "removed" if self.after is None else "changed"


def show(change: Change) -> str:
    """The change as a unified diff, secrets masked."""
    before, after = change.before or "", change.after or ""
    both = _lines(before) + _lines(after)
    # A diff of many lines that are alike takes the square of them.
    if len(both) > _MANY or max(map(len, both), default=0) > _LONG:
        return _shortened(change.file, before, after)
    names = (str(change.file) if change.before is not None else os.devnull, str(change.file))
    lines = difflib.unified_diff(
        _lines(before),
        _lines(after),
        names[0],
        names[1] if change.after is not None else os.devnull,
        n=2,
        lineterm="",
    )
    return "".join(f"{masked(line)}\n" for line in lines)


def masked(line: str) -> str:
    """One line of a configuration with `***` in the place of secrets; names of variables are none."""
    spans, plain = secret_spans(line), []
    for pair in _PAIR.finditer(line):
        value = pair["value"].strip("\"'")
        start = pair.start("value") + pair["value"].find(value)
        name = pair["name"].strip('"')
        # Its value is the name of a variable (`bearer_token_env_var`), which would look like a token.
        if name.endswith("_env_var"):
            plain.append(range(start - 1, start + len(value) + 1))
        spans += [(start + head, start + tail) for head, tail in secret_spans(value, name)]
    done, at = [], 0
    for head, tail in sorted(spans):
        if line.startswith(_REFERENCES, head) or any(head in one for one in plain):
            continue
        if head >= at:
            done += [line[at:head], "***"]
        at = max(at, tail)
    return "".join([*done, line[at:]])


def agree(changes: Sequence[Change], *, yes: bool, dry_run: bool) -> bool:
    """Show what will change and ask; whether to go on. Raises `CliError` where nobody can be asked."""
    due = [change for change in changes if change.action != "unchanged"]
    if dry_run or not due:
        return not dry_run
    asks = not yes and is_terminal(0) and is_terminal(2)
    if yes and not is_terminal(2):
        return True
    for change in due:
        if change.file.is_symlink():
            sys.stderr.write(visible(f"{change.file} is a link to {change.file.resolve()}\n"))
        sys.stderr.write(visible(show(change)))
    sys.stderr.flush()
    if not yes and not asks:
        raise CliError(
            "without a terminal nobody can agree to this change",
            code="confirmation",
            exit_code=Exit.USAGE,
            hint="pass --yes to make it, or --dry-run to see it",
        )
    if asks:
        files = "this file" if len(due) == 1 else f"these {len(due)} files"
        typer.confirm(f"Change {files}?", err=True, abort=True)
    return True


def carry_out(changes: Sequence[Change]) -> list[Path | None]:
    """Make the changes; the copy of each file as it was before, None where there was none."""
    kept = records()
    return [_made(change, kept) for change in changes]


def _made(change: Change, kept: Records) -> Path | None:
    """The copy that is left of the file as it was; None where it is not needed."""
    # What other changes have said of the folders in between is in the store alone.
    folders = kept.find(change.host.id, change.file).folders
    record = msgspec.structs.replace(change.record, folders=folders)
    if change.action == "unchanged":
        kept.keep(record)
        return None
    with edited(change.host, change.file):
        return _written(change, record, kept) if record.steps else _taken_out(change, record, kept)


def _written(change: Change, record: Record, kept: Records) -> Path | None:
    """The record goes first: an entry of ours that nobody remembers could not be taken back exactly."""
    host, file, before = change.host.id, change.file, change.before
    backup = None if before is None else kept.back_up(host, file, before)
    kept.keep(record)
    made = replace_text(file, change.after, expected=before, private=change.private)
    if made:
        folders = (*map(str, made), *record.folders)
        kept.keep(msgspec.structs.replace(record, folders=folders))
    return backup


def _taken_out(change: Change, record: Record, kept: Records) -> Path | None:
    # The other way round: as long as our entry is in the file, its record has to be there.
    replace_text(change.file, change.after, expected=change.before, private=change.private)
    kept.keep(record)
    if change.after is None:
        remove_folders([Path(folder) for folder in record.folders])
        kept.hand_over(record.folders)
    left = kept.drop_backups(change.host.id, change.file, change.after)
    return left[0] if left else None


def _lines(text: str) -> list[str]:
    lines = _BREAKS.split(text)
    return lines[:-1] if lines[-1] == "" else lines


def _shortened(file: Path, before: str, after: str) -> str:
    """A change inside a line that is too long to be shown, or of a file with too many."""
    start, went, came = splice(before, after)
    lead = _BREAKS.split(before[max(0, start - _AROUND) : start])[-1]
    rest = _BREAKS.split(before[start + len(went) :][:_AROUND])[0]
    lines = [f"--- {file}", f"+++ {file}", f"@@ character {start} @@", f" …{masked(lead)}"]
    for sign, piece in (("-", went), ("+", came)):
        lines += [f"{sign}{masked(line)}" for line in _lines(piece)]
    return "\n".join([*lines, f" {masked(rest)}…"]) + "\n"
