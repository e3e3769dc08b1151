"""The options that restrict which records are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.audit.commands.record_options import asked_of, reader_of
from gatewright.audit.rows import Query
from gatewright.cli.errors import CliError


def test_options_become_the_members_of_a_question() -> None:
    asked = asked_of(
        since="2030-01-01T00:00:00Z", until=None, agent="ana", outcome=None, trace_id="t"
    )
    assert asked == Query(agent="ana", trace_id="t", since="2030-01-01T00:00:00.000Z")


def test_a_moment_that_is_none_is_refused() -> None:
    with pytest.raises(CliError, match="is not a moment"):
        asked_of(since="yesterday-ish", until=None)


def test_a_folder_without_a_record_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWRIGHT_STATE", str(tmp_path / "state"))
    config = tmp_path / "mgp.toml"
    config.write_text("")
    with pytest.raises(CliError, match="there is no record"):
        reader_of(config)
