from __future__ import annotations

import base64
import hmac

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

from gatewright.call import Refusal
from gatewright.config.signing_keys import read_key
from gatewright.rooms.policy import Claims
from gatewright.rooms.signed_tokens import Signed

SECRET = "a-shared-secret-of-32-bytes-or-more"


@pytest.mark.parametrize(
    ("key", "alg"),
    [
        (ECKey.generate_key("P-256"), "ES256"),
        (RSAKey.generate_key(2048), "RS256"),
        (OKPKey.generate_key("Ed25519"), "Ed25519"),
    ],
    ids=["EC", "RSA", "Ed25519"],
)
def test_public_keys_are_read_as_pem_and_as_jwk(key: ECKey | RSAKey | OKPKey, alg: str) -> None:
    """MCPX-5.1-1."""
    token = jwt.encode({"alg": alg}, {"sub": "a", "exp": 2_000_000_000}, key, algorithms=[alg])
    pem = key.as_pem(private=False).decode()
    document = str(key.as_dict(private=False)).replace("'", '"')
    for text in (pem, document, f'{{"keys": [{document}]}}'):
        checks = Signed(read_key(text, [alg]), [alg], clock=lambda: 1_900_000_000.0)
        assert checks.claims(token) == Claims("a", None, None, 2_000_000_000.0)


def test_a_public_key_is_no_shared_secret() -> None:
    """A token signed with the text of the public key as its secret is refused."""
    pem = RSAKey.generate_key(2048).as_pem(private=False).decode()
    checks = Signed(read_key(pem, ["RS256"]), ["RS256"], clock=lambda: 0.0)
    parts = (b'{"alg":"HS256"}', b'{"sub":"a","exp":9}')
    signed = b".".join(base64.urlsafe_b64encode(one).rstrip(b"=") for one in parts)
    mark = base64.urlsafe_b64encode(hmac.digest(pem.encode(), signed, "sha256")).rstrip(b"=")
    forged = (signed + b"." + mark).decode()
    with pytest.raises(ValueError, match="public key"):
        read_key(pem, ["HS256"])
    found = checks.claims(forged)
    assert isinstance(found, Refusal)
    assert found.reason == "auth_failed"


def test_an_expired_token_says_so() -> None:
    checks = Signed(read_key(SECRET, ["HS256"]), ["HS256"], clock=lambda: 100.0, audience="us")
    key = read_key(SECRET, ["HS256"])
    late = jwt.encode({"alg": "HS256"}, {"sub": "a", "exp": 99, "aud": "us"}, key)
    found = checks.claims(late)
    assert isinstance(found, Refusal)
    assert found.reason == "auth_expired"
    good = jwt.encode({"alg": "HS256"}, {"sub": "a", "exp": 101, "aud": ["us", "x"]}, key)
    assert checks.claims(good) == Claims("a", None, None, 101.0)
    foreign = jwt.encode({"alg": "HS256"}, {"sub": "a", "exp": 101, "aud": "them"}, key)
    for wrong in (foreign, "x" * 20_000, "..", "a.b.c"):
        assert isinstance(checks.claims(wrong), Refusal)
