"""What settings say of grants arrives as one table."""

from __future__ import annotations

from pathlib import Path

from gatewright.access.configured_grants import grants_of
from gatewright.config import Settings, load

TEXT = """
[[servers]]
id = "one"
command = "python"
[[servers]]
id = "two"
url = "http://127.0.0.1:1/mcp"
default_policy = "opt-out"
[[grants]]
agent = "a"
server = "one"
tool = "t"
permission = "deny"
expires_at = 2026-01-01T00:00:00Z
"""


def settings(folder: Path) -> Settings:
    path = folder / "mgp.toml"
    path.write_text(TEXT)
    return load(path, environ={"GATEWRIGHT_STATE": str(folder)})


def test_grants_and_default_policies_become_one_table(tmp_path: Path) -> None:
    grants = grants_of(settings(tmp_path))
    before = 1_700_000_000.0
    found = grants.decide("a", "one", "t", before)
    assert (found.permission, found.source) == ("deny", "tool_grant")
    assert str(found.granted_by).startswith("config ")
    assert grants.decide("a", "one", "t", 1_800_000_000.0).source == "default_policy"
    assert grants.decide("b", "two", "x", before).permission == "allow"
