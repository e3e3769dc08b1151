"""What `gatewright doctor` says of features that are not there."""

from __future__ import annotations

from pathlib import Path

from gatewright.cli.checks.features import check_features
from gatewright.missing import WITHOUT
from tests.feature_parts import settings


def test_a_feature_that_is_missing_is_a_warning_and_one_that_is_asked_for_a_problem(
    tmp_path: Path,
) -> None:
    said = settings(tmp_path, '[flow]\nthen = "refuse"\n')
    found = list(check_features(said, [WITHOUT["flow"], WITHOUT["rooms"]]))
    assert [(one.subject, one.level) for one in found] == [
        ("feature flow", "problem"),
        ("feature rooms", "warning"),
    ]
    assert "flow.then" in found[0].why
    assert list(check_features(said, [])) == []
