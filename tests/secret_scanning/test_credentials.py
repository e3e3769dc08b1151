"""What is taken for a secret, and what is not."""

import pytest

from gatewright.secret_scanning.credentials import (
    is_placeholder,
    is_secret_name,
    looks_secret,
    mask,
    secret_spans,
)

SECRET_NAMES = """GITHUB_TOKEN apiKey X-API-Key Authorization OPENAI_API_KEY PGPASSWORD DB_PASS KEY
    client_secret SLACK_BOT_TOKEN MCP_SESSION Cookie private-key DATABASE_DSN WEBHOOK""".split()
PLAIN_NAMES = """MAX_TOKENS AUTHOR KEYBOARD MONKEY PATH SECRET_FILE TOKEN_LIMIT HOME LOG_LEVEL
    AUTH_METHOD X-Region""".split()


def test_names_of_secrets_are_known_and_others_are_not() -> None:
    assert [one for one in SECRET_NAMES if not is_secret_name(one)] == []
    assert [one for one in PLAIN_NAMES if is_secret_name(one)] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ghp_abcdefghijklmnop1234", "***"),
        ("x sk-ant-abcdefghijkl y", "x *** y"),
        ("AKIAIOSFODNN7QWERTYU", "***"),
        ("ä sk-ant-api03-AbCdEf0123456789xYz ö", "ä *** ö"),
        ("eyJhbGciOiJI.eyJzdWIi.abc-_", "***"),
        ("postgres://u:p@ss@h/db", "postgres://u:***@h/db"),
        ("https://0123456789ab@h/x", "https://***@h/x"),
        ("https://h/mcp?api_key=zz&b=1", "https://h/mcp?api_key=***&b=1"),
        ("--header=Authorization: Bearer abc", "--header=Authorization: Bearer ***"),
        ("PASSWORD=x", "PASSWORD=***"),
        ("https://h/s/ZGE4NzY1NDMyMWFiY2Rl/mcp", "https://h/s/***/mcp"),
        ("@scope/xghp_abCdefgh1jklmnop1234", "@scope/***"),
        ("@ghpabcdefgh1jklmnop1234/x", "@***/x"),
        ("550e8400-e29b-41d4-a716-446655440000", "***"),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----", "***"),
    ],
)
def test_a_secret_is_found_by_its_form_or_its_place(text: str, shown: str) -> None:
    assert mask(text) == shown
    assert looks_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "@modelcontextprotocol/server-everything@2025.11.25",
        "mcp/x@sha256:68eb20db6109f5c312a695fc5ec3386ad15d93ffb765a0b4eb1baf4328dec14f",
        "/home/me/projects/my-project-2025/src/server.py",
        "https://docs.mcp.cloudflare.com/sse",
        "GITHUB_PERSONAL_ACCESS_TOKEN",
        "type=bind,src=/a,dst=/b",
        "git+https://github.com/a/b@0123456789abcdef0123456789abcdef01234567",
    ],
)
def test_what_people_wrote_themselves_is_no_secret(text: str) -> None:
    assert not looks_secret(text)
    assert mask(text) == text


def test_under_a_secret_name_everything_is_one_but_the_scheme() -> None:
    assert secret_spans("Bearer x", "Authorization") == [(7, 8)]
    assert secret_spans("x", "TOKEN") == [(0, 1)]
    assert secret_spans(" ", "TOKEN") == []


def test_what_ought_to_be_written_is_no_value() -> None:
    for value in ("<token>", "YOUR_API_KEY", "your-key here", "xxxx", "sk-xxxxxxxx", "[token]"):
        assert is_placeholder(value), value
    for value in ("hunter2", "yours1", "x", "", "abc<d>", "your_key_0f9e8d7c"):
        assert not is_placeholder(value), value
