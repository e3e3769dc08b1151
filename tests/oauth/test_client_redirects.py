"""Where an issuer sends browsers back to, and what keeps the responses of two issuers apart."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from gatewright.oauth.client import (
    Client,
    Identity,
    configured_client,
    redirect_uri_at,
    redirect_uri_for,
    registration,
)
from gatewright.oauth.documents import AuthServer, Unusable

ISSUER = "https://as.example"
BACK = "http://127.0.0.1:8425/callback"
SERVER = AuthServer(
    ISSUER, f"{ISSUER}/authorize", f"{ISSUER}/token", f"{ISSUER}/register", documents=True
)


def server(**changes: Any) -> AuthServer:
    return msgspec.structs.replace(SERVER, **changes)


def test_each_issuer_has_a_redirect_uri_of_its_own() -> None:
    issuers = [ISSUER, f"{ISSUER}/", "https://AS.example", "https://other.example"]
    found = {
        redirect_uri_for(server(issuer=one), Identity(), client, BACK)
        for one in issuers
        for client in (None, Client(one, "i", redirect_uri=BACK))
    }
    assert found == {redirect_uri_at(BACK, one) for one in issuers}
    assert len(found) == len(issuers)
    assert all(re.fullmatch(rf"{re.escape(BACK)}/[0-9a-f]{{32}}", one) for one in found)


ELSEWHERE = ("https://elsewhere.example/x", "https://as.example:444/x", "http://as.example/x")
FIXED = Identity("i", "", ISSUER, redirect_uri=BACK)
PUBLISHED = Identity(metadata_url="https://me.example/c.json")
DOCUMENT_AT = Identity(
    "", "", ISSUER, metadata_url="https://me.example/c.json", redirect_uri=f"{BACK}/mine"
)


@pytest.mark.parametrize("endpoint", ["authorization_endpoint", "token_endpoint"])
@pytest.mark.parametrize("url", ELSEWHERE)
def test_a_fixed_redirect_uri_needs_one_origin_or_iss(endpoint: str, url: str) -> None:
    client = Client(ISSUER, "i", origin="configured")
    with pytest.raises(Unusable, match=r"not on the origin.*RFC 9207"):
        redirect_uri_for(server(**{endpoint: url}), FIXED, client, BACK)
    for good in (server(), server(sends_issuer=True, **{endpoint: url})):
        assert redirect_uri_for(good, FIXED, client, BACK) == BACK
    alone = Client(ISSUER, "i", origin="configured")
    found = redirect_uri_for(server(**{endpoint: url}), Identity("i", "", ISSUER), alone, BACK)
    assert found == redirect_uri_at(BACK, ISSUER)


@pytest.mark.parametrize("identity", [PUBLISHED, DOCUMENT_AT])
def test_a_document_is_used_where_iss_is_promised_and_has_a_redirect_uri_of_its_own(
    identity: Identity,
) -> None:
    """One origin for all endpoints is not enough: a page there can send the browser on to another issuer."""
    assert configured_client(server(), identity) is None
    client = configured_client(server(sends_issuer=True), identity)
    assert client is not None
    assert client.origin == "document"
    found = redirect_uri_for(server(sends_issuer=True), identity, client, BACK)
    assert found == (identity.redirect_uri or f"{BACK}/document")
    issuers = [ISSUER, "document", ""]
    assert found not in {redirect_uri_at(BACK, one) for one in issuers}
    with pytest.raises(Unusable, match=r"no clients by itself, and does not promise iss.*RFC 9207"):
        registration(server(registration_endpoint=None), BACK)


def test_a_fixed_redirect_uri_is_that_of_its_issuer_alone() -> None:
    other = server(issuer="https://other.example")
    for client in (None, Client("https://other.example", "i")):
        found = redirect_uri_for(other, FIXED, client, BACK)
        assert found == redirect_uri_at(BACK, "https://other.example")


@pytest.mark.parametrize("url", ELSEWHERE)
def test_who_registers_us_is_who_gets_the_code(url: str) -> None:
    with pytest.raises(Unusable, match=r"different origins.*RFC 9207"):
        registration(server(registration_endpoint=url), BACK)
    assert registration(server(registration_endpoint=url, sends_issuer=True), BACK).url == url
    both = server(registration_endpoint=url, token_endpoint=f"{url}/token")
    assert registration(both, BACK).url == url
