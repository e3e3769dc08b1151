"""What words mean where something else lists names."""

from gatewright.validators.shell.effects import MARK, At, Listed, marked, paths_of
from gatewright.validators.shell.places import HERE, Path
from gatewright.validators.shell_syntax import Word

SRC = Path("", ("src",))


def test_a_plain_word_is_one_path_of_the_folder() -> None:
    assert paths_of(Word("a"), At(SRC)) == [Path("", ("src", "a"))]


def test_names_that_are_listed_lie_below_what_is_listed() -> None:
    at = At(HERE, {MARK: (Listed(SRC), Listed(Path("/", ("etc",))))})
    assert [one.text() for one in paths_of(Word(MARK), at)] == ["src/*", "/etc/*"]
    assert [one.text() for one in paths_of(Word(f"{MARK}/x"), at)] == ["src/*/x", "/etc/*/x"]
    assert [one.text() for one in paths_of(Word(f"out/{MARK}"), at)] == ["out/*"]


def test_of_what_is_unseen_the_place_is_unknown() -> None:
    assert paths_of(Word(MARK), At(HERE, {MARK: None}))[0].base == "?"


def test_a_mark_is_found_in_a_text() -> None:
    assert marked(f"a{MARK}b") == MARK
    assert marked("abc") == ""
    assert marked("äöü") == ""
