"""A stream of incoming messages that also writes them down, for either generation of the SDK."""

from __future__ import annotations

from typing import Any

__all__ = ["Tapped"]


class Tapped:
    """Stands in for a transport's read stream; each message ends in `frames` as a wire object."""

    def __init__(self, inner: Any, frames: list[Any]) -> None:
        self._inner = inner
        self._frames = frames

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> Tapped:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *problem: object) -> Any:
        return await self._inner.__aexit__(*problem)

    def __aiter__(self) -> Tapped:
        return self

    async def __anext__(self) -> Any:
        return self._kept(await self._inner.__anext__())

    async def receive(self) -> Any:
        """The next message."""
        return self._kept(await self._inner.receive())

    def _kept(self, item: Any) -> Any:
        message = getattr(item, "message", None)
        if message is not None:
            self._frames.append(message.model_dump(mode="json", by_alias=True))
        return item
