"""Whom credentials of this process's own making let in."""

from __future__ import annotations

from pathlib import Path

from gatewright.call import Caller
from gatewright.config import load
from gatewright.identity.gate import LOCAL
from gatewright.identity.own_credentials import own_callers


def test_each_is_of_whom_it_was_made_for_and_an_empty_one_of_nobody(tmp_path: Path) -> None:
    (tmp_path / "mgp.toml").write_text("")
    settings, host = load(tmp_path / "mgp.toml"), Caller("cursor", "owner")
    found = own_callers({"operator": "o", "local": "l"}, settings, {"l~cursor": host})
    assert found == {"o": Caller("local", "operator"), "l": LOCAL, "l~cursor": host}
    assert own_callers({"operator": "", "local": "l"}, settings, {}) == {"l": LOCAL}
