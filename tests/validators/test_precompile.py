"""What calls look for is compiled before they come."""

from __future__ import annotations

import asyncio

from gatewright.patterns import Pattern, uncompiled
from gatewright.secret_scanning import prepare, without_secrets
from gatewright.secret_scanning.patterns import compiled
from gatewright.validators.precompile import prepare_slowly


async def test_patterns_are_compiled_with_turns_for_others() -> None:
    fresh = [Pattern(f"never-used-{one}") for one in range(20)]
    assert set(fresh) <= set(uncompiled())
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await prepare_slowly()
    task.cancel()
    assert uncompiled() == []
    assert turns >= 20
    assert fresh[0].fits("never-used-0")


def test_what_logs_are_cleaned_with_is_there_before_the_first_line() -> None:
    prepare()
    before = compiled()
    assert without_secrets(b"password=hunter2hunter2") != b"password=hunter2hunter2"
    assert compiled() == before
