"""A gateway as the business of a whole process: it ends when it is told to, and says why it cannot begin."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest

from gatewright.app.run import run
from gatewright.config import load
from gatewright.storage.errors import StoreBusyError
from gatewright.storage.lock import FolderLock
from tests.behaviour.gateway import config, running


def test_a_process_that_is_told_to_stop_stops_and_says_nothing_more(tmp_path: Path) -> None:
    with running(tmp_path, config()) as gateway:
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(30) == 0
        assert not (tmp_path / "state" / "gateway.json").exists()


def test_a_folder_that_another_gateway_uses_is_named(tmp_path: Path) -> None:
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{tmp_path}/state"\n')
    settings = load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)})
    (tmp_path / "state").mkdir()
    taken = FolderLock(tmp_path / "state")
    with pytest.raises(StoreBusyError):
        run(settings)
    taken.release()


def test_a_gateway_that_runs_looks_for_cycles_rarely_and_not_among_what_its_start_left(
    tmp_path: Path,
) -> None:
    (tmp_path / "mgp.toml").write_text(
        f'[gateway]\nport = 0\n\n[storage]\npath = "{tmp_path}/state"\n'
    )
    settings = load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)})
    before, seen = gc.get_threshold(), []

    def stop(_: object) -> None:
        seen.append((gc.get_threshold()[0], gc.get_freeze_count() > 10_000))
        os.kill(os.getpid(), signal.SIGTERM)

    run(settings, on_ready=stop)
    assert seen == [(20_000, True)]
    assert gc.get_threshold() == before
    assert (
        gc.get_freeze_count() > 10_000
    )  # to the end of the process, which looks through all that is not
