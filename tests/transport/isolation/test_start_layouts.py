"""However a gateway's files lie around what an isolated server may write to, none of them is read, changed, replaced or made by it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

LAYOUTS = int(os.environ.get("GATEWRIGHT_SANDBOX_LAYOUTS", "25"))
SETTLED_S = 300
USERS = ("root", "ordinary") if os.geteuid() == 0 else ("ordinary",)


def tried(user: str, seeds: list[int]) -> list[dict[str, Any]]:
    order = json.dumps({"user": user, "seeds": seeds})
    done = subprocess.run(
        [sys.executable, "-m", "tests.transport.isolation.layouts", order],
        capture_output=True,
        text=True,
        timeout=SETTLED_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert "flaw" not in found, found
    return list(found["tried"])


@pytest.mark.sandbox
@pytest.mark.parametrize("user", USERS)
def test_no_layout_lets_a_server_configure_its_gateway(user: str) -> None:
    """Nor where it has lived before, and what it may only read stays what it was."""
    found = tried(user, [*range(LAYOUTS)])
    started = [one for one in found if "kept down" not in one]
    assert [one for one in started if one["changed"] or one["could"]] == []
    # What is not the gateway's stays the server's to write.
    assert [one for one in started if not one["free"]] == []
    assert len(started) > len(found) / 2, [one["kept down"] for one in found if "kept down" in one]
