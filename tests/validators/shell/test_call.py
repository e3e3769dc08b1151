"""Which operand is what, and what unseen words may stand for."""

import pytest

from gatewright.validators.shell.call import Call, always, assigned
from gatewright.validators.shell.effects import MARK, At, Listed
from gatewright.validators.shell.places import HERE
from gatewright.validators.shell.table import entries_of, operands_of
from gatewright.validators.shell.words import Refused
from gatewright.validators.shell_syntax import Word


@pytest.mark.parametrize(
    ("operands", "count", "kinds"),
    [
        ("reads+ writes", 3, ["reads", "reads", "writes"]),
        ("reads+ writes", 1, ["writes"]),
        ("pattern? lists*", 1, ["pattern"]),
        ("pattern? lists*", 3, ["pattern", "lists", "lists"]),
        ("text reads?", 1, ["text"]),
        ("text reads?", 3, None),
        ("", 1, None),
        ("", 0, []),
        ("reads*", 0, []),
    ],
)
def test_operands_are_told_by_their_place(
    operands: str, count: int, kinds: list[str] | None
) -> None:
    found = assigned(operands_of(operands).slots, count)
    assert found == (None if kinds is None else tuple(kinds))


def call(flags: str, listed: dict[str, tuple[Listed, ...] | None], name: str = "x") -> Call:
    (entry,) = entries_of(f'[[program]]\nnames = ["{name}"]\n{flags}', "a")
    return Call(lambda words, at, found: None, entry, name, (), At(HERE, listed), [])


def test_what_nobody_has_seen_is_no_word_of_a_program_that_does_something() -> None:
    careful = call('writes = "-o:"', {MARK: None})
    for word in (Word(MARK), Word(f"a{MARK}"), Word(MARK, bare=False)):
        with pytest.raises(Refused):
            careful.seen(word)
    careful.seen(Word(f"a{MARK}", bare=False))


@pytest.mark.parametrize("name", ["echo", "gecho", "git describe", "docker image ls"])
def test_programs_of_which_no_option_does_anything_get_any_word(name: str) -> None:
    found = call('flags = "-a"\noperands = "text*"', {MARK: None}, name)
    found.seen(Word(MARK))
    assert found.found == []


@pytest.mark.parametrize("name", ["timeout", "dpkg", "echoes", "git symbolic-ref", "docker run"])
def test_that_the_table_has_harmless_options_only_says_nothing_of_others(name: str) -> None:
    with pytest.raises(Refused):
        call('flags = "-a"\noperands = "text*"', {MARK: None}, name).seen(Word(MARK))


def test_a_script_is_held_with_all_of_its_parts() -> None:
    plain = call("", {MARK: (Listed(HERE),)})
    plain.hold(Word("a"), Word("b"))
    with pytest.raises(Refused):
        plain.hold(Word("a"), Word(f"b{MARK}"))


def test_names_are_known_where_they_come_from() -> None:
    known = call('writes = "-o:"', {MARK: (Listed(HERE),)})
    known.seen(Word(MARK))
    known.add_paths("reads", Word(MARK), "operand")
    assert [one.listed for one in known.found] == ["all"]


def test_what_is_bounded_has_an_end() -> None:
    found = call("", {})
    found.at = found.at._replace(bounded=True)
    found.add("endless")
    assert found.found == []
    found.add("network")
    assert [one.kind for one in found.found] == ["network"]


def test_what_a_program_always_does_stands_in_an_order_whatever_a_set_has() -> None:
    effects = [
        "acts",
        "endless",
        "network",
        "publishes",
        "runs",
        "sends",
        "settings",
        "writes_here",
    ]
    found = call(f"effects = {effects[::-1]}", {})
    always(found)
    assert [one.kind for one in found.found] == effects
