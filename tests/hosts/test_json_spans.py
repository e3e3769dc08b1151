"""JSON with comments: the same values as a JSON reader gives, and where each stands."""

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatewright.hosts.json_spans import Member, Node, plain, scan, skip
from gatewright.hosts.whole_file import Unreadable
from tests.costs import DOUBLED, grows
from tests.hosts.documents import documents

ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(value=ANY, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_values_are_those_of_a_json_reader(
    value: object, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert plain(scan(text)) == json.loads(text)


def pieces(node: Node) -> list[tuple[int, int]]:
    below: list[Node] = [*(node.items or []), *(one.value for one in node.members or [])]
    return [(node.start, node.end), *(span for one in below for span in pieces(one))]


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=documents())
def test_every_value_read_alone_is_the_same(text: str) -> None:
    root = scan(text)
    assert root is not None
    for start, end in pieces(root):
        alone = scan(text[start:end])
        assert alone is not None
        assert (alone.start, alone.end) == (0, end - start)


def test_members_know_their_places_and_their_commas() -> None:
    text = '{"a": 1 /* c */ , "b": [true,],}'
    root = scan(text)
    assert root == Node(
        0,
        len(text),
        members=[
            Member("a", 1, Node(6, 7, scalar=1), comma=16),
            Member("b", 18, Node(23, 30, items=[Node(24, 28, scalar=True)]), comma=30),
        ],
    )
    assert root.find("c") is None


def test_of_a_key_twice_the_last_one_counts() -> None:
    root = scan('{"a": 1, "a": 2}')
    assert root is not None
    found = root.find("a")
    assert found is not None
    assert (plain(found.value), plain(root)) == (2, {"a": 2})


@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "// c", "/* a */ // b\n"])
def test_nothing_but_space_and_comments_is_no_value(text: str) -> None:
    assert scan(text) is None
    assert plain(None) is None


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', 3, "expected `,` or `}`, found '\"'"),
        ('{\n  "a" 1\n}', 2, "expected `:`, found '1'"),
        ("{\n  a: 1\n}", 2, "expected a key in double quotes, found 'a'"),
        ("{1: 2}", 1, "expected a key in double quotes, found '1'"),
        ("[1, 2\n\n", 3, "expected `,` or `]`, found the end of the file"),
        ("{} x", 1, "expected the end of the file, found 'x'"),
        ('{"a": }', 1, "expected a value, found '}'"),
        ('{"a": "x\ny"}', 1, "expected a value, found '\"'"),
        ('{"a": 01}', 1, "expected `,` or `}`, found '1'"),
        ('{"a": "\\x"}', 1, "expected a value, found '\"'"),
        ("{,}", 1, "expected a key in double quotes, found ','"),
        ("[1,,2]", 1, "expected a value, found ','"),
        ("/* open", 1, "expected a value, found '/'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(Unreadable) as problem:
        scan(text)
    assert (problem.value.line, problem.value.what) == (line, what)


def test_nesting_has_a_bound() -> None:
    assert scan("[" * 200 + "]" * 200) is not None
    with pytest.raises(Unreadable, match="nested deeper than 200"):
        scan("[" * 100_000)


def test_a_number_of_any_length_is_read() -> None:
    assert plain(scan("9" * 5000)) == "9" * 5000


def test_a_string_that_never_ends_is_refused_at_once() -> None:
    with pytest.raises(Unreadable):
        scan('{"a": "' + "x" * 200_000 + "\\")


def test_space_is_skipped_up_to_the_next_word() -> None:
    assert skip("  // a\n /* b */ x", 0) == 16
    assert skip("x", 0) == 0


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_comments_cost_what_they_are_long_whatever_ends_them(end: str) -> None:
    def work(count: int) -> Callable[[], object]:
        text = f"//{end}" * count + "1"
        return lambda: skip(text, 0)

    assert grows(work(40_000), work(160_000)) < DOUBLED**2
    for long in (255, 256, 257, 600):
        text = f"//{'x' * long}{end}1//{'x' * long}"
        assert skip(text, 0) == len(text) - long - 3
        assert skip(text, len(text) - long - 2) == len(text)
