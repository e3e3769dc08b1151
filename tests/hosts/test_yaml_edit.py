"""An entry more in a YAML text: below the key of its container, whatever stands there."""

from typing import Any

import pytest

from gatewright.hosts.whole_file import CannotEdit, Unreadable
from gatewright.hosts.yaml_edit import add, parse, remove

KEY = ("ext",)
ENTRY = {"type": "x", "on": True}


def added(text: str, *, listed: bool = False) -> str:
    entry: dict[str, Any] = {"name": "gw", **ENTRY} if listed else ENTRY
    return add(text, KEY, "gw", entry, listed=listed)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "ext:\n  gw:\n    type: x\n    on: true\n"),
        ("a: 1", "a: 1\next:\n  gw:\n    type: x\n    on: true"),
        ("ext:", "ext:\n  gw:\n    type: x\n    on: true"),
        (
            "ext: # all\n    # one\n    a: 1\n",
            "ext: # all\n    gw:\n      type: x\n      on: true\n    # one\n    a: 1\n",
        ),
        ("ext: {} # none\n", 'ext: {"gw": {"type": "x", "on": true}} # none\n'),
        ("ext: {a: 1}\n", 'ext: {"gw": {"type": "x", "on": true}, a: 1}\n'),
    ],
)
def test_an_entry_stands_below_its_key(before: str, after: str) -> None:
    assert added(before) == after
    assert parse(after)["ext"]["gw"] == ENTRY


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ext:\n- name: a\n", "ext:\n- name: gw\n  type: x\n  on: true\n- name: a\n"),
        ("ext:\n  - name: a", "ext:\n  - name: gw\n    type: x\n    on: true\n  - name: a"),
        ("ext: []\n", 'ext: [{"name": "gw", "type": "x", "on": true}]\n'),
    ],
)
def test_an_item_stands_in_front_of_the_others(before: str, after: str) -> None:
    assert added(before, listed=True) == after


def test_an_entry_goes_by_its_name() -> None:
    text = "ext:\n  a: 1\n  # ours\n  gw:\n    type: |\n      x\n  # next\n  b: 2\nz: 1\n"
    left = remove(text, KEY, "gw", listed=False, emptied=False)
    assert left == "ext:\n  a: 1\n  # ours\n  # next\n  b: 2\nz: 1\n"
    text = "\ufeffext:\n- name: gw\n  x: 1\n- name: a\n"
    assert remove(text, KEY, "gw", listed=True, emptied=False) == "\ufeffext:\n- name: a\n"


def test_a_container_that_is_empty_then_goes_where_that_is_wanted() -> None:
    text = "a: 1\next:\n  gw:\n    type: x"
    assert remove(text, KEY, "gw", listed=False, emptied=True) == "a: 1\n"
    assert remove(text, KEY, "gw", listed=False, emptied=False) == "a: 1\next:\n"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("- a\n", "not a mapping"),
        ("{a: 1}\n", "written in braces"),
        ("ext: 3\n", "`ext` is not a mapping"),
        ("ext: null\n", "delete that word"),
        ("ext:\n  - a\n", "`ext` is not a mapping"),
    ],
)
def test_what_stands_in_the_way_is_named(text: str, what: str) -> None:
    with pytest.raises(CannotEdit, match=what):
        added(text)


@pytest.mark.parametrize("text", ["", "a: 1\n", "ext: {gw: 1}\n", "ext:\n  a: 1\n"])
def test_what_cannot_go_is_said(text: str) -> None:
    with pytest.raises(CannotEdit):
        remove(text, KEY, "gw", listed=False, emptied=False)


@pytest.mark.parametrize("text", ["a: [\n", "a: 1\na: 2\n", "a: 'x\n"])
def test_a_text_that_cannot_be_read_names_its_line(text: str) -> None:
    with pytest.raises(Unreadable) as problem:
        parse(text)
    assert problem.value.line >= 1
