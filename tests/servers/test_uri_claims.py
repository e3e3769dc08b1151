"""Which servers claim a URI, by lists and templates, and which templates could meet."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Target
from gatewright.servers.server_catalogue import build_listing
from gatewright.servers.spec import ServerSpec
from gatewright.servers.uri_claims import TRIED, Claims
from gatewright.servers.uri_templates import Template
from gatewright.transport.slices import whole
from tests.servers.test_server_catalogue import listing


def claims(**servers: tuple[list[str], list[str]]) -> Claims:
    shelves = [
        build_listing(
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


@pytest.mark.parametrize("operator", ["", "+", "#", ".", "/", ";", "?", "&"])
def test_a_template_is_claimed_by_its_own_text_whatever_it_fits(operator: str) -> None:
    """Completions ask for it by that. Most forms do not fit it themselves, and a neighbour's `{+x}` fits everything."""
    text = f"x://list{{{operator}q}}"
    found = claims(a=([], [text]), b=([text], ["{+x}"]), c=([], []))
    assert found.of(text) == ["a", "b"]
    assert found.beside(Target("b", text))


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ("http://Example.com", "http://example.com/"),
        ("HTTPS://docs.test:443/a", "https://docs.test/a"),
        ("file:///home/%61nn", "file:///home/ann"),
        ("file:///home/ann", "file:///home/x/../ann"),
    ],
)
def test_a_uri_is_anothers_in_whatever_spelling(theirs: str, mine: str) -> None:
    """A client that parses what one server lists asks for it as the other one spells it."""
    found = claims(docs=([theirs], []), evil=([mine], []))
    assert found.of(theirs) == found.of(mine) == ["docs", "evil"]
    assert found.beside(Target("docs", theirs))
    assert found.beside(Target("evil", mine))


def test_a_template_is_anothers_in_whatever_spelling() -> None:
    found = claims(
        docs=([], ["MEMO://Notes/{id}"]), evil=(["memo://notes/1"], ["memo://notes/{x}"])
    )
    assert found.of("memo://notes/1") == found.of("MEMO://Notes/1") == ["docs", "evil"]
    assert found.beside(Target("evil", "memo://notes/1"))
    assert found.meets(Target("docs", "MEMO://Notes/{id}"))
    assert found.meets(Target("evil", "memo://notes/{x}"))


def test_what_begins_as_another_servers_template_is_shown_as_one_that_it_fits() -> None:
    """Nothing is held against a template in order to show it: there may be very many of both."""
    found = claims(a=(["x://docs/1.txt"], []), b=([], ["x://docs/{name}.md"]))
    assert found.beside(Target("a", "x://docs/1.txt"))
    assert not found.beside(Target("b", "x://docs/2.txt"))
    assert found.of("x://docs/1.txt") == ["a"]


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
    for name, beside in (("a", "b"), ("b", "a")):
        assert found.beside(Target(name, uri)) >= bool(fits[beside])
    if fits["a"] and fits["b"]:
        for name, fitting in fits.items():
            assert all(found.meets(Target(name, text)) for text in fitting)


HOSTILE = {
    "all": "file:///" + "{+a}" * 8 + "z%d",
    "literal": "file:///" + "a" * 1900 + "%d{x}",
    "lengths": "file:///{n}%d",
    "nested": "file:///" + "%s{x}",
}


def hostile(form: str, count: int) -> list[str]:
    """Templates of one server, as many as it may have."""
    if form == "nested":
        return ["file:///" + "a" * at + "{x}" for at in range(count)]
    return [HOSTILE[form] % at for at in range(count)]


@pytest.mark.parametrize("form", HOSTILE)
@pytest.mark.parametrize("servers", [1, 4])
def test_what_others_have_is_shown_without_holding_it_against_templates(
    form: str, servers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Look-ups are counted: as many for each resource as heads have lengths, whoever has how many templates."""
    named: dict[str, tuple[list[str], list[str]]] = {
        f"bad{at}": ([], hostile(form, 500)) for at in range(servers)
    }
    found = claims(**named)
    monkeypatch.setattr(Template, "matches", lambda *_: pytest.fail("a template was looked at"))
    looked: list[str] = []

    class Counted(dict[str, Any]):
        def __contains__(self, key: object) -> bool:
            looked.append(str(key))
            return super().__contains__(key)

    found._begins = Counted(found._begins)
    for at in range(10):
        found.beside(Target("good", f"file:///{'a' * 2000}/{at}"))
        found.meets(Target("good", f"file:///{'a' * 1000}{at}{{x}}"))
    assert len(looked) <= 20 * 129
    assert max(map(len, looked)) <= 128


@pytest.mark.parametrize("form", HOSTILE)
def test_a_bounded_number_of_each_servers_templates_is_held_against_a_uri(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(Template, "matches", lambda self, _: asked.append(self.text))
    found = claims(a=([], hostile(form, 500)), b=([], hostile(form, 500)), c=(["file:///x"], []))
    uri = "file:///" + "a" * 2000
    assert found.of(uri) == ["a", "b"]  # who says too much to be looked at says that it is theirs
    assert len(asked) <= 2 * TRIED
    asked.clear()
    assert "c" in found.of("file:///x")
    assert len(asked) <= 2 * TRIED
    asked.clear()
    assert found.of("file:///" + "a" * 3000) == []
    assert not asked


@given(st.lists(_TEXTS, max_size=6), st.lists(_TEXTS, max_size=6), st.lists(_TEXTS, max_size=6))
def test_templates_meet_where_one_begins_as_the_other_does(
    one: list[str], other: list[str], third: list[str]
) -> None:
    """Against all pairs, one by one."""
    texts = {"a": one, "b": other, "c": third}
    found = claims(**{name: ([], every) for name, every in texts.items()})
    heads = [(name, text.partition("{")[0]) for name, every in texts.items() for text in every]
    for name, every in texts.items():
        for text in every:
            head = text.partition("{")[0]
            assert found.meets(Target(name, text)) == any(
                who != name and (head.startswith(their) or their.startswith(head))
                for who, their in heads
            )
