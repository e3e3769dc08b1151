"""What stands on a line for an expansion or for the output of a command."""

import pytest

from gatewright.validators.shell_pipelines import MARKS, read_list


def words(line: str) -> list[str]:
    return [one.text for one in read_list(line)[-1].commands[0].words]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('ls "$PWD"', "."),
        ("ls $HOME/x", "~/x"),
        ('echo "exit: $?"', "exit: 0"),
        ("echo $((1 + 2))", "0"),
        ("make -j$(nproc)", "-j1"),
        ("git log $(git rev-parse HEAD)", "HEAD"),
        ('ls "$(git rev-parse --show-toplevel)/src"', "./src"),
        ("git log origin/$(git branch --show-current)..HEAD", "origin/HEAD..HEAD"),
    ],
)
def test_what_is_known_stands_there(line: str, text: str) -> None:
    assert text in words(line)


@pytest.mark.parametrize("line", ["echo $(cat x)", 'echo "$(date)"', "diff <(a) b", 'ls "/$(git branch --show-current)"'])  # fmt: skip
def test_what_is_not_is_marked(line: str) -> None:
    assert any(MARKS.search(one) for one in words(line))
