"""The gateway as a protected resource: documents, challenges, and who is asked about a credential."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from gatewright.call import Refusal
from gatewright.mcp.server.http_responses import challenge
from gatewright.mcp.server.protected_resource import Protected

ISSUER = "https://auth.example"
BASE = "https://gw.example"
REFUSED = Refusal("auth_failed", "no")


class Known:
    """Tokens, of which `good` are for `places`."""

    def __init__(self, *places: str) -> None:
        self.places = set(places)
        self.asked: list[str] = []

    async def look(self, credential: str, places: Iterable[str] | None = None) -> Refusal | None:
        self.asked.append(credential)
        return None if credential == "good" and self.places & set(places or ()) else REFUSED


def _protected(known: Known, **more: Any) -> Protected:
    return Protected(BASE + "/", known, name="gw", issuers=[ISSUER], **more)


@pytest.mark.parametrize(
    ("audience", "path", "admitted"),
    [
        (BASE, "/mcp", True),
        (BASE, "/mcp/reader", True),
        (BASE, "/sse", True),
        (f"{BASE}/mcp", "/mcp", True),
        (f"{BASE}/mcp", "/mcp/reader", True),
        (f"{BASE}/mcp/reader", "/mcp/reader", True),
        (f"{BASE}/mcp/reader", "/mcp", False),
        (f"{BASE}/mcp/reader", "/mcp/writer", False),
        (f"{BASE}/rpc", "/mcp", False),
        (f"{BASE}/rpc", "/rpc/reader", True),
        (f"{BASE}/tools", "/profiles/reader/tools", False),
        (f"{BASE}/profiles/reader/tools", "/profiles/reader/tools", True),
        (f"{BASE}/sse", "/sse", True),
        (f"{BASE}/sse", "/messages", True),
        (f"{BASE}/messages", "/messages", True),
        (f"{BASE}/messages", "/sse", False),
        *(
            (f"{BASE}/mcp", path, False)
            for path in ("/rpc", "/tools", "/sse", "/messages", "/metrics", "/mcp2")
        ),
    ],
)
async def test_a_token_opens_what_it_was_made_for_and_what_stands_below(
    audience: str, path: str, admitted: bool
) -> None:
    found = await _protected(Known(audience)).look("good", path)
    assert found == (None if admitted else REFUSED)


def test_nobody_is_asked_about_our_own_keys() -> None:
    protected = _protected(Known())
    assert not protected.is_foreign("gw_key")
    assert not protected.is_foreign("gwt_of_the_gateway")
    assert protected.is_foreign("eyJ.a.b")


def test_every_endpoint_has_a_document_of_its_own() -> None:
    """RFC 9728 §3.3: about exactly the resource that was asked for."""
    protected = _protected(Known(), scopes=["a", "b"])
    assert json.loads(protected.document("/mcp/reader")) == {
        "resource": f"{BASE}/mcp/reader",
        "resource_name": "gw",
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["a", "b"],
    }
    assert json.loads(_protected(Known()).document(""))["resource"] == BASE


async def _told(status: int, *headers: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    tell = _protected(Known(), required=["mcp", "x"]).telling(send, "/mcp")
    await tell({"type": "http.response.start", "status": status, "headers": headers})
    await tell({"type": "http.response.body", "body": b"untouched"})
    assert sent[1] == {"type": "http.response.body", "body": b"untouched"}
    return list(sent[0]["headers"])


PLACE = b'resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp"'


async def test_each_challenge_says_where_the_document_is() -> None:
    (found,) = await _told(401, *challenge("auth_required"))
    assert found == (
        b"www-authenticate",
        b'Bearer realm="gatewright", ' + PLACE + b', scope="mcp x"',
    )
    (found,) = await _told(401, *challenge("auth_failed"))
    assert b'error="invalid_token"' in found[1]
    (found,) = await _told(403, *challenge("insufficient_scope", "mcp y"))
    assert found[1] == (
        b'Bearer realm="gatewright", error="insufficient_scope", scope="mcp y", ' + PLACE
    )


async def test_other_answers_stay_as_they_are() -> None:
    plain = (b"content-type", b"text/plain")
    assert await _told(200, plain) == [plain]
    assert await _told(403, plain) == [plain]
    assert challenge("issuer_unavailable") == ()
