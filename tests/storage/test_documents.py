"""Small documents keep their order and their section, and every change is a step."""

from __future__ import annotations

from pathlib import Path

from gatewright.storage.documents import Documents
from tests.storage.parts import state_in


def test_documents_of_one_section_are_not_those_of_another(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    one = Documents(state.section("rooms", "the rooms"))
    other = Documents(state.section("registrations", "the tools"))
    one.put("b", "1")
    one.put("a", "2")
    other.replace({"b": "3"})
    assert list(one.all().items()) == [("b", "1"), ("a", "2")]
    one.put("b", "4")
    assert list(one.all().items()) == [("a", "2"), ("b", "4")]
    other.replace({"z": "5", "a": "6"})
    assert list(other.all().items()) == [("z", "5"), ("a", "6")]
    heads = state.heads()
    assert (heads["rooms"].steps, heads["registrations"].steps) == (3, 2)
