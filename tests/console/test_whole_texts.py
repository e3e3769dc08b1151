"""Long texts by pages: each page for the proof of the one before, and the last one's stands for all of this text, to this person."""

from __future__ import annotations

import pytest

from gatewright.console.operations import ApiError
from gatewright.console.whole_texts import MOST_CHARS, TextPage, WholeTexts

OF = ("definition", "ann", "files", "read")
TEXT = "".join(chr(0x4E00 + number % 5000) for number in range(2 * MOST_CHARS + 7))


def read(texts: WholeTexts, of: tuple[str, ...] = OF, text: str = TEXT) -> list[TextPage]:
    found = [texts.page(of, text, 1, "")]
    while found[-1].page < found[-1].pages:
        found.append(texts.page(of, text, found[-1].page + 1, found[-1].proof))
    return found


def test_the_pages_of_a_text_are_all_of_it() -> None:
    texts = WholeTexts()
    pages = read(texts)
    assert "".join(one.text for one in pages) == TEXT
    assert [(one.page, one.pages, one.characters) for one in pages] == [
        (number, 3, len(TEXT)) for number in (1, 2, 3)
    ]
    assert texts.page(OF, TEXT, 2, pages[2].before) == pages[1]
    assert texts.page(OF, TEXT, 1, pages[1].before) == pages[0]
    assert [one.text for one in read(texts, text="")] == [""]


def test_only_the_last_page_proves_that_all_was_shown() -> None:
    texts = WholeTexts()
    first, second, last = read(texts)
    assert texts.shown(OF, TEXT, last.proof)
    for proof in ("", first.proof, second.proof, last.before, last.proof[:-1], "\ud800"):
        assert not texts.shown(OF, TEXT, proof)
    assert not texts.shown(OF, TEXT + "x", last.proof)
    assert not texts.shown(("definition", "bob", *OF[2:]), TEXT, last.proof)
    assert not WholeTexts().shown(OF, TEXT, last.proof)


@pytest.mark.parametrize("number", [2, 3])
def test_no_page_is_shown_before_those_in_front_of_it(number: int) -> None:
    texts = WholeTexts()
    first = texts.page(OF, TEXT, 1, "")
    for proof in ("", "0" * 64, *((first.proof,) if number == 3 else ())):
        with pytest.raises(ApiError) as caught:
            texts.page(OF, TEXT, number, proof)
        assert (caught.value.status, caught.value.code) == (409, "not_shown")


def test_behind_the_last_page_there_is_none() -> None:
    texts = WholeTexts()
    with pytest.raises(ApiError) as caught:
        texts.page(OF, TEXT, 4, read(texts)[-1].proof)
    assert caught.value.status == 404
