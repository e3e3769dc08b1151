"""What is said to a worker, and what comes back."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from gatewright.transport.worker_requests import BUSY_MS, ordered, too_busy
from gatewright.transport.workers import Busy, Workers
from tests.gate_parts import AGENT, a_call
from tests.worker_parts import Never


class Echo(Workers):
    """Says what it was told."""

    async def run(
        self, who: Hashable, head: bytes, load: bytes, seconds: int = 5
    ) -> tuple[bytes, bytes]:
        assert (who, seconds) == (AGENT.who, 3)
        return head, load


async def test_an_order_is_its_callers_and_comes_back_decoded() -> None:
    found = await ordered(Echo("unused"), a_call(), {"do": "x"}, b"text", 3)
    assert found == ({"do": "x"}, b"text")


async def test_what_is_too_much_is_refused_with_a_time_to_come_again() -> None:
    with pytest.raises(Busy):
        await ordered(Never(Busy()), a_call(), {}, b"", 3)
    assert (too_busy().reason, too_busy().retry_after_ms) == ("resource_exhausted", BUSY_MS)
