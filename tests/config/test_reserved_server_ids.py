"""Which ids of servers are the gateway's own, or read as one."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.config.reserved_server_ids import OWN, begins_as_ours, taken_for

_TWINS = {
    "a": "aA4",
    "e": "eE3",
    "g": "gG",
    "i": "iIl1",
    "l": "lLI1",
    "o": "oO0",
    "w": ["w", "W", "vv"],
}
_TWINS |= {"m": ["m", "M", "rn"], "s": "sS5"}


@given(st.data(), st.sampled_from(OWN))
def test_every_case_every_separator_and_every_twin_of_a_letter_is_taken(
    data: st.DataObject, own: str
) -> None:
    letters = [data.draw(st.sampled_from([*_TWINS.get(one, [one, one.upper()])])) for one in own]
    between = [data.draw(st.sampled_from(["", "", "-", "_", "."])) for _ in own]
    made = "".join(itertools.chain.from_iterable(zip(letters, between, strict=True)))
    assert taken_for(made) == own


@pytest.mark.parametrize("name", ["gаtewright", "ｍｇｐ", "kеrnel"])
def test_letters_of_other_scripts_that_look_the_same_are_taken(name: str) -> None:
    assert taken_for(name)


@pytest.mark.parametrize(
    "name", ["local", "github", "files", "gatewright-upstream", "locale", "mgp2", "colonel"]
)
def test_other_names_are_free(name: str) -> None:
    assert taken_for(name) == ""


@pytest.mark.parametrize(
    "name", ["mgp_approve", "gatewright_confirm", "MGP.x", "Gate-Wright__x", "gatevvright/x", "mgp"]
)
def test_a_tool_that_is_called_as_ours_are_is_seen(name: str) -> None:
    assert begins_as_ours(name)


@pytest.mark.parametrize("name", ["mgprint", "image_read", "gate_keeper", "read_mgp", "", "_"])
def test_a_tool_of_another_name_is_not(name: str) -> None:
    assert not begins_as_ours(name)
