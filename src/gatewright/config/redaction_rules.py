"""Loads secret-detection rules from the gitleaks TOML files in `[redaction] rules`; reports each flaw by file and rule; lists the paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gatewright.config.check import Report, Table
from gatewright.config.model import Settings
from gatewright.secret_scanning.operator_rules import SecretRule
from gatewright.secret_scanning.rule_files import FILE_BYTES, MOST_RULES, read_rules

__all__ = ["files_of", "rules_of"]

_KEY = ("redaction", "rules")


def rules_of(reports: Sequence[Report], table: Table) -> tuple[SecretRule, ...]:
    """All rules of the files that the table names, in their order. What is wrong is an error of the document that names them, what
    has no effect a warning."""
    names = table.get("rules", ())
    report = next((one for one in reports if _names(one)), None)
    if report is None:
        return ()
    found: list[SecretRule] = []
    for name in names:
        found += _file(report, name)
    ids = [one.id for one in found]
    for one in sorted({one for one in ids if ids.count(one) > 1}):
        report.error(_KEY, f"rule {one} is in several files or twice in one", "choose another id")
    if len(found) > MOST_RULES:
        what = f"the files have {len(found)} rules, and at most {MOST_RULES} count"
        report.error(_KEY, what, "leave some out")
        return ()
    return tuple(found)


def files_of(settings: Settings) -> Iterator[Path]:
    """The files, as they are read."""
    if settings.redaction.rules:
        folder = settings.file_of("redaction.rules").absolute().parent
        yield from (folder / Path(name).expanduser() for name in settings.redaction.rules)


def _names(report: Report) -> bool:
    table = report.document.data.get("redaction")
    return isinstance(table, dict) and bool(table.get("rules"))


def _file(report: Report, name: str) -> Sequence[SecretRule]:
    try:
        path = report.document.path.absolute().parent / Path(name).expanduser()
        with path.open("rb") as file:
            text = file.read(FILE_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        report.error(_KEY, f"{name} cannot be read: {why}", "name a file of rules, from the folder of this file")  # fmt: skip
        return ()
    read = read_rules(text)
    for where, what, instead in read.problems:
        report.error(_KEY, f"{name}: {where}: {what}", instead)
    for where, what in read.notices:
        report.warn(
            _KEY,
            f"{name}: {where} has no effect: {what}",
            "remove it, or leave it for other programs",
        )
    return read.rules
