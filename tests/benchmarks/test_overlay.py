"""A mistake in a copy of the package is noticed by the group of tests that it breaks, and the copy is as it was afterwards."""

from __future__ import annotations

from pathlib import Path

from benchmarks.overlay import SOURCE, caught, overlaid, twins
from benchmarks.processes import ROOT


def test_the_group_that_fails_is_named(tmp_path: Path) -> None:
    file = SOURCE / "mcp" / "wire" / "codes.py"
    (tmp_path / "test_x.py").write_text(
        "from gatewright.mcp.wire import codes\ndef test_x(): assert not hasattr(codes, 'WRONG')\n"
    )
    (tmp_path / "test_y.py").write_text("def test_y(): pass\n")
    groups = [[str(tmp_path / "test_y.py")], [str(tmp_path / "test_x.py")]]
    text = file.read_text(encoding="utf-8")
    with overlaid() as overlay:
        assert caught(overlay, file, f"{text}\nWRONG = 1\n", groups, 60.0) == 2
        assert caught(overlay, file, text, groups, 60.0) == 0
        assert (overlay / "gatewright" / "mcp" / "wire" / "codes.py").read_text(
            encoding="utf-8"
        ) == text


def test_twins_are_found_by_name() -> None:
    found = {one.name for one in twins(ROOT / "tests" / "mcp" / "client", "server_requests")}
    assert {"test_server_requests.py", "test_server_requests_whose.py"} <= found
