"""Checks are made once at a time, in a thread, and not again for ten minutes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from gatewright.audit.verification import Problem, Verification
from gatewright.cli.finding import Finding
from gatewright.console.audit_verifying import Verifying
from gatewright.console.changes import Changes
from gatewright.console.dependencies import Dependencies
from gatewright.console.health import Findings, Health, Overview
from gatewright.feature import Examination


class Rig:
    """Health over a gateway without servers; the clock stands still."""

    def __init__(self, fault: str | None = None) -> None:
        self.now = 1000.0
        self.looks = 0
        self.breaks = False
        self.verifying = Verifying(self._prove, lambda: self.now, lambda: None)
        ground = SimpleNamespace(
            of=lambda kind: Examination(self._examine),
            audit=SimpleNamespace(fault=fault),
            now=SimpleNamespace(servers=SimpleNamespace(servers={})),
            settings=SimpleNamespace(storage=SimpleNamespace(path=Path("/nowhere"))),
        )
        parts: Any = SimpleNamespace(
            ground=ground, clock=lambda: self.now, changes=Changes(time.time)
        )
        self.health = Health(cast("Dependencies", parts), self.verifying)

    async def _prove(self) -> Verification:
        return Verification(records=2, last=2, hash="h", problem=Problem("rows", 3, "is odd"))

    def _examine(self) -> list[Finding]:
        self.looks += 1
        if self.breaks:
            raise OSError("a test")
        return [Finding(check="x", subject="y", level="warning", what="is odd", fix="mend it")]

    async def overview(self) -> Overview:
        return await self.health.overview(Findings())

    async def looked(self) -> None:
        while (await self.overview()).looking:
            await asyncio.sleep(0.01)


async def test_checks_are_made_once_until_they_are_old() -> None:
    rig = Rig()
    assert (await rig.overview()).looked is None
    for _ in range(3):
        rig.health.look()
    await rig.looked()
    rig.health.look()
    assert (rig.looks, (await rig.overview()).looking) == (1, False)
    assert [one.what for one in (await rig.overview()).things] == ["is odd"]
    rig.health.look(anew=True)
    assert not (await rig.overview()).looking  # they were made just now
    rig.now += 4
    rig.health.look(anew=True)
    await rig.looked()
    rig.now += 601
    rig.health.look()
    await rig.looked()
    assert rig.looks == 3


async def test_a_record_that_cannot_be_written_is_the_first_thing() -> None:
    (thing,) = (await Rig("the disk is full").overview()).things
    assert (thing.level, thing.why) == ("problem", "the disk is full")


async def test_checks_that_break_are_said_and_not_begun_with_every_page() -> None:
    rig = Rig()
    rig.breaks = True
    for _ in range(3):
        rig.health.look()
        await rig.looked()
    found = await rig.overview()
    assert (rig.looks, found.looked, [one.check for one in found.things]) == (1, 1000.0, ["doctor"])
    rig.breaks = False
    rig.health.look(anew=True)
    assert not (await rig.overview()).looking  # they were made just now
    rig.now += 4
    rig.health.look(anew=True)
    await rig.looked()
    assert [one.what for one in (await rig.overview()).things] == ["is odd"]


async def test_a_verification_is_known_here_whoever_asked_for_it() -> None:
    rig = Rig()
    rig.verifying.begin("ann")
    assert (await rig.overview()).verifying
    while (await rig.overview()).verifying:
        await asyncio.sleep(0)
    found = await rig.overview()
    assert found.chain is not None
    assert (found.chain.last, found.things[0].what) == (2, "is not whole")
    rig.health.verify("bob")
    assert not (await rig.overview()).verifying
