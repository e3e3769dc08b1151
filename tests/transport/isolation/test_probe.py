"""The probe outside any sandbox: here it can do what it must not, and says so."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gatewright.transport.isolation import probe


def test_outside_a_sandbox_it_says_what_it_could(tmp_path: Path) -> None:
    """As an ordinary user, or as root in folders of the test: it must not write to those of this machine."""
    canary = tmp_path / "canary"
    canary.write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "_FOLDERS", (str(tmp_path / "new"),))
        patch.setattr(probe, "_FILES", (str(canary),))
        patch.setattr(probe, "_privileges", lambda: iter(["have capabilities"]))
        (tmp_path / "new").mkdir()
        order = {"level": "confined", "unseen": [str(canary), "/no/such/file"]}
        found = [*probe.could(order)]
    assert found[:4] == [
        f"see {canary}",
        f"write to {tmp_path / 'new'}",
        f"open {canary} for writing",
        "have capabilities",
    ]
    assert not (tmp_path / "new" / "canary").exists()


def test_variables_and_users_are_looked_at_where_it_is_strict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "create_connection", _refused)
    order = {"port": 1, "variables": [*os.environ], "root": False}
    assert [*probe._strict(order)] == []
    order |= {"variables": [], "root": True}
    assert [*probe._strict(order)] == [
        "see variables that it was not given",
        "run as the user of the gateway",
    ]


def _refused(*_: object) -> None:
    raise ConnectionRefusedError


def test_it_stands_alone() -> None:
    """In a sandbox there is no package of ours, and nothing but the standard library."""
    text = Path(probe.__file__).read_text(encoding="utf-8")
    assert "gatewright" not in text.replace("gateway", "")
    order = json.dumps({"level": "x", "unseen": ["/"]})
    code = text.replace("yield from _written()", "").replace("yield from _privileges()", "")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, order], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[:: len(done.stdout.splitlines()) - 1] == ["see /", "tried"]
