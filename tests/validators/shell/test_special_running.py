"""find, fd, xargs, env, kill, docker run."""

import pytest

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
