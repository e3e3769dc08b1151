"""Lines are made from the table alone, and every option of it comes."""

from itertools import islice
from random import Random

from benchmarks.line_maker import installed, lines, options_of


def test_each_option_comes_before_any_comes_again() -> None:
    entries = installed(["wc", "uname"])
    names = {one.name for _, entry in entries for one in options_of(entry)}
    made = list(islice(lines(Random(1), entries), len(names) + len(entries)))
    words = " ".join(made).replace("=", " ").split()
    assert {one for one in names if not any(word.startswith(one) for word in words)} == set()


def test_a_seed_says_which_lines_are_made() -> None:
    entries = installed(["ls", "cat"])
    first, again, other = (list(islice(lines(Random(seed), entries), 20)) for seed in (1, 1, 2))
    assert first == again != other


def test_only_programs_that_are_there_are_asked() -> None:
    assert installed(["ls"])
    assert not installed(["no-such-program"])
    assert {name.split()[0] for names, _ in installed(["cat", "wc"]) for name in names} == {"cat", "wc"}  # fmt: skip
