"""What is printed about costs; the commands themselves are run in tests/cli/test_app_json.py and tests/behaviour."""

from __future__ import annotations

from gatewright.discovery.commands import would_pay


def test_what_search_would_save_is_said_with_the_setting_that_saves_it() -> None:
    told = would_pay({"meta_tokens": 400, "answer_tokens": 600, "tokens": 50_000})
    assert 'expose = "discover"' in told
    assert "1,000 tokens" in told
    assert "50,000" in told
