"""Files of `[redaction] rules`: found from the folder of the configuration, read once, and refused with file and rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import SettingsError, load
from gatewright.config.changes import changes
from gatewright.config.redaction_rules import files_of
from gatewright.config.source import FileSource

RULE = "[[rules]]\nid = 'acme-token'\nregex = '''acme_[a-z0-9]{16}'''\n"


def written(folder: Path, rules: str, *names: str) -> Path:
    file = folder / "mgp.toml"
    (folder / "ours.toml").write_text(rules)
    listed = ", ".join(f'"{one}"' for one in names or ("ours.toml",))
    file.write_text(f"[redaction]\nrules = [{listed}]\n")
    return file


def test_rules_are_read_from_the_folder_of_the_file(tmp_path: Path) -> None:
    settings = load(written(tmp_path, RULE))
    assert [one.id for one in settings.redaction_rules] == ["acme-token"]
    assert list(files_of(settings)) == [tmp_path / "ours.toml"]
    assert settings.warnings == ()


def test_a_changed_file_is_a_change_that_a_reload_applies(tmp_path: Path) -> None:
    file = written(tmp_path, RULE)
    source = FileSource(file)
    before, stamp = source.load(), source.stamp()
    written(tmp_path, RULE.replace("{16}", "{20}"))
    assert source.stamp() != stamp
    found = changes(before, source.load())
    assert found.applied == ("redaction_rules",)
    assert found.waiting == ()


@pytest.mark.parametrize(
    ("rules", "names", "words"),
    [
        (RULE, ("none.toml",), ("none.toml cannot be read", "No such file")),
        (RULE.replace("acme_", "(?!x)"), (), ("ours.toml: rule acme-token", "(?!", "allowlists")),
        (RULE, ("ours.toml", "ours.toml"), ("rule acme-token", "several files")),
        ("x = [", (), ("ours.toml: the file", "no TOML")),
    ],
)
def test_what_cannot_be_applied_is_refused_by_name(
    tmp_path: Path, rules: str, names: tuple[str, ...], words: tuple[str, ...]
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(written(tmp_path, rules, *names))
    said = str(caught.value)
    assert "redaction.rules" in said
    assert all(one in said for one in words)


def test_what_has_no_effect_is_a_warning(tmp_path: Path) -> None:
    settings = load(written(tmp_path, RULE + "path = '[.]env$'\n"))
    (warning,) = settings.warnings
    assert "rule acme-token: path has no effect" in warning.what
