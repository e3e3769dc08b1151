"""Commands by the table: every option outside of an entry is refused, and what needs a capability passes nowhere without it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from gatewright.validators.sandbox import prepare
from gatewright.validators.shell.effects import At, Effect
from gatewright.validators.shell.reading import Reader
from gatewright.validators.shell.table import FLAG, VALUED, Entry, Opt, table
from gatewright.validators.shell.words import Refused
from gatewright.validators.shell_syntax import Word, read

LINES = 50_000
"""How many lines are generated."""
INSPECT, DEVELOP = prepare({"allow": ["inspect"]}), prepare({"allow": ["develop"]})
ENTRIES = {id(one): one for one in table().entries.values()}.values()
OWN = frozenset(
    {"find", "xargs", "env", "test", "tar", "ps", "kill", "echo", "command", "ip", "cd"}
)
"""Readers that know all words of their programs."""


def effects(line: str, reader: Reader | None = None) -> set[str]:
    found: list[Effect] = []
    (words,) = read(line, pipes=False)
    (reader or Reader()).read(words, At(), found)
    return {one.kind for one in found}


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("cat a", {"reads"}),
        ("sort -o a b", {"reads", "writes"}),
        ("cp a b", {"reads", "writes"}),
        ("rm a", {"deletes"}),
        ("time cat a", {"starts", "reads"}),
        ("./x", {"run"}),
    ],
)
def test_a_command_is_its_effects(line: str, kinds: set[str]) -> None:
    assert effects(line) - {"text"} == kinds


@pytest.mark.parametrize(("line", "rule"), [("zzz a", "unknown_program"), ("git zzz", "subcommand"), ("sort --zzz", "option"), ("timeout 5 " * 12 + "ls", "too_long")])  # fmt: skip
def test_what_no_entry_names_is_refused(line: str, rule: str) -> None:
    with pytest.raises(Refused) as told:
        effects(line)
    assert told.value.rule == rule


def test_a_program_that_the_operator_names_may_have_any_options() -> None:
    assert effects("zzz --any x", Reader(["zzz"])) == {"argument"}


def test_a_program_is_known_by_its_other_names() -> None:
    assert effects("/usr/bin/cat a") == {"reads"}
    assert "run" in effects("node_modules/.bin/eslint src")


def _unheard(entry: Entry) -> Iterator[str]:
    known = entry.letters.keys()
    yield from (f"-{one}" for one in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if one not in known)  # fmt: skip
    yield from ("--unheard", "--unheard=x")
    # A beginning of a long option that is not one itself.
    yield from (f"--{name[:-1]}" for name in entry.longs if len(name) > 3 and name[:-1] not in entry.longs)  # fmt: skip


@pytest.mark.parametrize("entry", [one for one in ENTRIES if one.special not in OWN and not one.words], ids=lambda one: str(one.names[0]))  # fmt: skip
def test_every_option_outside_of_an_entry_is_refused(entry: Entry) -> None:
    name = entry.names[0]
    above = _above(name)
    if entry.operands.tail and not entry.operands.slots and not (entry.letters or entry.longs):
        return  # All words belong to another program.
    for option in _unheard(entry):
        text = option.lstrip("-").partition("=")[0]
        if f"{name} {option}" in table().entries or any(text in one for one in above):
            continue
        found: list[Effect] = []
        with pytest.raises(Refused):
            Reader().read([Word(one) for one in (*name.split(), option, "x")], At(), found)


def _above(name: str) -> list[set[str]]:
    """The options of the programs that a subcommand belongs to, which may stand behind it."""
    words = name.split()
    entries = (table().entries.get(" ".join(words[:at])) for at in range(1, len(words)))
    return [{*one.letters, *one.longs} for one in entries if one is not None]


NEEDING = {"network": "network", "environment": "environment", "endless": "endless"}
ASKING = frozenset({"--version", "--help", "-V", "-v", "-h"})
CHANGING = frozenset({"sends", "publishes", "project", "writes_here", "unpacks", "fetches"})


def _spelled(random: Random, entry: Entry) -> tuple[list[str], set[str]]:
    """Words of an entry's own options, and what these do by the table."""
    words: list[str] = []
    does = set(entry.effects)
    options: list[tuple[str, Opt]] = [(f"-{one}", opt) for one, opt in entry.letters.items()]
    options += [(f"--{one}", opt) for one, opt in entry.longs.items()]
    for name, opt in random.sample(options, min(len(options), random.randint(0, 3))):
        if opt.instead is not None:
            continue
        words.append(name)
        if opt.takes == VALUED:
            words.append("x")
        elif opt.takes != FLAG and opt.kind in {"writes", "runs"}:
            does.add(opt.kind)
        does |= opt.does
        does |= {opt.kind} & {"writes", "runs", "hosts"} if opt.takes == VALUED else set()
    return words, does


def test_what_has_a_capability_passes_nowhere_without_it() -> None:
    """MGP-4.5"""
    random = Random(7)
    entries = [one for one in ENTRIES if one.special not in {*OWN, "awk", "sed"}]
    wrong = []
    for _ in range(LINES):
        entry = random.choice(entries)
        words, does = _spelled(random, entry)
        operands = ["x" for one in entry.operands.slots if one.least]
        name = random.choice(entry.names)
        line = [*name.split(), *words, *operands]
        wrapped = name.removesuffix("w")  # `gradlew` is read as `gradle`
        if any({f"{name} {one}", f"{wrapped} {one}"} & table().entries.keys() for one in words):
            continue  # Another entry.
        if len(words) == 1 and words[0] in ASKING and not operands:
            continue
        refused = does & {"network", "environment", "endless", "writes", "runs", "hosts", *CHANGING}
        if refused and INSPECT.judge(line if len(line) > 1 else line[0]) is None:
            wrong.append((" ".join(line), refused))
        if (
            does & {"publishes", "secrets"}
            and DEVELOP.judge(line if len(line) > 1 else line[0]) is None
        ):
            wrong.append((" ".join(line), does))
    assert wrong[:20] == []
