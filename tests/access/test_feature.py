"""Who may have what a tool gave, while its server is away or does not list it any more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.access.feature import _Table
from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants
from gatewright.call import Target
from tests.gate_parts import AGENT


@pytest.mark.parametrize(
    ("grants", "barred", "may"),
    [
        ((Grant(AGENT.id, "srv"),), (), True),
        ((Grant(AGENT.id, "srv", "echo"),), (), True),
        ((Grant(AGENT.id, "srv", "other"),), (), False),
        ((Grant(AGENT.id, "srv"), Grant(AGENT.id, "srv", "echo", permission="deny")), (), False),
        ((Grant(AGENT.id, "srv"),), ("srv",), False),
        ((), (), False),
    ],
)
def test_a_tool_that_is_not_listed_is_judged_by_its_own_grants(
    grants: tuple[Grant, ...], barred: tuple[str, ...], may: bool
) -> None:
    table, permitting = Grants(grants), SimpleNamespace(barred=barred, version=0)
    made: Any = _Table(table, Access(table, lambda: 0.0), permitting)  # type: ignore[arg-type]
    assert made.rules().sight.unlisted(AGENT, Target("srv", "echo")) is may
