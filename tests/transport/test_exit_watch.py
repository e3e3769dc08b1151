"""An exit is noticed once, with and without a descriptor for it."""

from __future__ import annotations

import asyncio
import os
import subprocess

import pytest

from gatewright.transport.exit_watch import ExitWatch


@pytest.mark.parametrize("descriptors", [True, False])
async def test_an_exit_is_told_once(descriptors: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not descriptors:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    seen: list[int | None] = []
    process = subprocess.Popen(["sleep", "0.1"])  # noqa: ASYNC220 - what is watched
    watch = ExitWatch(process, lambda: seen.append(process.poll()))
    watch.start()
    async with asyncio.timeout(20):
        while not seen:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert seen == [0]


@pytest.mark.parametrize("descriptors", [True, False])
async def test_a_watch_that_is_called_off_tells_nothing(
    descriptors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not descriptors:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    seen: list[bool] = []
    process = subprocess.Popen(["sleep", "0.1"])  # noqa: ASYNC220 - what is watched
    watch = ExitWatch(process, lambda: seen.append(True))
    watch.start()
    watch.cancel()
    watch.cancel()
    await asyncio.sleep(0.3)
    assert (process.wait(), seen) == (0, [])
