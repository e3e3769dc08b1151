"""Secrets told by what stands beside them, in the notations that results use."""

from __future__ import annotations

import json

import pytest

from gatewright.secret_scanning.context import HINTS, VENDORS, of_member
from gatewright.secret_scanning.patterns import Pattern
from gatewright.secret_scanning.scanner import scanner

SECRETS = scanner(secrets=True, personal=frozenset())
RANDOM = "q7w2e9r4t1y8u3i6o5p0"


def cleaned(text: str) -> str:
    return SECRETS.replaced(text.encode(), lambda rule, _: b"*")[0].decode()


@pytest.mark.parametrize(
    "shape",
    [
        "password=@", "password: @\nnext", 'password = "@"', "password => '@'", '{"password":"@"}', '{\\"password\\": \\"@\\"}',
        "DB_PASSWORD=@\nNAME=x", "export API_KEY=`@`", "<password>@</password>", "Server=x;Password=@;Encrypt=1",
        "https://x.example/?access_token=@&x=1", "Authorization: Bearer @", "Authorization: Basic @", "X-Api-Key: @",
        "- name: secret\n  value: @\n", '{"name": "DB_PASSWORD", "value": "@"}', "using credential @ for login",
        "the token is @.", "adafruit=>@", "finnhub_api ||@", "yelp,@", "Cookie: sid=@; b=1", "login me password @ ",
        "curl -u admin:@ https://x.example", "tool --token @ run", "postgresql://app:@@db.example.org/x", '"key": "@"',
        "pass: @", "_authToken=@", "JWT_SECRET\t@", "ENV ROOT_PASSWORD @", '{"auths": {"x": {"auth": "@"}}}', 'psk="@"',
        "SECRET_KEY_BASE: @", "https://@@github.example/a", "mysql -h x -p@ db", "docker login -u x -p @ y", "redis-cli -a @ ping",
        "sqlcmd -S x -P @", "'hasura_key' => '@'",
        '{"value": "@", "name": "DB_PASSWORD"}', '{\\"value\\": \\"@\\",\\n  \\"name\\": \\"/prod/token\\"}',
        "- value: @\n  name: DB_PASSWORD\n", "{value: '@', key: 'api_key'}",
    ],
)  # fmt: skip
def test_a_secret_is_found_in_every_notation(shape: str) -> None:
    """GRH-out-1"""
    text = shape.replace("@", RANDOM, 1) if "@@" not in shape else shape.replace("@@", RANDOM + "@")
    assert Pattern(HINTS).hits(text.encode())
    assert RANDOM not in cleaned(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"value": "q7w2e9r4t1y8u3i6o5p0", "name": "host"}, {"name": "password"}', '{"name": "password", "type": "text"}',
        "password: ********", 'api_key = os.environ["API_KEY"]', "token: <your-token-here>", "secretName: my-app-tls",
        '"password": {"type": "string", "minLength": 8}', "max_tokens: 4096", '{"next_page_token": "q7w2e9r4t1y8u3i6o5p0"}',
        "class Token:\n    __slots__ = ()", "def f(self, token: Callable[[], None]) -> None:", "password: must be long",
        "if token == other_token:", "self.tokens: List[Any] = []", "cookie_key = (domain, path)", "Password: required",
        "commit 4d599cc13e2c9b7cbee537d4e5130f5871c2e558 merged", "git: 4d599cc13e2c9b7cbee537d4e5130f5871c2e558",
        '"integrity":"sha512-9qSXtV/jxHpkyRhoq5niWqO5nfTR0/trrdiSkrIEnOfuMQCrHuOQWaTVhVz64epP44Mdj6wKKjAJP0v8TgU=="',
        '{"key": "613c921b-a8e2-4230-a9c0-bdc3eb7fcf08"}', "https://user@example.org:8080/a", "http://[::1]:80/@x",
        'fetch(x, {credentials: "same-origin"})', "key: 'pk_live_q7w2e9r4t1y8u3i6o5p0'", "https://a-longer-user-name-of-somebody@example.org/",
        "login and then use -p 8080 with it", "mysql -p -u root",
        "slack: see https://example.org/channels", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        "${secret:db.args.3}", "arguments must pass: `sandbox`, `readonly`",
        "the --username and --password options are gone", '"jsonwebtoken": "^9.0.2"',
    ],
)  # fmt: skip
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert cleaned(text) == text


def test_a_private_key_goes_as_a_whole_also_with_escaped_line_ends() -> None:
    body = "\n".join([RANDOM * 3] * 8)
    for kind in ("RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"):
        key = f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"
        assert cleaned(f"a {key} b") == "a * b"
        escaped = key.replace("\n", "\\n")
        assert cleaned(f'x = "{escaped}"') == 'x = "*"'
    assert RANDOM not in cleaned(f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n")


@pytest.mark.parametrize(
    "line", ["gl" + "pat-" + RANDOM, f"api_key: {RANDOM}", f"yelp={RANDOM}", f"token is {RANDOM}"]
)
def test_a_line_inside_a_string_begins_like_any_other(line: str) -> None:
    text = "first\n" + line
    for _ in range(3):
        assert Pattern(HINTS).hits(text.encode()) or "pat-" in text
        assert RANDOM not in cleaned(text)
        text = json.dumps({"text": text})


def test_a_scheme_before_a_credential_stays_readable() -> None:
    assert cleaned(f"Authorization: Bearer {RANDOM}") == "Authorization: Bearer *"
    assert of_member("authorization", f"Bearer {RANDOM}") == (7, "named")


def test_members_are_judged_by_their_names() -> None:
    assert of_member("password", "letmein") == (0, "named")
    assert of_member("cloudflare_api", RANDOM) == (0, "vendor")
    assert of_member("key", RANDOM) == (0, "named")
    assert of_member("key", "a1b2") is None
    assert of_member("note", RANDOM) is None
    assert of_member("password", "string") is None


def test_vendors_are_lower_case_and_listed_once() -> None:
    listed = VENDORS["vendors"]
    assert all(name == name.lower() and len(name) > 2 for name in listed)
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("which", ["numbered", "version_control"])
def test_what_is_said_of_some_vendors_is_of_vendors_that_are_listed(which: str) -> None:
    listed = VENDORS["vendors"]
    assert all(any(vendor.startswith(name) for vendor in listed) for name in VENDORS[which])
