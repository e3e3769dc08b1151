"""What a feature is by itself, and what those after it find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Caller
from gatewright.feature import Counts, Feature, Ground, Making, Rights, extensions_of
from gatewright.servers.catalogue import EVERYTHING
from gatewright.servers.mgp_extensions import EXTENSIONS
from gatewright.servers.supervisor_dependencies import NOTHING
from tests.feature_parts import ground, settings
from tests.gate_parts import a_tool


class Offering(Feature):
    """Offers a word."""

    def __init__(self, on: Ground) -> None:
        self.offers = ("word",)


async def test_by_itself_a_feature_contributes_nothing(tmp_path: Path) -> None:
    on = ground(tmp_path)
    one = Feature(on)
    keys: Any = object()
    given: Any = None
    assert one.keys(keys) is keys
    assert one.side(NOTHING) is NOTHING
    around = one.around(given)
    assert (around.hooks.around, around.shared, around.numbers()) == ((), {}, {})
    assert one.methods(given) == {}
    assert one.rules(settings(tmp_path)).gates == {}
    assert one.serve(given).looks == ()
    assert one.numbers() == {}
    one.adopt(on.settings)
    await one.look_ahead("s", (), on.settings)
    await one.close()


def test_what_features_offer_is_found_by_those_after_them(tmp_path: Path) -> None:
    on = ground(tmp_path)
    assert on.of(str) is None
    after = replace(on, before=(Offering(on),))
    assert (after.of(str), after.of(Counts)) == ("word", None)


def test_what_the_start_hands_in_is_found_where_no_feature_offers_it(tmp_path: Path) -> None:
    on = replace(ground(tmp_path), handed=("given", 5))
    assert (on.of(str), on.of(int), on.of(Counts)) == ("given", 5, None)
    assert replace(on, before=(Offering(on),)).of(str) == "word"


class Extending(Feature):
    """Serves a part of MGP."""

    extensions = ("streaming",)


def test_an_extension_of_mgp_is_offered_with_its_feature_alone() -> None:
    assert extensions_of([Offering]) == EXTENSIONS
    assert set(extensions_of([Offering, Extending])) == {*EXTENSIONS, "streaming"}


def test_without_a_feature_that_knows_nobody_holds_anything_and_nothing_is_counted() -> None:
    ann = Caller("ann")
    assert Rights().held(ann) == []
    assert not Rights().may_use(ann, a_tool(), None)
    assert Counts().count("http", ann) is None
    assert Counts().limited("http", ann) is None


def test_a_gate_of_another_kind_is_an_error_and_no_gate(tmp_path: Path) -> None:
    gate: Any = "a gate"
    other: Any = None
    making = Making(
        settings=settings(tmp_path),
        servers=other,
        dispatch=other,
        sight=EVERYTHING,
        made={"one": gate},
        former={},
        still=other,
    )
    assert making.gate("one", str) == "a gate"
    with pytest.raises(TypeError, match="gate one is no int"):
        making.gate("one", int)
