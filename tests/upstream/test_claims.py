"""Which servers claim a URI, by lists and templates, and which templates could meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Target
from gatewright.upstream.claims import Claims
from gatewright.upstream.shelf import build_shelf
from gatewright.upstream.spec import ServerSpec
from gatewright.upstream.templates import Template
from tests.upstream.test_shelf import listing


def claims(**servers: tuple[list[str], list[str]]) -> Claims:
    return Claims(
        [
            build_shelf(
                ServerSpec(id=name),
                listing(
                    resources=[{"uri": uri, "name": uri} for uri in uris],
                    resourceTemplates=[{"uriTemplate": one, "name": one} for one in templates],
                ),
            )
            for name, (uris, templates) in servers.items()
        ]
    )


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
