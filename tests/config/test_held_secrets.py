"""What of a configuration is known as a secret from then on."""

from __future__ import annotations

from pathlib import Path

from gatewright.config import load
from gatewright.config.held_secrets import hold_secrets
from gatewright.secret_scanning import HELD


def test_what_stands_in_plain_text_is_held_as_well(tmp_path: Path) -> None:
    (tmp_path / "mgp.toml").write_text(
        """
        [[servers]]
        id = "one"
        url = "https://user:pass-in-url-1@example.org/mcp?api_key=key-in-query-2"
        [servers.auth]
        bearer = "plain-bearer-3"
        [[servers]]
        id = "two"
        url = "https://example.org/mcp"
        headers = { X-Api-Key = "Token header-value-4", X-Team = "a-team-name" }
        [servers.auth]
        client_id = "the-client-id"
        client_secret = "plain-secret-5"
        issuer = "https://as.example"
        [[servers]]
        id = "three"
        command = "x"
        env = { API_TOKEN = "plain-token-6", MODE = "productive" }
        """
    )
    hold_secrets(load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)}))
    known = (
        "pass-in-url-1 key-in-query-2 plain-bearer-3 header-value-4 plain-secret-5 plain-token-6"
    )
    assert {*known.split()} <= {*HELD.values}
    assert not {"a-team-name", "productive", "the-client-id"} & {*HELD.values}


def test_what_came_from_a_file_is_held_whoever_asked(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("words-of-a-file\n")
    text = '[[servers]]\nid = "one"\ncommand = "x"\nargs = ["${file:key.txt}"]\n'
    (tmp_path / "mgp.toml").write_text(text)
    load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)})
    assert "words-of-a-file" in HELD.values
