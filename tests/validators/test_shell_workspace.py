"""What is inside the workspace, and what is not."""

from __future__ import annotations

import pytest

from gatewright.validators.shell_workspace import (
    is_elsewhere,
    is_harmless_url,
    is_inside,
    is_written_inside,
)

OUTSIDE = ["/etc/x", "~", "~/x", "../x", "a/../../x", "C:\\x", "https://x/a", "$X/a", "\\\\x\\y"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_what_leads_elsewhere_is_outside(path: str) -> None:
    assert not is_inside(path)
    assert is_elsewhere(path)
    assert is_elsewhere(f"--config={path}")
    assert not is_written_inside(path)


@pytest.mark.parametrize("path", ["a", "src/a.py", "./a", ".env", "a b", "a..b", "**/*.py"])
def test_what_is_relative_is_inside(path: str) -> None:
    assert is_inside(path)
    assert not is_elsewhere(path)


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/x",
        "a/.bashrc",
        ".envrc",
        ".claude/settings.json",
        ".vscode/tasks.json",
        "x/authorized_keys",
    ],
)
def test_what_runs_later_is_not_written(path: str) -> None:
    assert is_inside(path)
    assert not is_written_inside(path)


def test_files_below_tmp_may_be_written_but_not_all_of_it() -> None:
    assert is_written_inside("/tmp/x/a.txt")
    assert not is_written_inside("/tmp")
    assert not is_written_inside("/tmp/*")
    assert not is_written_inside("/tmp/../etc/x")


def test_only_this_machine_is_a_harmless_address() -> None:
    assert is_harmless_url("http://localhost:8080/a")
    assert not is_harmless_url("http://localhost.evil.example/")
    assert not is_harmless_url("http://127.0.0.1@evil.example/")
