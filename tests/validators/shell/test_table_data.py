"""Data files of the table of programs: each loads, each name stands once, and every example of an entry is judged as the entry says."""

import pytest

from gatewright.validators.sandbox import prepare
from gatewright.validators.shell.table import Entry, collected, data_files, entries_of

FILES = data_files()


@pytest.mark.parametrize("name", FILES)
def test_a_data_file_says_what_has_a_meaning(name: str) -> None:
    assert list(entries_of(FILES[name], name))


def test_each_name_stands_once() -> None:
    entries = [one for name, text in FILES.items() for one in entries_of(text, name)]
    assert len(collected(entries).entries) == sum(len(one.names) for one in entries)


EVERYTHING = {"allow": ["inspect", "network", "environment", "endless"]}
INSPECT, ASKING, DEVELOP = (prepare(one) for one in ({"allow": ["inspect"]}, EVERYTHING, {"allow": ["develop"]}))  # fmt: skip


def wrong(entry: Entry) -> list[str]:
    """The examples of an entry that are judged in another way than it says, with the rule that speaks against each."""
    found = []
    for line in entry.examples["passes"]:
        said, other = ASKING.judge(line), DEVELOP.judge(line)
        if said is not None and other is not None:
            found.append(f"does not pass: {line} ({said.rule}, {other.rule})")
    found += [f"inspect passes: {line}" for line in (*entry.examples["refuses"], *entry.examples["develops"]) if INSPECT.judge(line) is None]  # fmt: skip
    for line in entry.examples["develops"]:
        said = DEVELOP.judge(line)
        if said is not None:
            found.append(f"does not pass develop: {line} ({said.rule})")
    found += [f"develop passes: {line}" for line in entry.examples["never"] if DEVELOP.judge(line) is None]  # fmt: skip
    return found


@pytest.mark.parametrize("name", FILES)
def test_examples_are_judged_as_their_entries_say(name: str) -> None:
    problems = [f"{entry.names[0]}: {one}" for entry in entries_of(FILES[name], name) for one in wrong(entry)]  # fmt: skip
    assert problems == []
