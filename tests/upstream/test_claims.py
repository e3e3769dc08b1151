"""Which servers claim a URI, by lists and templates, and which templates could meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Target
from gatewright.upstream.claims import TRIED, Claims
from gatewright.upstream.shelf import build_shelf
from gatewright.upstream.slices import whole
from gatewright.upstream.spec import ServerSpec
from gatewright.upstream.templates import Template
from tests.upstream.test_shelf import listing


def claims(**servers: tuple[list[str], list[str]]) -> Claims:
    shelves = [
        build_shelf(
            ServerSpec(id=name),
            listing(
                resources=[{"uri": uri, "name": uri} for uri in uris],
                resourceTemplates=[{"uriTemplate": one, "name": one} for one in templates],
            ),
        )
        for name, (uris, templates) in servers.items()
    ]
    found = Claims()
    whole(found.count(shelves))
    return found


def test_a_uri_is_claimed_by_who_lists_it_and_by_whose_template_it_fits() -> None:
    found = claims(a=(["x://1", "y://1"], []), b=(["x://1"], ["y://{id}", "z://{id}"]))
    assert found.of("x://1") == ["a", "b"]
    assert found.of("y://1") == ["a", "b"]
    assert found.of("z://1") == ["b"]
    assert found.of("w://1") == []
    assert found.beside(Target("a", "y://1"))
    assert found.beside(Target("a", "z://7"))
    assert not found.beside(Target("b", "z://7"))
    assert not found.beside(Target("a", "w://7"))


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("x://{id}", "x://{id}", True),
        ("x://{id}", "x://docs/{id}", True),
        ("x://docs/{id}", "{+any}", True),
        ("x://docs/{id}", "x://logs/{id}", False),
        ("x://docs/{id}", "x://docs", True),
        ("x://a", "y://{id}", False),
    ],
)
def test_templates_that_begin_alike_are_told_apart(one: str, other: str, meet: bool) -> None:
    found = claims(a=([], [one, one]), b=([], [other]))
    assert found.meets(Target("a", one)) == found.meets(Target("b", other)) == meet
    assert not claims(a=([], [one, other])).meets(Target("a", one))


_TEXTS = st.lists(
    st.sampled_from(["x", ":", "/", "a", "b", "{v}", "{+v}", "{/v}", "{?v}"]),
    min_size=1,
    max_size=6,
).map("".join)
_URIS = st.text("x:/ab?", max_size=8)


@given(st.lists(_TEXTS, max_size=5), st.lists(_TEXTS, max_size=5), _URIS)
def test_a_uri_that_two_servers_templates_fit_is_claimed_by_both_and_their_templates_meet(
    one: list[str], other: list[str], uri: str
) -> None:
    found = claims(a=([], one), b=([], other))
    fits = {
        name: [text for text in dict.fromkeys(texts) if Template(text).matches(uri)]
        for name, texts in (("a", one), ("b", other))
    }
    assert found.of(uri) == [name for name, fitting in fits.items() if fitting]
    if fits["a"] and fits["b"]:
        for name, fitting in fits.items():
            assert all(found.meets(Target(name, text)) for text in fitting)


def test_no_more_than_some_templates_are_tried_for_a_uri(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that has thousands of templates for everything claims everything, as it does with one."""
    tried: list[str] = []
    matches = Template.matches

    def noted(self: Template, uri: str) -> bool:
        tried.append(uri)
        return matches(self, uri)

    monkeypatch.setattr(Template, "matches", noted)
    found = claims(a=(["x://1"], []), b=([], [f"x://{{v}}/{n}" for n in range(3 * TRIED)]))
    assert found.of("x://1") == ["a", "b"]
    assert found.beside(Target("a", "x://1"))
    assert not found.beside(Target("b", "x://2"))
    assert len(tried) <= 2 * TRIED
    few = claims(a=(["x://1"], []), b=([], [f"x://{{v}}/{n}" for n in range(TRIED)]))
    assert few.of("x://1") == ["a"]


HEADS = st.lists(st.text("ab", max_size=4).map(lambda one: one + "{v}"), max_size=5)


@given(st.lists(HEADS, min_size=1, max_size=3), st.text("ab", max_size=4), st.integers(0, 3))
def test_templates_meet_where_one_head_begins_as_the_other(
    of: list[list[str]], head: str, own: int
) -> None:
    found = claims(**{f"s{number}": ([], one) for number, one in enumerate(of)})
    heads = [(f"s{n}", one.partition("{")[0]) for n, several in enumerate(of) for one in several]
    expected = any(
        server != f"s{own}" and (one.startswith(head) or head.startswith(one))
        for server, one in heads
    )
    assert found.meets(Target(f"s{own}", head + "{v}")) == expected
