"""A condition on a shell line is read as the words of `test`; what a shell would still expand in it is refused."""

import pytest

from gatewright.validators.shell_pipelines import read_list
from gatewright.validators.shell_syntax import Unacceptable


def _words(line: str) -> list[str]:
    return [word.text for word in read_list(line)[0].commands[0].words]


def test_a_condition_is_a_command_of_words() -> None:
    assert _words("[ -f a.txt ]") == ["test", "-f", "a.txt"]
    assert _words("[[ -f a && -d 'b c' ]]") == ["test", "-f", "a", "&&", "-d", "b c"]


@pytest.mark.parametrize("line", ["[[ -f $X ]]", "[ `id` ]"])
def test_what_would_be_expanded_is_refused(line: str) -> None:
    with pytest.raises(Unacceptable):
        read_list(line)
