from __future__ import annotations

from pathlib import Path

from gatewright.config.build import build
from gatewright.config.builtin import Builtin
from gatewright.config.documents import parse


def roots(text: str, folder: Path) -> tuple[str, ...]:
    found = build([parse(text, folder / "mgp.toml")], {}, folder / "state")
    return found.builtin.directory_list.roots


def test_roots_begin_at_the_folder_of_the_file(tmp_path: Path) -> None:
    """GRH-msg-7."""
    text = '[builtin.directory_list]\nroots = [".", "src", "/srv"]\n'
    assert roots(text, tmp_path) == (str(tmp_path), str(tmp_path / "src"), "/srv")


def test_nothing_is_offered_unless_somebody_says_where(tmp_path: Path) -> None:
    assert roots("", tmp_path) == Builtin().directory_list.roots == ()


def test_grants_for_what_is_shipped_are_no_mistake(tmp_path: Path) -> None:
    grant = '[[grants]]\nagent = "ann"\nserver = "gatewright"\n'
    text = '[builtin.directory_list]\nroots = ["."]\n' + grant
    assert build([parse(text, tmp_path / "mgp.toml")], {}, tmp_path).warnings == ()
    (warning,) = build([parse(grant, tmp_path / "mgp.toml")], {}, tmp_path).warnings
    assert "no server has this id" in str(warning)
