"""A public fuzzer finds nothing at the REST door that its own document does not say."""

from __future__ import annotations

import pytest

from benchmarks.openapi_fuzz import fuzzed

CASES = 300


@pytest.mark.peers
@pytest.mark.timeout(300)
def test_the_document_and_the_door_agree_in_every_case() -> None:
    """GGEN-oas-1, GGEN-oas-3, GGEN-p4-6: no 5xx, no answer that the document does not have; 20,000 cases by
    `python -m benchmarks.openapi_fuzz`."""
    made = 0
    for count, fine, said in fuzzed(CASES):
        assert fine, said
        made += count
    assert made >= CASES
