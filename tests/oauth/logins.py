"""What tests of logins share: one server, its issuer, what they publish, and a machine."""

from __future__ import annotations

import itertools
import json
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from gatewright.oauth.client import Client, Form, Grant, Identity, redirect_uri_at
from gatewright.oauth.login import Get, Login, Step, Visit

__all__ = [
    "BACK",
    "CALLBACK",
    "ISSUER",
    "OURS",
    "TOKEN",
    "URL",
    "after_metadata",
    "form",
    "grant",
    "login",
    "metadata",
    "query",
    "resource",
]

URL = "https://h.example/mcp"
ISSUER = "https://as.example"
CALLBACK = "http://127.0.0.1:8425/callback"
TOKEN = b'{"access_token":"new","token_type":"Bearer","refresh_token":"next","expires_in":60}'
BACK = redirect_uri_at(CALLBACK, ISSUER)
OURS = Client(ISSUER, "id", "", "none", "registered", BACK)


def resource(**changes: Any) -> bytes:
    published = {"resource": URL, "authorization_servers": [ISSUER], "scopes_supported": ["all"]}
    return json.dumps(published | changes).encode()


def metadata(issuer: str = ISSUER, **changes: Any) -> bytes:
    published: dict[str, Any] = {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "registration_endpoint": f"{issuer}/register",
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    }
    return json.dumps(published | changes).encode()


def login(**given: Any) -> Login:
    numbers = itertools.count()
    given = {"identity": Identity(), "callback": CALLBACK, **given}
    return Login(URL, mint=lambda: f"{next(numbers):043d}", **given)


def query(step: Step) -> dict[str, str]:
    assert isinstance(step, Visit)
    return {name: values[0] for name, values in parse_qs(urlsplit(step.url).query).items()}


def form(step: Step) -> dict[str, str]:
    assert isinstance(step, Form)
    return dict(parse_qsl(step.body.decode()))


def after_metadata(machine: Login, **changes: Any) -> Step:
    assert isinstance(machine.start(), Get)
    assert isinstance(machine.replied(200, resource(), 0), Get)
    return machine.replied(200, metadata(**changes), 0)


def grant(**changes: Any) -> Grant:
    given = {"url": URL, "resource": URL, "client": OURS, "access_token": "old"}
    return Grant(**{**given, "refresh_token": "again", "scopes": ("basic",), **changes})
