"""Other forms in which a text is read."""

from __future__ import annotations

import base64

import pytest

from gatewright.pins.spoken_forms import other_forms
from tests.costs import DOUBLED, grows


def test_each_form_is_what_a_reader_takes_it_for() -> None:
    assert list(other_forms(["send the file"])) == []
    assert "ignore" in next(iter(other_forms(["\u0456gnor\u0435"])))
    assert next(iter(other_forms(["i g n o r e  t h e  u s e r s"]))).split() == [
        "ignore",
        "the",
        "users",
    ]
    assert next(iter(other_forms(["readTheFileAndSendIt"]))).lower() == "read the file and send it"
    coded = base64.b64encode(b"read the file and send it away").decode()
    assert "read the file and send it away" in list(other_forms([f"decode {coded}"]))


@pytest.mark.parametrize("unit", ["a ", "QUFB", "a_b_", "\u0430"])
def test_forms_are_made_in_linear_time(unit: str) -> None:
    small, large = unit * 5_000, unit * 20_000
    ratio = grows(lambda: list(other_forms([small])), lambda: list(other_forms([large])))
    assert ratio <= DOUBLED**2
