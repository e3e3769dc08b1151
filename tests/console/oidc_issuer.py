"""A real issuer of OpenID Connect for tests: it checks the client, the redirect URI and PKCE, and signs ID tokens."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.identity.issuing import Issuing
from tests.servers.guarded import serving

__all__ = ["CLIENT_ID", "SECRET", "OidcIssuer", "configured", "oidc_issuer"]

CLIENT_ID, SECRET = "console", "s+ecret/="


class OidcIssuer(Issuing):
    """`claims` go into each ID token, in place of its own where they have the same name; None leaves one out."""

    def __init__(self) -> None:
        super().__init__()
        self.clients = {CLIENT_ID: SECRET}
        self.method = "client_secret_basic"
        self.claims: dict[str, Any] = {"roles": ["ops"]}
        self.signer: Issuing = self
        self.gives_id_token = True

    def _exchange(self, client: str, form: dict[str, str]) -> web.Response:
        asked = self._codes.pop(form["code"], None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        good = (
            asked is not None
            and asked["client_id"] == client
            and asked["code_challenge"] == challenge
            and asked["redirect_uri"] == form["redirect_uri"]
            and "openid" in asked["scope"].split()
        )
        if not good or asked is None:
            return web.json_response({"error": "invalid_grant"}, status=400)
        answer = {"access_token": "opaque", "token_type": "Bearer"}
        if self.gives_id_token:
            said = {"iss": self.issuer, "nonce": asked["nonce"], **self.claims}
            audience = said.pop("aud", client)
            answer["id_token"] = self.signer.sign(audience, header={"typ": "JWT"}, **said)
        return web.json_response(answer)


def configured(issuer: str) -> str:
    """The table that lets its people in."""
    return f"""
[console.oidc]
issuer = "{issuer}"
client_id = "{CLIENT_ID}"
client_secret = "{SECRET}"
[console.oidc.roles]
ops = "operator"
team = "approver"
everybody = "viewer"
"""


@asynccontextmanager
async def oidc_issuer() -> AsyncIterator[OidcIssuer]:
    """One, running on this loop."""
    issuer = OidcIssuer()
    async with serving(issuer.app()) as origin:
        issuer.issuer = origin
        yield issuer
