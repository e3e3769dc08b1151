"""Who wrote a map called mcpServers."""

import pytest

from gatewright.config.file_tables import TRANSPORTS as IN_THE_FILE
from gatewright.hosts.dialects import DIALECTS, TRANSPORTS, dialect_of


@pytest.mark.parametrize(
    ("entry", "form"),
    [
        ({"command": "x"}, "mcpServers"),
        ({"httpUrl": "https://a"}, "gemini"),
        ({"serverUrl": "https://a", "alwaysAllow": []}, "windsurf"),
        ({"command": "x", "protocolEra": "auto"}, "inspector"),
        ({"command": "x", "autoApprove": []}, "cline"),
        ({"type": "streamable-http", "alwaysAllow": []}, "roo"),
        ("no table", "mcpServers"),
    ],
)
def test_a_key_that_only_one_host_writes_gives_it_away(entry: object, form: str) -> None:
    assert dialect_of({"a": entry}).format == form


def test_a_host_that_is_known_needs_no_guess() -> None:
    entries = {"a": {"url": "https://a"}}
    hosts = ("gemini", "kiro", "copilot", "antigravity", "nobody")
    assert [dialect_of(entries, host).format for host in hosts] == [
        "gemini",
        "kiro",
        "mcpServers",
        "windsurf",
        "mcpServers",
    ]


def test_every_word_of_our_file_is_understood_from_others_as_well() -> None:
    of_ours_alone = {"python", "openapi"}  # what no host starts
    wanted = {word: IN_THE_FILE[word] for word in IN_THE_FILE if word not in of_ours_alone}
    assert {word: TRANSPORTS[word] for word in wanted} == wanted
    assert all(name == dialect.format for name, dialect in DIALECTS.items())
