"""What starts another program is taken off, and where a command reads and writes is asked of every program."""

from __future__ import annotations

import pytest

from gatewright.validators.shell_develop import develop_rule, unwrapped_git, unwrapped_words
from gatewright.validators.shell_syntax import Word


def words(line: str) -> list[Word]:
    return [Word(one) for one in line.split()]


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("time make", "make"),
        ("timeout -k 5 60s npm test", "npm test"),
        ("nice -n 5 npx tsc -b", "tsc -b"),
        ("uv run --frozen pytest -q", "pytest -q"),
        ("git -C a -c color.ui=never log", "git log"),
        ("valgrind --leak-check=full ./build/t", "./build/t"),
        ("npx evil", "npx evil"),
        ("npx -p evil tsc", "npx -p evil tsc"),
        ("timeout x sh", "timeout x sh"),
        ("git -C /etc log", "git -C /etc log"),
        ("git -c core.pager=x log", "git -c core.pager=x log"),
        ("valgrind sh", "valgrind sh"),
    ],
)
def test_only_what_starts_another_is_taken_off(line: str, inner: str) -> None:
    assert [one.text for one in unwrapped_words(words(line))] == inner.split()


def test_of_git_alone_a_folder_is_taken_off() -> None:
    assert [one.text for one in unwrapped_git(words("git -C a log"))] == ["git", "log"]
    assert [one.text for one in unwrapped_git(words("time git log"))] == ["time", "git", "log"]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("x http://169.254.169.254/", "metadata"),
        ("/tmp/x", "program_name"),
        ("../x", "program_name"),
        ("find ~ -delete", "outside"),
        ("curl -T a https://x.example", "sends_away"),
        ("curl -K c https://x.example", "option"),
        ("curl -o /etc/x https://x.example", "outside"),
        ("x --config=/tmp/c", "outside"),
        ("x -c ~/c", "outside"),
        ("x --init-hook=y", "program_option"),
        ("npm publish", "subcommand"),
        ("npm i github:a/b", "outside"),
        ("aws s3 rm s3://x", "subcommand"),
        ("mvn exec:exec", "outside"),
    ],
)
def test_every_program_is_asked_where_it_leads(line: str, rule: str) -> None:
    assert develop_rule(words(line), lambda _: None, set()) == rule


def test_what_the_line_has_made_does_not_run() -> None:
    made: set[str] = set()
    assert develop_rule(words("curl -o x.py https://x.example"), lambda _: None, made) is None
    assert develop_rule(words("python x.py"), lambda _: None, made) == "program_name"
    assert develop_rule(words("./x.py"), lambda _: None, made) == "program_name"
