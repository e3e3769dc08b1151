"""Compiles the regular expressions (RE2) that nothing has used yet, in the background after the start, before calls need them."""

from __future__ import annotations

import asyncio

from gatewright.patterns import uncompiled

__all__ = ["prepare_slowly"]


async def prepare_slowly() -> None:
    """Compile what validators look for, one pattern after the other: some milliseconds each, with a turn for others between them."""
    for one in uncompiled():
        one.ready()
        await asyncio.sleep(0)
