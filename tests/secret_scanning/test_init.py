"""One policy, and the form for logs."""

from __future__ import annotations

import json

from gatewright.secret_scanning import Redactor, without_secrets

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3


def test_a_text_for_people_keeps_everything_but_the_secret() -> None:
    assert Redactor(b"k").text("nothing here")[:2] == (b"nothing here", [])
    clean = Redactor(b"k").text(f"bad {TOKEN}")
    assert TOKEN.encode() not in clean.text
    assert clean.rules == ["github-token"]


def test_a_policy_without_secrets_leaves_them() -> None:
    raw = json.dumps({"t": TOKEN}).encode()
    assert Redactor(b"k", secrets=False).json(raw).text is raw


def test_log_lines_say_the_rule_and_no_hash() -> None:
    assert without_secrets(f"said {TOKEN}".encode()) == b"said [REDACTED:github-token]"
    assert without_secrets(b'{"password":"letmein"}') == b'{"password":"[REDACTED:named]"}'
    line = b"an ordinary line"
    assert without_secrets(line) is line
