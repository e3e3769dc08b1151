"""A member more in a JSON text looks like its neighbours, and goes without a trace."""

import json

import pytest

from gatewright.hosts.json_edit import add, newline_of, parse, remove
from gatewright.hosts.whole_file import CannotEdit, Unreadable

KEY = ("servers",)
ENTRY = {"url": "u", "args": ["a"]}

LOOKS = {
    "the indentation of the neighbours": (
        '{\n\t"servers": {\n\t\t"a": 1\n\t}\n}\n',
        '{\n\t"servers": {\n\t\t"a": 1,\n\t\t"gw": {\n\t\t\t"url": "u",\n\t\t\t"args": [\n\t\t\t\t"a"\n\t\t\t]\n\t\t}\n\t}\n}\n',
    ),
    "one line": ('{"servers":{"a":1}}', '{"servers":{"a":1,"gw":{"url":"u","args":["a"]}}}'),
    "one line with spaces": (
        '{ "servers": { "a": 1 } }',
        '{ "servers": { "a": 1, "gw": {"url": "u", "args": ["a"]} } }',
    ),
    "a comma after the last": (
        '{\n  "servers": {\n    "a": 1, // one\n  }\n}',
        '{\n  "servers": {\n    "a": 1, // one\n    "gw": {\n      "url": "u",\n      "args": [\n        "a"\n      ]\n    },\n  }\n}',
    ),
    "comments stay at their member": (
        '{\n  "servers": {\n    "a": 1 // one\n  }\n}',
        '{\n  "servers": {\n    "a": 1, // one\n    "gw": {\n      "url": "u",\n      "args": [\n        "a"\n      ]\n    }\n  }\n}',
    ),
    "no container": (
        '{\r\n    "a": 1\r\n}\r\n',
        '{\r\n    "a": 1,\r\n    "servers": {\r\n        "gw": {\r\n            "url": "u",\r\n            "args": [\r\n                "a"\r\n            ]\r\n        }\r\n    }\r\n}\r\n',
    ),
    "an empty container": (
        '{\n  "servers": {}\n}',
        '{\n  "servers": {\n    "gw": {\n      "url": "u",\n      "args": [\n        "a"\n      ]\n    }\n  }\n}',
    ),
    "nothing": (
        "",
        '{\n  "servers": {\n    "gw": {\n      "url": "u",\n      "args": [\n        "a"\n      ]\n    }\n  }\n}\n',
    ),
}


@pytest.mark.parametrize("what", LOOKS)
def test_an_entry_looks_like_its_neighbours(what: str) -> None:
    before, after = LOOKS[what]
    assert add(before, KEY, "gw", ENTRY) == after


@pytest.mark.parametrize("what", sorted(set(LOOKS) - {"nothing"}))
def test_an_entry_goes_without_a_trace(what: str) -> None:
    before, after = LOOKS[what]
    assert remove(after, KEY, "gw", emptied=what == "no container") == before


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"s": {"gw": 1, "b": 2}}', '{"s": { "b": 2}}'),
        ('{"s": {"a": 0, "gw": 1, "b": 2}}', '{"s": {"a": 0, "b": 2}}'),
        ('{"s": {\n// note\n"gw": 1}}', '{"s": {\n// note\n}}'),
        ('{"s": {\n// note\n"gw": 1, "b": 2}}', '{"s": {\n// note\n "b": 2}}'),
        ('{"s": {"gw": 1, "gw": 2}}', '{"s": {}}'),
        ('{"s": {"a": 1 /* x */, // y\n "gw": 1}}', '{"s": {"a": 1 /* x */ // y\n }}'),
        ('{"s": {"gw": 1,},}', '{"s": {},}'),
    ],
)
def test_what_belongs_to_an_entry_goes_with_it(text: str, left: str) -> None:
    assert remove(text, ("s",), "gw", emptied=False) == left


def test_containers_that_are_empty_then_go_where_that_is_wanted() -> None:
    assert remove('{"a": {"b": {"gw": 1}}, "c": 1}', ("a", "b"), "gw", emptied=True) == '{ "c": 1}'


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[]", "the file is not an object"),
        ("3", "the file is not an object"),
        ('{"servers": null}', "`servers` is not an object"),
        ('{"servers": []}', "`servers` is not an object"),
        ('{"servers": {"gw": {}}}', "`servers.gw` is already there"),
    ],
)
def test_what_stands_in_the_way_is_named(text: str, what: str) -> None:
    with pytest.raises(CannotEdit, match=what):
        add(text, KEY, "gw", ENTRY)


@pytest.mark.parametrize("text", ["{}", "", '{"servers": 1}'])
def test_what_is_not_there_cannot_go(text: str) -> None:
    with pytest.raises(CannotEdit, match=r"`servers\.gw` is not there"):
        remove(text, KEY, "gw", emptied=False)


def test_a_text_that_cannot_be_read_is_not_edited() -> None:
    with pytest.raises(Unreadable, match="line 2"):
        add("{\n", KEY, "gw", ENTRY)
    assert parse('{"a": [1,]}') == {"a": [1]}


def test_the_first_line_says_how_lines_end() -> None:
    assert [newline_of(text) for text in ("", "a\nb\r\n", "a\r\nb\n", "a\rb")] == [
        "\n",
        "\n",
        "\r\n",
        "\r",
    ]


def test_a_key_that_stands_there_without_end_is_left() -> None:
    """Each costs a look at the whole text."""
    few, many = (", ".join(['"a": 1'] * count) for count in (50, 51))
    assert json.loads(remove("{" + few + "}", [], "a", emptied=False)) == {}
    with pytest.raises(CannotEdit, match="stands there 51 times"):
        remove("{" + many + "}", [], "a", emptied=False)
