"""Foreign placeholders become ours; what would execute or read what is ours is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.config.secrets import Secrets
from gatewright.config.substitute import Sources, Undefined, substitute
from gatewright.hosts.model import Refused
from gatewright.hosts.placeholders import (
    Piece,
    escape,
    pieces,
    places,
    references,
    shown,
    translate,
    variable,
)


def _none() -> Secrets:
    raise AssertionError("no secret of ours is ever asked for")


def _ours(text: str) -> str:
    names = dict.fromkeys(references(text), "v")
    return substitute(text, Sources(names, _none, store=Path("/nowhere")), Path())


def _translate(text: str, *syntaxes: str) -> str:
    return translate(text, syntaxes, places("/w", "/").get)


@pytest.mark.parametrize(
    ("syntax", "text", "ours"),
    [
        ("braces", "a${X}b${env:Y}", "a${X}b${Y}"),
        ("braces", "${X:-d e}", "${X:-d e}"),
        ("braces", "${workspaceFolder}${/}x ${userHome}", "/w/x ${HOME}"),
        ("braces", "$X ${not a variable} ${", "$X $${not a variable} $${"),
        ("dollar", "$X/$$ ${Y}", "${X}/$$ $${Y}"),
        ("prefixed", "{env:X} {other:X} ${Y}", "${X} {other:X} $${Y}"),
        ("templates", "${{ secrets.A_B }}", "${A_B}"),
        ("mustache", "{{server.some-key}}", "${SERVER_SOME_KEY}"),
        ("names", "a/{path}", "a/${PATH}"),
    ],
)
def test_a_placeholder_becomes_ours(syntax: str, text: str, ours: str) -> None:
    assert _translate(text, syntax) == ours


@pytest.mark.parametrize(
    ("syntax", "text", "why"),
    [
        ("braces", "${cmd: rm -rf /}", "would run a program"),
        ("braces", "${ shell:id }", "would run a program"),
        ("braces", "${secret:other}", "would read what is ours"),
        ("braces", "${file:/etc/passwd}", "would read what is ours"),
        ("braces", "${A:-${B}}", "inside a placeholder"),
        ("braces", "${input:gone}", "does not describe"),
        ("braces", "$${A}", "directly before a variable"),
        ("prefixed", "{file:x}", "reads a file"),
        ("mustache", "{{a|into}}", "filter"),
    ],
)
def test_what_must_not_be_done_is_refused(syntax: str, text: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        _translate(text, syntax)


def test_without_a_workspace_its_name_is_a_variable() -> None:
    assert translate("${workspaceFolder}", ("braces",), places(None).get) == "${WORKSPACE_FOLDER}"


def test_a_variable_can_be_named_after_anything() -> None:
    assert [variable(one) for one in ("api-key", "9 lives", "é", "")] == [
        "API_KEY",
        "_9_LIVES",
        "VALUE",
        "VALUE",
    ]


def test_a_text_of_ours_is_taken_apart_and_put_together() -> None:
    text = "a$${b}${X}${Y:-z}${secret:n}"
    parts = list(pieces(text))
    assert parts == [
        Piece("a${b}"),
        Piece(reference="X"),
        Piece(reference="Y:-z"),
        Piece(reference="secret:n"),
    ]
    assert [part.default for part in parts] == ["", "", "z", ""]
    assert shown(parts) == text
    assert list(references(text)) == ["X", "Y", "secret:n"]


@given(st.text(st.sampled_from("ab${}:-$")))
def test_escaped_text_is_given_to_the_server_letter_by_letter(text: str) -> None:
    assert _ours(escape(text)) == text
    assert shown(list(pieces(escape(text)))) == escape(text)


@given(st.text(st.sampled_from("aX${}:- env")))
def test_what_is_translated_can_always_be_read_by_us(text: str) -> None:
    try:
        ours = _translate(text, "braces")
    except Refused:
        return
    try:
        read = _ours(ours)
    except Undefined:
        read = None
    assert read is not None
