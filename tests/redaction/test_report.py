from __future__ import annotations

import json

import pytest

from gatewright.redaction.report import REPORT, measure, reported
from gatewright.secret_scanning import Clean
from tests.gate_parts import a_call

FOUND = {"original_size": 9, "sanitized_size": 14, "redactions_applied": {"a": 2, "b": 1}}


@pytest.mark.parametrize("rules", [["a", "b", "a"], {"a": 2, "b": 1}])
def test_sizes_and_places_stand_in_the_result_and_in_the_facts(rules: list[str]) -> None:
    """GRH-out-4."""
    clean, call = Clean(b'{"_meta":{}, }'.replace(b", ", b"  "), rules), a_call()
    measure(call, b"x" * 9, clean)
    assert call.facts == {"redaction": FOUND}
    assert json.loads(reported(b"x" * 9, clean)) == {"_meta": {REPORT: FOUND}}


def test_a_text_that_has_its_report_already_is_as_long_as_it_was_without() -> None:
    call = a_call()
    measure(call, b"x" * 9, Clean(b"{...}" * 9, {"a": 2, "b": 1}, 14))
    assert call.facts == {"redaction": FOUND}
