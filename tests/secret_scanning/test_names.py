"""Names of secrets, and values that can be one."""

from __future__ import annotations

import random
import string

import pytest

from gatewright.secret_scanning.names import (
    is_example,
    is_name_for,
    is_secret_name,
    looks_random,
    may_be_secret,
)


@pytest.mark.parametrize(
    "name",
    """
    password Password DB_PASSWORD db.password userPassword passwd pass passphrase secret client_secret
    clientSecret token auth_token accessToken apiKey api-key X-Api-Key API_KEY_PROD aws_secret_access_key
    private_key authorization Authorization Set-Cookie credentials jwt _auth x-auth secretValue PGPASSWORD
    encryption_key SIGNING_KEY_2 tokens SECRET_KEY_BASE SEGMENT_WRITE_KEY psk preshared_key seed_phrase kennwort
    """.split(),
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    """
    token_type secretName max_tokens total_tokens next_page_token nextPageToken continuation_token pageToken
    progressToken public_key primary_key keyboard monkey tokenizer passed bypass author authority
    password_policy password_min_length has_password tokens_used key keys id name secretary cookie_policy
    eos_token forgot_password
    """.split(),
)
def test_names_of_something_else_are_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "value", ["hunter2", "letmein", "Tr0ub4dor&3", "correct1 horse2", "s3cr3t(1"]
)
def test_a_quoted_value_may_be_any_word(value: str) -> None:
    assert may_be_secret(value, quoted=True)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "********",
            "xxxx",
            "<your-token-here>",
            "${TOKEN}",
            "$TOKEN",
            "{{ secrets.X }}",
            "your-api-key",
            "null",
        ),
        *(
            "string",
            "required",
            'os.environ["API_KEY"]',
            "getpass()",
            "process.env.TOKEN",
            "API_KEY",
            "none",
        ),
        *(
            "/run/secrets/db",
            "env:TOKEN",
            "vault:kv/db",
            "[REDACTED:jwt:0a1b2c]",
            "^1.2.3",
            "1024",
            "#dcdccc",
            "abc",
        ),
        "Your account password, at least 8 letters long",
    ],
)
def test_placeholders_references_and_types_are_no_secrets(value: str) -> None:
    assert not may_be_secret(value, quoted=True)


@pytest.mark.parametrize(
    "value",
    ["must", "Optional", "TokenType", "parse_token(text", "self.token", "t.ClassVar", "1234567"],
)
def test_a_bare_value_must_not_be_a_word_or_a_piece_of_code(value: str) -> None:
    assert not may_be_secret(value, quoted=False)


@pytest.mark.parametrize("value", ["hunter2", "Summer2024!", "p@ss-word"])
def test_a_bare_value_that_looks_made_is_a_secret(value: str) -> None:
    assert may_be_secret(value, quoted=False)


ALPHABETS = {
    "base36": string.ascii_lowercase + string.digits,
    "hex": "0123456789abcdef",
    "base64url": string.ascii_letters + string.digits + "-_",
    "base64": string.ascii_letters + string.digits + "+/",
}


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("size", [20, 32, 64])
def test_what_a_machine_made_looks_random(alphabet: str, size: int) -> None:
    source = random.Random(size)
    made = ["".join(source.choices(ALPHABETS[alphabet], k=size)) for _ in range(500)]
    assert sum(looks_random(one, digests=True) for one in made) >= 480


@pytest.mark.parametrize(
    "value",
    [
        *(
            "my-application-2024",
            "2026-11-20T10:00:00Z",
            "v1.22.333-rc4",
            "getNextLineOfContent",
            "aaaaaaaaaaaa",
        ),
        *(
            "README_for_version_2",
            "https://example.org/a1b2c3d4",
            "/usr/lib/python3/dist-packages",
            "short1",
        ),
    ],
)
def test_what_people_write_does_not_look_random(value: str) -> None:
    assert not looks_random(value, digests=True)


@pytest.mark.parametrize(
    "value",
    [
        "613c921b-a8e2-4230-a9c0-bdc3eb7fcf08",
        "c4507d43b85ad0f20df9bf6f96570e4b88cbe581",
        "sha256-9qSXtVjxHpkyRhoq5niWqO5nfTR0trrd",
    ],
)
def test_ids_and_hashes_count_only_where_they_are_asked_for(value: str) -> None:
    assert not looks_random(value)


def test_the_picture_of_a_token_is_no_token() -> None:
    assert is_example("ghp_" + "x" * 36)
    assert is_example("AKIA" + "IOSFODNN7EXAMPLE")
    assert is_example("xoxb-your-" + "token")
    assert not is_example("ghp_" + "a1B2c3D4" * 4)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("API_KEY_HEADER", "X-Api-Key", True),
        ("TOKEN_KEY", "auth.token.key", True),
        ("AUTH_TOKEN_STORAGE_KEY", "acme_auth_token", True),
        ("password", "auth_token", False),
        ("API_KEY_HEADER", "q7w2-e9r4-t1y8", False),
        ("API_KEY", "correct-horse", False),
    ],
)
def test_the_name_under_which_a_secret_is_kept_is_none(
    name: str, value: str, expected: bool
) -> None:
    assert is_name_for(name, value) is expected


@pytest.mark.parametrize("value", ["sk-...", "ghp_....", "..."])
def test_a_key_that_is_left_out_is_none(value: str) -> None:
    assert not may_be_secret(value, quoted=False)
