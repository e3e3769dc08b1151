from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import Query
from gatewright.audit.trail import AuditLog
from gatewright.call import Caller, Failure, Refusal
from gatewright.dialects.groundhog.refusal_log import Noting
from gatewright.dialects.groundhog.types import Refused

ANN = Caller("ann", key_id="k1")


@pytest.fixture
async def audit(tmp_path: Path) -> AsyncIterator[AuditLog]:
    log = AuditLog(
        tmp_path, clock=lambda: 1.0, monotonic=lambda: 1.0, random=lambda size: b"r" * size
    )
    yield log
    await log.close()


def refused(caller: Caller | None, trace: str, outcome: Refusal | Failure) -> Refused:
    return Refused(caller, "groundhog", "tools/burn", trace, outcome)


async def test_a_refused_request_is_found_under_its_trace(audit: AuditLog, tmp_path: Path) -> None:
    """GRH-err-11 and GRH-aud-6."""
    note = Noting(audit, lambda: 0.0)
    assert note(refused(ANN, "t1", Failure("method_not_found", "there is no such method")))
    assert note(refused(None, "t2", Refusal("auth_required", "nobody is authenticated")))
    reader = AuditReader(tmp_path)
    (first,) = reader.query(Query(trace_id="t1"))
    (second,) = reader.query(Query(trace_id="t2"))
    assert first["actor"] == {"type": "agent", "id": "ann", "key_id": "k1"}
    assert (first["event_type"], first["outcome"]) == ("dev.gatewright.refused", "error")
    assert first["details"] == {
        "door": "groundhog",
        "method": "tools/burn",
        "reason": "method_not_found",
        "message": "there is no such method",
    }
    assert (second["actor"]["id"], second["outcome"]) == ("anonymous", "denied")


async def test_nobody_known_cannot_fill_the_disk(audit: AuditLog) -> None:
    """GRH-test-6: after so many in a minute nothing more of strangers is recorded, or answered."""
    now = [0.0]
    note = Noting(audit, lambda: now[0])
    flaw = Refusal("auth_required", "no")
    answers = [note(refused(None, str(number), flaw)) for number in range(200)]
    assert answers == [True] * 120 + [False] * 80
    assert note(refused(ANN, "mine", flaw))
    now[0] = 60.0
    assert note(refused(None, "later", flaw))


async def test_wrong_credentials_of_a_known_caller_are_recorded_once_a_minute_with_a_count(
    audit: AuditLog, tmp_path: Path
) -> None:
    """A client with an old token tries it again and again."""
    now = [0.0]
    note = Noting(audit, lambda: now[0])
    wrong, other = Refusal("auth_failed", "no"), Refusal("permission_denied", "no")
    for at in (*(0.0,) * 50, 59.0, 60.0, 61.0):
        now[0] = at
        assert note(refused(ANN, "wrong", wrong))
    assert note(refused(Caller("bob"), "bob", wrong))
    for _ in range(3):
        assert note(refused(ANN, "other", other))
    reader = AuditReader(tmp_path)
    found = reader.query(Query(trace_id="wrong"))
    assert sorted(one["details"].get("left_out", 0) for one in found) == [0, 50]
    assert len(list(reader.query(Query(trace_id="bob")))) == 1
    assert len(list(reader.query(Query(trace_id="other")))) == 3


async def test_no_number_of_callers_is_remembered_for_ever(audit: AuditLog) -> None:
    note = Noting(audit, lambda: 0.0)
    for number in range(1200):
        assert note(refused(Caller(f"a{number}"), "t", Refusal("auth_failed", "no")))
    assert len(note._wrong) == 1000
