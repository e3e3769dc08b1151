"""What becomes an argument behind a pipe."""

from __future__ import annotations

import pytest

from gatewright.validators.sandbox import Sandbox, prepare

READER = prepare({"pipes": True})
BUILDER = prepare({"pipes": True, "mode": "deny-list"})


@pytest.mark.parametrize("judge", [READER, BUILDER])
@pytest.mark.parametrize("run", ["xargs cat", "xargs -0 -n 1 head", "time xargs grep x", "nice -n5 xargs -I{} cat {}", "/usr/bin/xargs wc -l"])  # fmt: skip
@pytest.mark.parametrize(
    ("made", "rule"),
    [
        ("echo /etc/shadow", "host_file"),
        ("printf %s /etc/passwd", "host_file"),
        ("echo x | grep /etc/shadow", "host_file"),
        ("printf '/etc/sha%s' dow", "unknown_arguments"),
        ("echo /etc/sha-dow | tr -d -", "unknown_arguments"),
        ("echo wodahs | rev", "unknown_arguments"),
        ("find . -maxdepth 0 -printf /etc/sha -printf dow", "unknown_arguments"),
        ("git log --format=/etc/sha%x64ow", "unknown_arguments"),
        ("git ls-files --format=/etc/sha%x64ow", "unknown_arguments"),
        ("cat names.txt", "unknown_arguments"),
        ("find . | sed s/a/b/", "unknown_arguments"),
        ("ls | grep -o x", "unknown_arguments"),
        ("ls | grep -vo x", "unknown_arguments"),
        ("ls | sort names.txt", "unknown_arguments"),
        ("grep -h x names.txt", "unknown_arguments"),
        ("rg -l x -r /etc/hosts --replace=y | cut -c 1", "unknown_arguments"),
        ("seq 3", "unknown_arguments"),
    ],
)
def test_no_name_reaches_a_reader_of_files_as_text(
    judge: Sandbox, made: str, run: str, rule: str
) -> None:
    found = judge.judge(f"{made} | {run}")
    assert found is not None
    # Of what nobody has seen the reader asks no further.
    assert found.rule == (rule if judge is BUILDER else "unknown_arguments")


@pytest.mark.parametrize(
    "line",
    [
        "find . -name '*.py' | xargs grep -n foo",
        "find . -name '*.py' -print0 | xargs -0 wc -l",
        "git ls-files | xargs wc -l",
        "git ls-files | grep py | sort | head -20 | xargs cat",
        "grep -rl foo src | xargs cat",
        "rg --files | xargs wc -l",
        "ls | xargs",
        "echo a b c | xargs -n 1 echo",
        "echo src/a.py | xargs basename",
        "echo /etc/passwd is a file",
        "echo /etc/passwd | cat",
        "cat a | sort | uniq -c",
    ],
)
def test_honest_pipelines_pass(line: str) -> None:
    assert READER.judge(line) is None
