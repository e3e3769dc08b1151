"""Edits of `mgp.toml` from the console: what would not load, or cannot be written, is an error that says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gatewright.audit.records import Subject
from gatewright.config.edit import set_server_value
from gatewright.console.config_edits import edit, recorded
from gatewright.console.operations import ApiError

_TEXT = '# mine\n[[servers]]\nid = "a"\ncommand = "true"\n'


async def test_one_value_is_changed_and_all_else_stays(tmp_path: Path) -> None:
    file = tmp_path / "mgp.toml"
    file.write_text(_TEXT)
    await edit(file, lambda draft: set_server_value(draft, "a", "enabled", False))
    assert file.read_text() == _TEXT + "enabled = false\n"


@pytest.mark.parametrize("value", ["wrong", -1])
async def test_what_would_not_load_is_not_written(tmp_path: Path, value: object) -> None:
    file = tmp_path / "mgp.toml"
    file.write_text(_TEXT)
    with pytest.raises(ApiError) as found:
        await edit(file, lambda draft: set_server_value(draft, "a", "enabled", value))
    assert (found.value.status, bool(found.value.hint)) == (409, True)
    assert file.read_text() == _TEXT


async def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(ApiError) as found:
        await edit(tmp_path / "none.toml", lambda draft: None)
    assert "none.toml" in f"{found.value.message} {found.value.hint}"


@pytest.mark.parametrize(
    ("problem", "code"), [(ApiError(409, "file", "no"), "file"), (OSError("no"), "internal")]
)
def test_what_failed_is_not_only_recorded_as_done(problem: Exception, code: str) -> None:
    said: list[tuple[str, Any]] = []

    class Trail:
        def event(self, kind: str, *, outcome: str = "success", **more: Any) -> None:
            said.append((outcome, more["details"].get("problem")))

    trail: Any = Trail()
    with recorded(trail, "me", "x", Subject(name="y"), "why"):
        pass
    assert said == [("success", None)]
    with pytest.raises(type(problem)), recorded(trail, "me", "x", Subject(name="y")):
        raise problem
    assert said[1:] == [("success", None), ("error", code)]
