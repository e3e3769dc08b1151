"""`RedactionFeature`: an operator's rules are compiled where the settings are read, not with the first result."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.redaction.feature import RedactionFeature
from gatewright.secret_scanning.patterns import Pattern
from tests.feature_parts import ground, settings

RULES = """
[[rules]]
id = "acme-token"
regex = '''acme_feature_[a-z0-9]{16}'''
[[rules.allowlists]]
regexes = ['''acme_feature_test''']
"""


def test_rules_of_an_operator_are_compiled_with_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feature = RedactionFeature(ground(tmp_path))
    ready: list[str] = []
    plain = Pattern.ready

    def noting(self: Pattern) -> None:
        ready.append(self.text)
        plain(self)

    monkeypatch.setattr(Pattern, "ready", noting)
    assert set(feature.rules(settings(tmp_path)).gates) == {"sanitize"}
    assert ready == []
    (tmp_path / "rules.toml").write_text(RULES)
    said = settings(tmp_path, '[redaction]\nrules = ["rules.toml"]\n')
    assert len(said.redaction_rules) == 1
    feature.rules(said)
    assert {"acme_feature_[a-z0-9]{16}", "acme_feature_test"} <= set(ready)
    assert any("acme\\x5ffeature" in one for one in ready)
