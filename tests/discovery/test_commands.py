"""What is printed about costs; the commands themselves are run in tests/cli/test_app_json.py and tests/behaviour."""

from __future__ import annotations

from gatewright.discovery.commands import would_pay


def test_what_search_would_save_is_said_with_the_setting_that_saves_it() -> None:
    found = {"meta_tokens": 400, "pinned_tokens": 50, "answer_tokens": 600, "tokens": 50_000}
    told = would_pay(found)
    assert 'expose = "discover"' in told
    assert "1,050 tokens" in told
    assert "50,000" in told
