"""What a line lists for others."""

import pytest

from gatewright.validators.shell.effects import NUMBERS, At, Effect, Listed
from gatewright.validators.shell.listing import listing
from gatewright.validators.shell.places import HERE, Path
from gatewright.validators.shell.reading import Reader
from gatewright.validators.shell_pipelines import read_list

SRC = Path("", ("src",))


def listed(line: str, folder: Path = HERE) -> tuple[Listed, ...] | None:
    (step,) = read_list(line)
    effects: list[list[Effect]] = []
    for command in step.commands:
        effects.append([])
        Reader().read(command.words, At(folder), effects[-1])
    return listing(step.commands, effects, folder)


@pytest.mark.parametrize(
    ("line", "roots"),
    [
        ("find src -name '*.py'", [Listed(SRC, chosen=True)]),
        ("find src -type f", [Listed(SRC)]),
        ("ls", [Listed(HERE, dashed=True)]),
        ("git ls-files", [Listed(HERE)]),
        ("grep -rl x src", [Listed(SRC, chosen=True)]),
        ("rg --files", [Listed(HERE)]),
        ("pgrep node", [Listed(NUMBERS, chosen=True)]),
        ("lsof -ti :3000", [Listed(NUMBERS, chosen=True)]),
        ("docker ps -aq", [Listed(NUMBERS, chosen=True)]),
        ("git ls-files | wc -l", [Listed(NUMBERS)]),
    ],
)
def test_names_lie_below_what_is_listed(line: str, roots: list[Listed]) -> None:
    assert listed(line) == tuple(roots)


@pytest.mark.parametrize("line", ["cat names", "echo /etc/shadow", "ls | sed s/a/b/", "locate x", "ls -a | grep env", "find . -printf x"])  # fmt: skip
def test_of_anything_else_nothing_is_known(line: str) -> None:
    assert listed(line) is None


def test_a_listing_without_a_name_is_of_the_folder() -> None:
    found = listed("ls", Path("/", ("etc",)))
    assert found is not None
    assert found[0].root == Path("/", ("etc",))
