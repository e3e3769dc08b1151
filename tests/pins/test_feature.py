"""What definitions are looked through for is compiled beside the event loop, once, and where something is pinned."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gatewright.app.gateway import Gateway
from gatewright.config import load
from gatewright.pins import feature
from gatewright.pins.feature import PinsFeature
from tests.console.running import DEMO


def _settings(folder: Path, pin: str) -> Path:
    file = folder / "mgp.toml"
    text = DEMO.replace(
        "[servers.tools.delete_all_notes]", f'pin = "{pin}"\n[servers.tools.delete_all_notes]'
    )
    file.write_text(f'[storage]\npath = "{folder}/state"\n[console]\nenabled = false\n{text}')
    return file


@pytest.mark.parametrize(("pin", "times"), [("first-use", 1), ("off", 0)])
async def test_signals_are_compiled_once_and_by_another_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pin: str, times: int
) -> None:
    """On the loop every call would stand still meanwhile."""
    threads: list[threading.Thread] = []
    monkeypatch.setattr(feature, "prepare", lambda: threads.append(threading.current_thread()))
    settings = load(_settings(tmp_path, pin), environ={"HOME": str(tmp_path)})
    async with Gateway(settings) as gateway:
        await gateway.supervisor.settled()
        assert gateway.supervisor.catalogue.shelf("demo").tools
        pins = next(one for one in gateway.features if isinstance(one, PinsFeature))
        await pins.look_ahead("demo", (), settings)
    assert len(threads) == times
    assert threading.main_thread() not in threads
