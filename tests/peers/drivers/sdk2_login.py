"""A person with a host on the Python SDK 2: sent away without a token, logs in, and calls two tools.

python sdk2_login.py PLAN, with `url`, `era`, `tools` and `scope`. The person agrees to everything at once.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client  # type: ignore[import-not-found]
from mcp.client.auth import OAuthClientProvider  # type: ignore[import-not-found]
from mcp.client.streamable_http import streamable_http_client  # type: ignore[import-not-found]
from mcp.shared.auth import (  # type: ignore[import-not-found]
    AuthorizationCodeResult,
    OAuthClientMetadata,
)

__all__ = ["main"]

BACK = "http://127.0.0.1:6299/callback"
DEADLINE_S = 60.0


class Person:
    """Keeps what the provider gives, and follows the way to the authorization server and back."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None
        self.visits: list[str] = []
        self._code: AuthorizationCodeResult | None = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info

    async def visit(self, url: str) -> None:
        """What a browser does at the authorization server."""
        asked = parse_qs(urlsplit(url).query)
        self.visits.append(asked.get("scope", [""])[0])
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(url, follow_redirects=False)
        back = parse_qs(urlsplit(answer.headers["location"]).query)
        self._code = AuthorizationCodeResult(code=back["code"][0], state=back["state"][0])

    async def returned(self) -> AuthorizationCodeResult:
        """Where the browser came back to."""
        assert self._code is not None
        return self._code


async def main(plan: dict[str, Any]) -> dict[str, Any]:
    """What was seen: the answers, and with which scopes the person was sent away."""
    person = Person()
    metadata = OAuthClientMetadata(
        client_name="login",
        redirect_uris=[BACK],
        grant_types=["authorization_code", "refresh_token"],
        token_endpoint_auth_method="none",
    )
    provider = OAuthClientProvider(plan["url"], metadata, person, person.visit, person.returned)
    said = []
    async with asyncio.timeout(DEADLINE_S), httpx2.AsyncClient(auth=provider) as http:
        mode = {"legacy": "legacy", "modern": "2026-07-28"}[plan["era"]]
        async with Client(
            streamable_http_client(plan["url"], http_client=http), mode=mode
        ) as client:
            for tool in plan["tools"]:
                result = await client.call_tool(tool, {"message": "hello"})
                said.append(result.content[0].text)
    return {"said": said, "visits": person.visits}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))) + "\n")
