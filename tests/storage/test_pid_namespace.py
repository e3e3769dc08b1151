"""To whom the process ids of this machine or container belong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gatewright.storage.pid_namespace import pid_namespace


def test_processes_of_one_container_are_of_one_namespace() -> None:
    number = Path("/proc/self/ns/pid").stat().st_ino
    assert (
        pid_namespace() == f"pid:[{number}]" == str(Path(f"/proc/{os.getpid()}/ns/pid").readlink())
    )


def test_where_the_system_does_not_say_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: Path) -> Path:
        raise FileNotFoundError(self)

    monkeypatch.setattr(Path, "readlink", missing)
    assert pid_namespace() == ""
