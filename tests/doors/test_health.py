"""Whether the process lives, whether it serves, and what it has done."""

from __future__ import annotations

from tests.doors.house import House


async def test_a_living_process_says_so_without_being_asked_who() -> None:
    async with House(anonymous=False) as house:
        answered = await house.open(method="GET", path="/livez").whole()
        assert (answered.status, answered.body) == (200, b"ok\n")
