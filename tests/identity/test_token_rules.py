"""Access tokens: what they must say, and every way in which they must not be believed."""

from __future__ import annotations

import base64
import json
import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc.errors import SecurityWarning
from joserfc.jwk import JWKRegistry, OctKey, RSAKey

from gatewright.identity import token_rules
from gatewright.identity.token_rules import (
    Claims,
    Peek,
    Published,
    TokenRefused,
    peek,
    read_introspection,
    read_jwt,
    read_published,
)
from gatewright.oauth.documents import ALGORITHMS, Unusable
from gatewright.transport.slices import whole
from tests.identity.issuing import Issuing, forged, unsigned

ISSUER = "https://auth.example"
US = "https://gateway.example/mcp"
NOW = time.time()


@pytest.fixture(scope="module")
def issuer() -> Issuing:
    """Not served: its keys and its signatures are enough here."""
    found = Issuing()
    found.issuer = ISSUER
    return found


def keys_of(body: bytes) -> token_rules.Keys:
    return whole(token_rules.read_keys(body))


def _read(token: str, issuer: Issuing, *, algorithms: Any = ALGORITHMS, **more: Any) -> Claims:
    keys = keys_of(json.dumps(issuer.published()).encode())
    about = {"issuer": ISSUER, "now": NOW, "leeway_s": 30.0, **more}
    return read_jwt(token, keys, algorithms=algorithms, **about)


def _why(token: str, issuer: Issuing, **more: Any) -> str:
    with pytest.raises(TokenRefused) as caught:
        _read(token, issuer, **more)
    return caught.value.why


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"])
def test_a_good_token_says_who_and_for_whom(algorithm: str) -> None:
    issuer = Issuing()
    issuer.issuer, issuer.algorithm = ISSUER, algorithm
    issuer.rotate(keep=False)
    token = issuer.sign([US, "x"], scope="read write", exp=NOW + 60, scp=["more"])
    found = _read(token, issuer)
    assert found.every["iss"] == ISSUER
    assert (found.subject, found.audience, found.client) == ("alice", (US, "x"), "client-1")
    assert (found.expires, found.scopes) == (NOW + 60, ("read", "write", "more"))
    assert peek(token) == Peek(ISSUER, algorithm, next(iter(issuer.keys)))


def test_a_token_without_a_subject_is_nobody_s(issuer: Issuing) -> None:
    """RFC 9068 §2.2: `sub` is required, also of a client that speaks for itself; `client_id` and `azp` are no user."""
    for claims in ({}, {"azp": "app"}, {"client_id": None}, {"client_id": None, "azp": "app"}):
        for sub in (None, ""):
            assert _why(issuer.sign(US, sub=sub, **claims), issuer) == "subject"
    assert _read(issuer.sign(US, sub="client-1"), issuer).subject == "client-1"
    other = _read(issuer.sign(US, sub=None, email="a@b"), issuer, subject_claim="email")
    assert (other.subject, other.every["email"]) == ("", "a@b")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(["sub", "client_id", "azp", "username"]), _JSON))
def test_whatever_a_token_says_its_subject_is_the_text_in_sub_or_nobody(
    said: dict[str, Any],
) -> None:
    body = json.dumps({"active": True, "aud": US, "exp": NOW + 60, **said}).encode()
    try:
        found = read_introspection(body, issuer=ISSUER, now=NOW, leeway_s=0)
    except (TokenRefused, Unusable):
        return
    assert isinstance(said["sub"], str)
    assert found.subject == said["sub"] != ""


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": NOW - 31}, "expired"),
        ({"exp": None}, "endless"),
        ({"nbf": NOW + 31}, "early"),
        ({"aud": None}, "audience"),
        ({"aud": []}, "audience"),
        ({"iss": ISSUER + "/"}, "issuer"),
        ({"exp": "tomorrow"}, "signature"),
        ({"aud": {"a": 1}}, "signature"),
    ],
)
def test_a_claim_that_is_not_as_it_must_be_refuses_the_token(
    issuer: Issuing, claims: dict[str, Any], why: str
) -> None:
    audience = claims.pop("aud", US)
    assert _why(issuer.sign(audience, **claims), issuer) == why


@pytest.mark.parametrize("claims", [{"exp": NOW - 29}, {"nbf": NOW + 29}])
def test_clocks_may_differ_a_little(issuer: Issuing, claims: dict[str, Any]) -> None:
    assert _read(issuer.sign(US, **claims), issuer).subject == "alice"
    assert _why(issuer.sign(US, **claims), issuer, leeway_s=0.0) in ("expired", "early")


def test_no_token_chooses_how_it_is_verified(issuer: Issuing) -> None:
    """RFC 8725 §3.1: `none`, and HMAC with a public key for its secret."""
    good = issuer.sign(US)
    assert _why(unsigned(good), issuer) == "algorithm"
    assert _why(forged(good, issuer), issuer) == "algorithm"
    assert _why(good, issuer, algorithms=("RS256",)) == "algorithm"
    assert _why(good, issuer, algorithms=("HS256", "none")) == "algorithm"
    assert _why(forged(good, issuer), issuer, algorithms=("HS256",)) == "algorithm"


def test_only_the_issuer_s_own_key_signs(issuer: Issuing) -> None:
    other = Issuing()
    other.issuer = ISSUER
    same_id = other.sign(US)  # its key is called like ours
    assert _why(same_id, issuer) == "signature"
    assert _why(issuer.sign(US, header={"kid": "nobody's"}), issuer) == "key"
    changed = issuer.sign(US).split(".")
    payload = base64.urlsafe_b64encode(json.dumps({"iss": ISSUER, "sub": "root"}).encode())
    changed[1] = payload.rstrip(b"=").decode()
    assert _why(".".join(changed), issuer) == "signature"


def test_a_single_key_needs_no_name() -> None:
    issuer = Issuing()
    issuer.issuer = ISSUER
    assert _read(issuer.sign(US, header={"kid": None}), issuer).subject == "alice"
    issuer.rotate()
    assert _why(issuer.sign(US, header={"kid": None}), issuer) == "key"


def test_a_key_for_one_algorithm_verifies_no_other() -> None:
    issuer = Issuing()
    issuer.issuer, issuer.algorithm = ISSUER, "RS256"
    issuer.rotate(keep=False)
    (published,) = issuer.published()["keys"]
    keys = keys_of(json.dumps({"keys": [published | {"alg": "PS256"}]}).encode())
    about: dict[str, Any] = {"issuer": ISSUER, "now": NOW, "leeway_s": 0, "algorithms": ALGORITHMS}
    with pytest.raises(TokenRefused, match="algorithm"):
        read_jwt(issuer.sign(US), keys, **about)


@pytest.mark.parametrize("typ", ["id+jwt", "logout+jwt", "dpop+jwt"])
def test_a_jwt_of_another_kind_is_no_access_token(issuer: Issuing, typ: str) -> None:
    """RFC 8725 §3.11"""
    assert _why(issuer.sign(US, header={"typ": typ}), issuer) == "malformed"
    assert _read(issuer.sign(US, header={"typ": "JWT"}), issuer).subject == "alice"


@pytest.mark.parametrize(
    "text",
    ["", "a", "a.b", "a.b.c.d", "..", "e30.e30.x", "e30=.e30.x", "x" * 20_000, "\ud800.a.b"],
)
def test_what_is_no_signed_token_claims_nothing(text: str) -> None:
    assert peek(text) is None


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    assert peek(text) is None


def test_keys_that_verify_nothing_are_left_out(issuer: Issuing) -> None:
    """Symmetric ones, those for encryption, weak ones and unknown ones."""
    good = issuer.published()["keys"]
    with pytest.warns(SecurityWarning):
        small = RSAKey.generate_key(1024, {"kid": "small"}).as_dict(private=False)
    secret = OctKey.generate_key(256, {"kid": "secret"}).as_dict(private=True)
    useless = [
        small,
        secret,
        good[0] | {"kid": "enc", "use": "enc"},
        {"kty": "EC", "kid": "broken", "crv": "P-256", "x": "!", "y": "!"},
        {"kty": "new", "kid": "new"},
    ]
    found = keys_of(json.dumps({"keys": [*useless, *good]}).encode())
    assert set(found) == {"", good[0]["kid"]}
    for body in (b"{}", b"[]", b'{"keys":[]}', json.dumps({"keys": useless}).encode()):
        with pytest.raises(Unusable):
            keys_of(body)


@pytest.mark.parametrize("more", [{"n": "A" * 1401}, {"e": "A" * 12}, {"key_ops": ["verify"] * 17}])
def test_a_key_that_takes_long_to_import_or_to_verify_with_is_left_out_unread(
    issuer: Issuing, monkeypatch: pytest.MonkeyPatch, more: Any
) -> None:
    """Whoever shows a token with a key id of his own making has the set fetched again, every ten seconds."""
    read: list[Any] = []
    kept = JWKRegistry.import_key

    def reading(key: Any) -> Any:
        read.append(key)
        return kept(key)

    monkeypatch.setattr(JWKRegistry, "import_key", reading)
    (good,) = issuer.published()["keys"]
    long = good | {"kty": "RSA", "kid": "long", "n": "AQAB", "e": "AQAB"} | more
    assert set(keys_of(json.dumps({"keys": [long, good]}).encode())) == {"", good["kid"]}
    assert [one["kid"] for one in read] == [good["kid"]]


def test_a_key_of_8192_bits_is_read_and_certificates_beside_it_are_not(issuer: Issuing) -> None:
    (good,) = issuer.published()["keys"]
    number = base64.urlsafe_b64encode(b"\xff" * 1024).rstrip(b"=").decode()
    large = {"kty": "RSA", "kid": "large", "n": number, "e": "AQAB", "x5c": ["A" * 5000]}
    found = keys_of(json.dumps({"keys": [large, good]}).encode())
    assert set(found) == {"large", good["kid"]}


def test_each_key_of_a_set_is_a_step_after_which_others_have_a_turn(issuer: Issuing) -> None:
    (good,) = issuer.published()["keys"]
    many = [good | {"kid": str(number)} for number in range(150)]
    steps = token_rules.read_keys(json.dumps({"keys": many}).encode())
    assert len(list(steps)) == 100


def test_what_an_issuer_publishes_has_to_be_its_own() -> None:
    said = {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/k", "introspection_endpoint": f"{ISSUER}/i"}
    found = read_published(json.dumps(said).encode(), ISSUER, loopback=False)
    assert found == Published(f"{ISSUER}/k", f"{ISSUER}/i")
    assert read_published(json.dumps({"issuer": ISSUER}).encode(), ISSUER, loopback=False) == (
        Published()
    )
    for flawed in (
        said | {"issuer": ISSUER + "/"},
        said | {"jwks_uri": "http://auth.example/k"},
        said | {"introspection_endpoint": "file:///etc/passwd"},
        said | {"jwks_uri": "http://127.0.0.1/k"},
    ):
        with pytest.raises(Unusable):
            read_published(json.dumps(flawed).encode(), ISSUER, loopback=False)


def _asked(**said: Any) -> Claims:
    body = json.dumps({"active": True, "sub": "a", "aud": US, "exp": NOW + 60, **said}).encode()
    return read_introspection(body, issuer=ISSUER, now=NOW, leeway_s=0)


def test_an_introspection_is_held_against_the_same_rules() -> None:
    assert _asked(scope="read", iss=ISSUER).scopes == ("read",)
    assert _asked().expires == NOW + 60
    assert (
        _asked(exp=None).expires == math.inf
    )  # RFC 7662 §2.2: optional, and the issuer is asked again
    for said, why in (
        ({"active": False}, "inactive"),
        ({"iss": "https://elsewhere.example"}, "issuer"),
        ({"exp": NOW}, "expired"),
        ({"aud": None}, "audience"),
        ({"sub": None}, "subject"),
    ):
        with pytest.raises(TokenRefused) as caught:
            _asked(**said)
        assert caught.value.why == why
    for body in (b"", b"[]", b'{"active":"yes"}'):
        with pytest.raises(Unusable):
            read_introspection(body, issuer=ISSUER, now=NOW, leeway_s=0)
