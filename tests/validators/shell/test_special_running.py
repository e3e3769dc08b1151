"""find, fd, xargs, env, kill, docker run."""

import pytest

from gatewright.validators import readonly
from gatewright.validators.sandbox import prepare

INSPECT, DEVELOP = prepare({"allow": ["inspect"]}), prepare({"allow": ["develop"]})


@pytest.mark.parametrize(
    "line",
    [
        "find . -name '*.py' -exec grep -l x {} +",
        "find -L src -newermt 2024-01-01 -print",
        "find . \\( -name a -o -name b \\) ! -path './x/*'",
        "fd -e py -x wc -l",
        "ls | xargs wc -l",
        "find . -type f | xargs -I{} head -1 {}",
        "env LANG=C ls",
        "test -f a -a 3 -lt 4",
        "command -v ls",
    ],
)
def test_what_only_reads_passes(line: str) -> None:
    assert INSPECT.judge(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "find . -exec sh -c id ';'",
        "find . -exec rm {} +",
        "find . -exec",
        "find . -fprint x",
        "find . -name",
        "find . -unheard",
        "find ~ -exec cat {} +",
        "find . -name x .git",
        "fd -x rm",
        "fd . ~ -x cat",
        "ls | xargs sort",
        "ls | xargs uniq",
        "xargs -a x cat",
        "env LD_PRELOAD=x ls",
        "env -S 'sh -c id'",
        "env",
        "test -v a",
        "command ls",
    ],
)
def test_what_does_more_is_refused(line: str) -> None:
    assert INSPECT.judge(line) is not None


@pytest.mark.parametrize("line", ["kill 5", "kill -TERM 5 6", "kill -9 %1", "kill $(pgrep node)", "lsof -ti :1 | xargs kill", "docker run --rm -v \"$PWD\":/app x", "make V=1 test"])  # fmt: skip
def test_work_inside_passes(line: str) -> None:
    assert DEVELOP.judge(line) is None


@pytest.mark.parametrize("line", ["kill 1", "kill -1", "kill 0", "kill -9 -1", "kill $(cat x)", "kill", "docker run -v /:/h x", "docker run --net host x", "docker run --mount type=bind,src=/,dst=/h x", "make SHELL=x"])  # fmt: skip
def test_what_harms_does_not(line: str) -> None:
    assert DEVELOP.judge(line) is not None


ASKS = ["pgrep -d '{}' .", "pgrep --delimiter='{}' .", "pgrep -l x", "pgrep -a x", "pgrep -af x", "pgrep --list-name x", "pgrep --list-full x", "pidof -S '{}' sh", "pidof -d '{}' sh", "lsof -t -F x", "lsof -tFn", "lsof -i :1", "lsof +t"]  # fmt: skip
"""What prints names, or what the line says, between the numbers of processes."""
COMPARES = ["[[ $({}) -gt 1 ]]", "[[ 1 -lt $({}) ]]", '[ "$({})" -gt 1 ]', "[ $({}) -eq 1 ]", "test $({}) -gt 1", "x=$({}); [[ $x -gt 1 ]]"]  # fmt: skip


@pytest.mark.parametrize("asks", [*ASKS, "pgrep x", "pidof sh", "lsof -ti :1", "docker ps -q"])
@pytest.mark.parametrize("compares", COMPARES)
@pytest.mark.parametrize("between", ["+x[$(touch p)]+", " -1 "])
def test_only_a_count_is_compared_by_number(asks: str, compares: str, between: str) -> None:
    """MGP-4.5-1: what shells take for an expression, whose subscripts run commands."""
    line = compares.format(asks.format(between))
    validators = INSPECT, DEVELOP, readonly.prepare({}, "run_command")
    assert all(one.judge(line) is not None for one in validators), line


@pytest.mark.parametrize("count", ["git ls-files | wc -l", "pgrep -c node", "pgrep -fc node", "pgrep --count node"])  # fmt: skip
def test_a_count_of_processes_or_lines_is_compared_by_number(count: str) -> None:
    assert INSPECT.judge(f"[ $({count}) -gt 1 ]") is None
    assert INSPECT.judge(f"[[ $({count}) -gt 1 ]]") is None


@pytest.mark.parametrize("asks", [*ASKS, "pgrep -c x"])
@pytest.mark.parametrize("kills", ["kill $({})", "kill -9 $({})", "{} | xargs kill"])
def test_only_numbers_of_processes_are_killed(asks: str, kills: str) -> None:
    """MGP-4.5-1"""
    assert DEVELOP.judge(kills.format(asks.format(" -1 "))) is not None


@pytest.mark.parametrize("asks", ["pgrep -f x", "pgrep -nx -u me x", "pidof -s x", "lsof -t -i:1", "lsof -tnP -iTCP:1 -sTCP:LISTEN"])  # fmt: skip
def test_processes_that_are_listed_by_number_alone_can_be_killed(asks: str) -> None:
    assert DEVELOP.judge(f"kill $({asks})") is None
