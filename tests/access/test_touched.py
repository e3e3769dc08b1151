"""What arguments name is found again where they are others than those that were looked through, and by nobody at once where they are many."""

from __future__ import annotations

from msgspec.structs import replace

from gatewright.access import touched as module
from gatewright.access.touched import Known, looked_through, touched
from gatewright.validators.resources import Resources
from tests.gate_parts import a_tool, a_tool_call

BOUNDS = Resources([["/data/*"]])


async def test_what_was_found_counts_for_those_very_arguments() -> None:
    call = a_tool_call(a_tool(), arguments={"texts": ["/data/x", "word"]})
    found = await looked_through(call, BOUNDS)
    assert found.touches is not None
    assert touched(found, BOUNDS) is found.touches[1]
    assert list(Known(BOUNDS, found.touches[1]).parts(None)) == list(found.touches[1])
    other = replace(found, params={**found.params, "arguments": {"texts": ["/etc/passwd"]}})
    assert touched(other, BOUNDS) != found.touches[1]


async def test_many_texts_are_looked_through_in_slices_alone() -> None:
    many = {"texts": ["word"] * (module._MOST_TEXTS + 1)}
    call = a_tool_call(a_tool(), arguments=many)
    assert touched(call, BOUNDS) is None
    assert touched(await looked_through(call, BOUNDS), BOUNDS) is not None
