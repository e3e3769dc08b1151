"""Work that many want at once is done once, and who gives up stops it for nobody."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.transport.once import Once


async def test_what_is_under_way_is_waited_for_and_begun_again_when_it_is_over() -> None:
    begun: list[str] = []

    async def work(key: str) -> None:
        begun.append(key)
        await asyncio.sleep(0)

    once: Once[str] = Once()
    await asyncio.gather(*(once.once(key, work) for key in ("a", "b", "a")))
    await asyncio.sleep(0)
    await once.once("a", work)
    assert begun == ["a", "b", "a"]


async def test_who_gives_up_ends_it_for_no_other() -> None:
    async def work(key: str) -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    once: Once[str] = Once()
    first, second = (asyncio.ensure_future(once.once("a", work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await second
    assert first.cancelled()


async def test_what_it_raises_each_of_them_hears() -> None:
    async def work(key: str) -> None:
        raise ValueError(key)

    once: Once[str] = Once()
    found = await asyncio.gather(*(once.once("a", work) for _ in range(2)), return_exceptions=True)
    assert [str(one) for one in found] == ["a", "a"]
    with pytest.raises(ValueError, match="b"):
        await once.once("b", work)
