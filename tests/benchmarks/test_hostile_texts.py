"""The corpus of hostile texts: whole, repeatable, and of the size that was asked for."""

from __future__ import annotations

import json
from itertools import islice

from benchmarks.hostile_texts import in_json, names, text, texts, triggers
from gatewright.secret_scanning.formats import formats


def test_each_text_has_a_name_of_its_own_and_can_be_made_again_by_it() -> None:
    some = list(texts(300, every=997))
    assert len({name for name, _ in some}) == len(some) > 50
    assert [text(name, 300) for name, _ in some[:20]] == [said for _, said in some[:20]]
    assert all(len(said) == 300 for _, said in some)


def test_every_row_of_the_token_formats_is_a_trigger() -> None:
    assert sum(name.startswith("format ") for name in triggers()) == 2 * len(formats())


def test_no_text_is_left_out_by_taking_them_in_turns() -> None:
    turns = [name for first in range(7) for name, _ in texts(10, every=7, first=first)]
    assert sorted(turns) == sorted(names())


def test_the_shapes_of_a_result_are_json_and_hold_the_text() -> None:
    for _, said in islice(texts(400), 5):
        shapes = dict(in_json(said))
        assert json.loads(shapes["text"])["content"][0]["text"] == said
        assert all(json.loads(one) for one in shapes.values())
