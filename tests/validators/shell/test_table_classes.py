"""Every entry of the table of shell programs: a secret is refused wherever a file may stand, and what writes or runs never passes `inspect`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gatewright.validators.sandbox import prepare
from gatewright.validators.shell.table import Entry, Opt, table

EVERYTHING = prepare({"allow": ["inspect", "network", "environment", "endless"]})
DEVELOP = prepare({"allow": ["develop"]})
ENTRIES = {entry.names[0]: entry for entry in table().entries.values()}
"""One name of each entry."""
HARMLESS = {
    "reads": "a.txt",
    "writes": "b.txt",
    "lists": "src",
    "deletes": "a.txt",
    "folder": "src",
    "script": "a.py",
    "host": "x.example",
    "url": "https://x.example/",
    "code": ".",
}
SECRETS = ('"$HOME/.ssh/id_rsa"', "../../../../root/.ssh/id_rsa", "/root/.ssh/id_rs?", "/proc/self/environ", "src/../.env", "/etc/sha*")  # fmt: skip
AROUND = ("%s", "cd src && %s", "timeout 5 %s | head", "cat <(%s)", "find . -name a -exec %s \\;")
FILES = frozenset({"reads", "writes", "deletes", "lists"})


def operands(entry: Entry) -> list[str]:
    """Operands that say nothing against a command."""
    found = [HARMLESS.get(one.kind, "x") for one in entry.operands.slots]
    return [*found, "ls"] if entry.operands.tail else found


def spelled(entry: Entry, value: str) -> Iterator[tuple[Opt, str]]:
    """Each option with a value, beside it and in its own word."""
    for dashes, known, sign in (("-", entry.letters, ""), ("--", entry.longs, "="), ("-", entry.words, "=")):  # fmt: skip
        for name, opt in known.items():
            if opt.takes != 1:
                yield opt, f"{dashes}{name}"
            if opt.takes == 1:
                yield opt, f"{dashes}{name} {value}"
            if opt.takes and (sign or value[0] not in "\"'~"):
                yield opt, f"{dashes}{name}{sign}{value}"


@pytest.mark.parametrize("name", ENTRIES)
def test_a_secret_is_refused_wherever_a_file_may_stand(name: str) -> None:
    """MGP-4.5-2"""
    entry = ENTRIES[name]
    lines = []
    for secret in SECRETS:
        for at, slot in enumerate(entry.operands.slots):
            if slot.kind in FILES:
                given = operands(entry)
                given[at] = secret
                lines += [around % f"{name} {' '.join(given)}" for around in AROUND]
        lines += [f"{name} {option} {' '.join(operands(entry))}" for opt, option in spelled(entry, secret) if opt.kind == "reads" and opt.takes == 1]  # fmt: skip
    passing = [one for one in lines if EVERYTHING.judge(one) is None or DEVELOP.judge(one) is None]
    assert passing == []


REFUSED = frozenset({"runs", "settings", "deletes", "changes", "sends", "unpacks", "code"})
ELSEWHERE = frozenset({"awk", "sed", "tar", "env"})
"""Readers of these say themselves what an option does: a script that only transforms, an archive on the output."""


@pytest.mark.parametrize("name", [name for name, one in ENTRIES.items() if one.special not in ELSEWHERE])  # fmt: skip
def test_an_option_that_writes_or_runs_never_passes_inspect(name: str) -> None:
    """MGP-4.5-2"""
    entry = ENTRIES[name]
    words = " ".join(operands(entry))
    # Behind another program's name it is an option of that.
    spellings = 1 if entry.operands.tail == "command" else 2
    passing = [
        line
        for opt, option in spelled(entry, "./x")
        if opt.kind in {"writes", "runs"} or opt.does & REFUSED
        for line in (f"{name} {option} {words}", f"{name} {words} {option}")[:spellings]
        if EVERYTHING.judge(line) is None
    ]
    assert passing == []
