"""URI templates read backwards."""

from __future__ import annotations

import pytest

from gatewright.upstream.templates import Template


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


@pytest.mark.parametrize("text", ["x://" + "{a}" * 33, "x://" + "a" * 3000, "x://{+a}" * 40])
def test_a_monstrous_template_fits_nothing(text: str) -> None:
    assert not Template(text).matches("x://a")


def test_a_monstrous_uri_fits_nothing() -> None:
    assert not Template("x://{+a}").matches("x://" + "a" * 10_000)
