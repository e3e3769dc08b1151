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
