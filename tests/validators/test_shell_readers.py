"""The table of reading programs: what it says of itself, and what of each program is refused because nobody says that it reads."""

from __future__ import annotations

from string import ascii_letters

import pytest

from gatewright.validators.sandbox import prepare
from gatewright.validators.shell_programs import PROGRAMS, program_rule
from gatewright.validators.shell_readers import READERS
from gatewright.validators.shell_syntax import Word

BY_OPTIONS = sorted(name for name, one in PROGRAMS.items() if one.known is not None)
FROM_ELSEWHERE = (
    "files0-from files-from file-from from-file arg-file pathspec-from-file config config-file exclude-from include-from rcfile "
    "files-list batch batch-file query-file input-file names-from tab-file magic-file pidfile fromfile gitfile infofile ignore-file "
    "pre hostname-bin pager exec exec-batch init-file plugin load"
).split()
"""Long options by which programs read names, settings or commands from elsewhere."""


def test_every_program_is_judged_by_options_that_are_known_or_by_a_rule_of_its_own() -> None:
    by_rule = {"echo", "printf"}  # text alone
    left = [
        name
        for name, one in PROGRAMS.items()
        if one.known is None and one.check is None and one.subs is None
    ]
    assert set(left) == by_rule


@pytest.mark.parametrize("name", BY_OPTIONS)
def test_what_is_in_no_entry_is_refused(name: str) -> None:
    known = READERS[name]
    letters = [
        f"-{one}" for one in ascii_letters if one not in known.letters and one not in known.words
    ]
    long = [
        f"--{one}" for one in FROM_ELSEWHERE if one not in known.long and one not in known.words
    ]
    for option in [*letters, *long]:
        for words in ([option, "x"], [f"{option}=x"], ["--", "x", option], ["x", f"{option}x"]):
            if words[0] != "--":
                assert program_rule([Word(name), *map(Word, words)]) is not None, (name, words)
    # What may be the value of an option that is known hides none.
    takes = [f"-{one}" for one, values in known.letters.items() if values > 0][:3]
    for before in takes:
        for option in long[:4]:
            line = [Word(name), Word(before), Word(option), Word("x")]
            assert program_rule(line) is not None, (name, before, option)
            assert program_rule([Word(name), Word(before), Word("--"), Word(option)]) is not None


@pytest.mark.parametrize("name", BY_OPTIONS)
def test_no_beginning_of_an_option_passes_for_it(name: str) -> None:
    for option in READERS[name].long:
        short = option[:-1]
        if short and short not in READERS[name].long and short not in READERS[name].words:
            assert program_rule([Word(name), Word(f"--{short}")]) is not None


@pytest.mark.parametrize("mode", ["allow-list", "deny-list"])
@pytest.mark.parametrize(
    "line",
    [
        "sort --files0-from=-",
        "sort --files0-from=names",
        "sort --files0 names",
        "wc --files0-from=names",
        "du --files0-from names",
        "du -X names .",
        "file -f names",
        "file --files-from=names",
        "jq -f filter.jq data.json",
        "jq -L /srv .",
        "xargs -a names cat",
        "xargs -anames cat",
        "xargs --arg-file=names cat",
        "xargs --arg names cat",
        "time xargs -a names cat",
        "find -files0-from names",
        "sed -f script f",
        "awk -f script f",
        "git log --output=f",
        "dig -f names",
        "tree --fromfile names",
        "findmnt -F names",
        "git diff --pathspec-from-file=names",
    ],
)
def test_names_and_commands_from_elsewhere_are_refused(line: str, mode: str) -> None:
    assert prepare({"pipes": True, "mode": mode}).judge(line) is not None
    assert (
        prepare({"pipes": True, "mode": mode}).judge(f"printf '/etc/sha%s' dow | {line}")
        is not None
    )


@pytest.mark.parametrize(
    "line",
    [
        "wc -l --total=never a b",
        "du -sh --max-depth=1 src",
        "sort -t, -k2,2nr a.csv",
        "grep -rn --include='*.py' -e x src",
        "grep -A3 -B 2 x f",
        "rg -tpy -g '!tests' --hidden x",
        "ls -la --color=never",
        "head -20 f",
        "head -n -5 f",
        "tail -n +5 f",
        "cut -d: -f1,3 f",
        "jq -r --arg a b '.x' f",
        "diff -u a b",
        "column -t -s, f",
        "stat -c %s f",
        "file --mime-type f",
        "xxd -l 16 f",
        "ps aux",
        "df -h",
        "date +%s",
        "sha256sum -c SUMS",
        "cal -3",
        "fd -e py -t f x src",
        "lsof -i :80",
        "seq -5 5",
    ],
)
def test_honest_options_are_known(line: str) -> None:
    assert prepare({"pipes": True}).judge(line) is None
