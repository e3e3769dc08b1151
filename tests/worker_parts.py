"""Workers that never do anything, for tests of who asks them."""

from __future__ import annotations

from collections.abc import Hashable

from gatewright.transport.workers import Workers

__all__ = ["Never"]


class Never(Workers):
    """Workers that are too busy, or never ready."""

    def __init__(self, problem: Exception) -> None:
        super().__init__("unused")
        self._problem = problem

    async def run(
        self, who: Hashable, head: bytes, load: bytes, seconds: int = 5
    ) -> tuple[bytes, bytes]:
        raise self._problem
