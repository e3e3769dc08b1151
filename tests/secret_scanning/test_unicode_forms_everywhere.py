"""Rows of combining marks in what callers and servers write are judged in a time that grows with their length alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote

import pytest

from gatewright.discovery.words import fold as word
from gatewright.mcp.wire.methods import flaw_of_pattern
from gatewright.mcp.wire.spellings import fold
from gatewright.pins.spoken_forms import other_forms
from gatewright.schemas.lookalikes import (
    caseless,
    composed,
    folded,
    length_seen,
    skeleton,
    spellings,
)
from gatewright.secret_scanning.unicode_forms import MARKS
from gatewright.servers.secret_words import speaks_as_us, wants_secret
from gatewright.validators import code_source, network, path_forms, readonly, shell_syntax, uris
from gatewright.web.urls import is_same_origin
from tests.unicode_marks import ROWS, steady

_SHORT = 4000


def _code(text: str) -> None:
    with suppress(code_source.BadSource):
        code_source.parsed(f"x = a{text[1:]}")


PLACES: dict[str, Callable[[str], object]] = {
    "readonly": readonly._verb_rule,
    "network": lambda text: list(network._urls_in(text)),
    "hosts": lambda text: network.url_rule(f"https://{text[:8000]}/"),
    "hosts of two labels": lambda text: network.url_rule(
        f"https://{text[:_SHORT]}.{text[1:_SHORT]}/"
    ),
    "uris that climb": lambda text: uris._goes_up(f"/a/{text}"),
    "uris": lambda text: uris.read(f"https://{text}/"),
    "uris in escapes": lambda text: uris.read(f"https://a{quote(text[1:])}/"),
    "uris of files": lambda text: uris.read(f"file://{text}/a"),
    "paths": lambda text: path_forms._decoded(f"/a/{text}"),
    "shells": shell_syntax.is_plain,
    "code": _code,
    "code in disguise": code_source.is_disguised,
    "origins": lambda text: is_same_origin(f"https://{text}", "https://a"),
    "words of secrets": wants_secret,
    "words of the gateway": speaks_as_us,
    "definitions": lambda text: list(other_forms([text])),
    "searches": word,
    "members": fold,
    "methods": flaw_of_pattern,
    "names": lambda text: (caseless(text), composed(text), spellings(text), folded(text)),
    "looks": skeleton,
    "lengths": lambda text: length_seen(text, 32_768),
}


@pytest.mark.parametrize("place", PLACES)
def test_twice_the_marks_take_twice_the_time_wherever_text_is_read(place: str) -> None:
    assert [row for row in ROWS if not steady(PLACES[place], row)] == []


def test_no_host_and_no_name_of_a_program_has_so_many_marks() -> None:
    long, short = "a" + "\u0301\u0316" * MARKS, "a\u0301\u0316"
    assert network.url_rule(f"https://{long}.example/") == "host_syntax"
    assert network.url_rule(f"https://{short}.example.com/") is None
    assert uris.read(f"https://{quote(long)}.example/") is None
    assert uris.read(f"https://example.com/{quote(short)}") is not None
    with pytest.raises(code_source.BadSource, match="30 marks"):
        code_source.parsed(f"{long} = 1")
    assert len(code_source.parsed(f"{short} = 1").body) == 1
    assert not is_same_origin(f"https://{'e' * 600}\u0301", f"https://{'e' * 600}\u0301")
    assert is_same_origin("https://caf\u00e9.example/a", "https://caf\u00e9.example/b")
