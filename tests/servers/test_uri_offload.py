"""Links of large results read beside the loop: the same answers as at once, and refusals that say what was too much."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gatewright.app.worker import MODULE
from gatewright.call import Failure
from gatewright.servers import uri_offload
from gatewright.servers.uri_offload import UriReaders
from gatewright.transport.workers import Busy, Overtime, Workers
from tests.gate_parts import a_call, a_tool, a_tool_call
from tests.worker_parts import Never


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged in the end may take as long as a busy machine takes for it."""
    monkeypatch.setattr(uri_offload, "READ_S", 240)


@pytest_asyncio.fixture
async def beside() -> AsyncIterator[UriReaders]:
    workers = Workers(MODULE)
    yield UriReaders(workers)
    await workers.close()


async def test_links_of_a_large_result_are_read_and_renamed_beside_the_loop(
    beside: UriReaders,
) -> None:
    raw = b'{"content":[{"type":"resource_link","uri":"x://a","name":"n"}]}'
    call = a_tool_call(a_tool(), arguments={})
    assert await beside.named(call, raw) == ["x://a"]
    found = await beside.led(call, raw, {"x://a": "y://a"})
    assert found == raw.replace(b"x:", b"y:")
    broken = await beside.named(call, b"{")
    assert isinstance(broken, Failure)
    assert broken.reason == "output_invalid"


@pytest.mark.parametrize(
    ("problem", "reason"),
    [(Busy(), "resource_exhausted"), (Overtime(), "output_invalid")],
)
async def test_links_that_cannot_be_read_in_time_are_a_failure(
    problem: Exception, reason: str
) -> None:
    found = await UriReaders(Never(problem)).named(a_call("tool"), b"{}")
    assert isinstance(found, Failure)
    assert found.reason == reason
