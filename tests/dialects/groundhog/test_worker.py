from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gatewright.dialects.groundhog.worker import NoIsolation, isolate

SECONDS = 60


def served(**order: Any) -> dict[str, Any]:
    """What the program answers to one order."""
    whole = {"tool": "directory_list", "level": "process", "arguments": {"path": "."}, **order}
    done = subprocess.run(
        [sys.executable, "-I", "-m", "gatewright.dialects.groundhog.worker"],
        input=json.dumps(whole).encode(),
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_order_is_answered_with_what_the_tool_said(tmp_path: Path) -> None:
    """GRH-reg-6."""
    (tmp_path / "a").touch()
    found = served(roots=[str(tmp_path)])
    assert found.pop("memory") > 1024 * 1024
    assert [one["name"] for one in found["result"]["entries"]] == ["a"]
    outside = served(roots=[str(tmp_path)], arguments={"path": "/etc"})
    assert outside["not_allowed"] is True
    missing = served(roots=[str(tmp_path)], arguments={"path": "no"})
    assert missing["unlistable"] == "no such file or directory"


def test_a_machine_without_namespaces_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """GRH-reg-7."""
    monkeypatch.setattr(sys, "platform", "plan9")
    with pytest.raises(NoIsolation, match="no namespaces on plan9"):
        isolate([])
