"""Names that look like those of the gateway's own participants, by letters that nobody sees and by case."""

from __future__ import annotations

import pytest

from gatewright.rooms.policy import Policy

UNSEEN = "\ufe0f \u034f \u3164 \u200b \u200d \u2060 \u00ad \u115f \uffa0 \u180e \u17b4 \U000e0100 \U000e0041"


@pytest.mark.parametrize("char", UNSEEN.split(" "))
def test_a_letter_that_nobody_sees_makes_no_other_name(char: str) -> None:
    policy = Policy(reserved=("gatewright", "orchestrator"))
    for name in (f"gatewright{char}", f"g{char}atewright", f"{char}Orchestrator"):
        assert policy.is_reserved(name), ascii(name)


def test_a_letter_that_is_confused_in_the_other_case_makes_no_other_name() -> None:
    policy = Policy(reserved=("gatewright", "orchestrator"))
    for name in ("GATEWRlGHT", "GATEWR1GHT", "GATEWR|GHT", "0RCHESTRAT0R", "gatewri\u0261ht"):
        assert policy.is_reserved(name), name
    for name in ("gate", "gatewrights", "ann", "orchestra"):
        assert not policy.is_reserved(name), name
