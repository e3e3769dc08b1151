"""What is written in a plain table is what is in force."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gatewright.config import Settings, load
from gatewright.config.file_tables import FileTable
from gatewright.config.plain_tables import PlainTables
from gatewright.config.schema import TABLES

EVERY = msgspec.structs.fields(PlainTables)


@pytest.mark.parametrize("field", EVERY, ids=[one.name for one in EVERY])
def test_a_plain_table_is_of_one_shape_in_file_settings_and_reference(
    field: msgspec.structs.FieldInfo,
) -> None:
    for whole in (FileTable, Settings):
        (found,) = (one for one in msgspec.structs.fields(whole) if one.name == field.name)
        assert found.type is field.type
    assert TABLES[field.name] is field.type


def test_its_words_are_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "mgp.toml"
    file.write_text('[flow]\nthen = "refuse"\n[limits]\ncalls_per_minute = 7\n')
    found = load(file, environ={"HOME": str(tmp_path)})
    assert (found.flow.then, found.limits.calls_per_minute) == ("refuse", 7)
