"""URI templates read backwards."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.servers.uri_templates import Template, flaw_of_template


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("test://template/{id}/data", "test://template/123/data", True),
        ("test://template/{id}/data", "test://template/1/2/data", False),
        ("test://template/{id}/data", "test://template//data", True),
        ("file:///{+path}", "file:///a/b/c.txt", True),
        ("file:///{path}", "file:///a/b", False),
        ("db://t{?limit,page}", "db://t?limit=1&page=2", True),
        ("db://t{?limit,page}", "db://t", True),
        ("db://t{?limit}{&more*}", "db://t?limit=1&x=2", True),
        ("x://h{/a,b}", "x://h/1/2", True),
        ("x://h{.ext}", "x://h.json", True),
        ("x://h{;v}", "x://h;v=1", True),
        ("x://h{#part}", "x://h#p", True),
        ("x://h.+(y)/{a}", "x://h.+(y)/1", True),
        ("x://h.+(y)/{a}", "x://hxx(y)/1", False),
        ("x://h/{a}", "x://h/1\n2", True),
        ("x://h", "x://h", True),
        ("x://h", "x://hh", False),
        ("x://{a", "x://{a", True),
    ],
)
def test_a_uri_fits_the_template_it_could_come_from(template: str, uri: str, fits: bool) -> None:
    assert Template(template).matches(uri) is fits


def test_the_closest_template_has_the_most_literal_text() -> None:
    wide, close = Template("x://{+all}"), Template("x://docs/{name}.md")
    assert close.weight > wide.weight


@pytest.mark.parametrize("text", ["x://" + "{a}" * 9, "x://" + "a" * 3000, "x://{+a}" * 40])
def test_a_monstrous_template_fits_nothing(text: str) -> None:
    assert not Template(text).matches("x://a")
    assert flaw_of_template(text).startswith("it has ")


def test_a_monstrous_uri_fits_nothing() -> None:
    assert not Template("x://{+a}").matches("x://" + "a" * 2048)


VALUES = {
    "": r"[^/?#]*",
    "+": r".*",
    "#": r"(?:#.*)?",
    ".": r"(?:\.[^/?#]*)?",
    "/": r"(?:/[^?#]*)?",
    ";": r"(?:;[^/?#]*)?",
    "?": r"(?:\?[^#]*)?",
    "&": r"(?:&[^#]*)?",
}
LITERALS = st.text(alphabet="a/:.?#&;-é+(", max_size=4)
OPERATORS = st.sampled_from(sorted(VALUES))


@given(
    st.lists(st.tuples(LITERALS, OPERATORS), max_size=4),
    LITERALS,
    st.text(alphabet="a/:.?#&;-é+(\n", max_size=12),
)
def test_a_template_means_what_backtracking_says_it_means(
    parts: list[tuple[str, str]], last: str, uri: str
) -> None:
    template = Template("".join(f"{said}{{{sign}x}}" for said, sign in parts) + last)
    pattern = "".join(re.escape(said) + VALUES[sign] for said, sign in parts) + re.escape(last)
    assert template.matches(uri) is (re.fullmatch(pattern, uri, re.DOTALL) is not None)


@pytest.mark.parametrize(
    "expression", ["{a}", "{+a}", "{a}/", "{+a}/{?b}", "{/a,b}", "{;v}-", "{.e}a"]
)
@pytest.mark.parametrize("count", [1, 4, 7])
def test_expressions_cost_what_the_uri_says_and_never_backtrack(
    expression: str, count: int
) -> None:
    template = Template("x://" + expression * count + "!")
    assert not template.matches("x://a")  # made when it is first asked
    uri = "x://" + "a/" * 1020
    begun = time.thread_time()
    assert not template.matches(uri)
    assert time.thread_time() - begun < 0.5  # backtracking over ten takes longer than anybody waits


def test_the_weight_is_the_literal_text_alone() -> None:
    assert [Template(text).weight for text in ("x://{a}/b{?c}", "x://b", "{+a}")] == [6, 5, 0]
