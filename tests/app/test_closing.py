"""What was opened is closed, in its order, whatever fails in between."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from gatewright.app import gateway
from gatewright.app.closing import close_all
from gatewright.app.gateway import Gateway
from gatewright.config import load
from gatewright.storage.sqlite import DatabaseError

NAMES = (
    "app",
    "administration",
    "supervisor",
    "_server_tasks",
    "_anchoring",
    "callers",
    "_workers",
    "audit",
    "database",
)


class Part:
    """Notes that it was closed; may fail at it."""

    def __init__(self, name: str, said: list[str], *, fails: bool = False, waits: bool = False):
        self.name, self.said, self.fails, self.waits = name, said, fails, waits

    def _note(self, what: str) -> Any:
        self.said.append(f"{self.name} {what}".strip())
        if self.fails:
            raise OSError(self.name)
        return self._waited() if self.waits else None

    async def _waited(self) -> None:
        self.said[-1] += " waited for"

    def close(self) -> Any:
        return self._note("")

    def stop(self) -> Any:
        return self._note("stop")

    def cancel(self) -> Any:
        return self._note("cancel")

    def __await__(self) -> Generator[None]:
        self.said.append(f"{self.name} over")
        yield


def whole(said: list[str], *, fails: bool) -> dict[str, Any]:
    """Every part of a gateway."""
    parts: dict[str, Any] = {name: Part(name, said, fails=fails) for name in NAMES}
    for name, key in (("feature", "features"), ("around", "_around"), ("task", "_following")):
        parts[key] = [Part(f"{name}{n}", said, fails=fails) for n in range(2)]
    return parts


@pytest.mark.parametrize("fails", [False, True])
async def test_all_is_closed_in_its_order_also_where_each_step_fails(fails: bool) -> None:
    said: list[str] = []
    if fails:
        with pytest.raises(OSError, match="database"):
            await close_all(whole(said, fails=True))
    else:
        await close_all(whole(said, fails=False))
    around = ["feature1", "around1", "feature0", "around0"]
    assert said == [
        *("task0 cancel", "task1 cancel", "task0 over", "task1 over"),
        *("app", "around0 stop", "around1 stop"),
        *(*NAMES[1:5], *around, *NAMES[5:]),
    ]


async def test_what_takes_its_time_is_waited_for() -> None:
    said: list[str] = []
    await close_all({"app": Part("app", said, waits=True)})
    assert said == ["app waited for"]


async def test_what_follows_the_state_is_over_before_anything_that_it_uses_is_closed() -> None:
    """Whatever it still does when it is cancelled, and though it fails at it."""
    said: list[str] = []

    async def follow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            said.append("followed")
            raise OSError("it fails at it")

    task = asyncio.create_task(follow())
    await asyncio.sleep(0)
    await close_all({**whole(said, fails=False), "_following": [task]})
    assert said[:2] == ["followed", "app"]


async def test_a_gateway_whose_end_is_cancelled_closes_its_state_when_all_is_said_in_it(
    tmp_path: Path,
) -> None:
    """Closed under a statement of another thread, it takes the process along."""
    file = tmp_path / "mgp.toml"
    file.write_text(f'[storage]\npath = "{tmp_path / "state"}"\n[gateway]\nport = 0\n')
    one = await Gateway(load(file)).__aenter__()
    loop, cancelled = asyncio.get_running_loop(), threading.Event()
    steps: list[object] = []

    def late(_: object) -> None:
        loop.call_soon_threadsafe(ending.cancel)
        loop.call_soon_threadsafe(loop.call_later, 0.1, cancelled.set)
        assert cancelled.wait(20)
        steps.append(one.database.heads().keys() >= {"keys"})

    one.audit.ended.listen(late)
    ending = asyncio.create_task(one.__aexit__())
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert steps == [True]
    with pytest.raises(DatabaseError):
        one.database.heads()
    async with Gateway(load(file)):
        pass


async def test_of_what_is_not_there_yet_nothing_is_asked() -> None:
    said: list[str] = []
    parts = whole(said, fails=False)
    del parts["_around"], parts["app"], parts["supervisor"], parts["_following"]
    del parts["administration"]
    await close_all(parts)
    assert said == [*NAMES[3:5], "feature1", "feature0", *NAMES[5:]]


@pytest.mark.parametrize("step", ["anchoring_of", "features_of", "prepare", "supervisor_of"])
async def test_a_start_that_fails_gives_everything_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The state folder, which one gateway at a time may hold, too."""
    file = tmp_path / "mgp.toml"
    file.write_text(f'[storage]\npath = "{tmp_path / "state"}"\n[gateway]\nport = 0\n')

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("broken on purpose")

    closed = []

    async def watched(parts: dict[str, Any]) -> None:
        await close_all(parts)
        closed.append(step)

    with monkeypatch.context() as broken:
        broken.setattr(gateway, "close_all", watched)
        broken.setattr(gateway, step, fails)
        with pytest.raises(RuntimeError, match="broken on purpose"):
            await Gateway(load(file)).__aenter__()
        assert closed == [step]  # without an error
    async with Gateway(load(file)):
        pass
