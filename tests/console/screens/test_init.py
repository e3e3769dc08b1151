"""The screens together: each has a name, a letter and templates of its own."""

from __future__ import annotations

import re

from tests.console.client import Visitor


def test_each_screen_answers_and_has_a_letter_of_its_own(operator: Visitor) -> None:
    page = operator.get("/inbox").text
    found = re.findall(r'<a href="/([a-z]+)"[^>]* data-go="([a-z])">', page)
    assert len({letter for _, letter in found}) == len(found) >= 1
    for name, _ in found:
        said = operator.get(f"/{name}")
        assert (name, said.status) == (name, 200)
        assert 'aria-current="page"' in said.text
