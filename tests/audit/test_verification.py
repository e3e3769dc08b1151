"""What a verification says, as JSON."""

import msgspec

from gatewright.audit.verification import KnownRecord, Problem, Verification


def test_a_verification_is_written_with_its_problem() -> None:
    found = Verification(2, 2, "ab", Problem("audit.db", 3, "is missing"))
    assert msgspec.to_builtins(found) == {
        "records": 2,
        "last": 2,
        "hash": "ab",
        "problem": {"place": "audit.db", "seq": 3, "what": "is missing"},
        "pruned": 0,
        "unfinished": 0,
    }
    assert KnownRecord(1, b"x", "--kept").name == "--kept"
