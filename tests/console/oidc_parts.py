"""What a browser does that signs in at an issuer: it goes there, comes back with its cookie, and keeps what it is sent."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.console.in_process import Client, Within
from tests.console.raw import Answer
from tests.servers.guarded import user

__all__ = ["begun", "came_back", "cookies", "signed_in"]


def cookies(answer: Answer) -> dict[str, str]:
    """What an answer sets, by the end of the name."""
    found = {}
    for one in answer.headers.get_all("set-cookie") or []:
        name, _, value = one.partition(";")[0].partition("=")
        found["oidc" if "_oidc_" in name else "session"] = f"{name}={value}"
    return found


async def begun(client: Client, way: str = "/audit") -> tuple[str, str]:
    """The URL at the issuer, and the cookie of the sign-in."""
    answer = await client.get(f"/oidc/begin?next={way}")
    assert answer.status == 303, answer.text
    (cookie,) = answer.headers.get_all("set-cookie") or []
    words = {one.strip().lower() for one in cookie.split(";")}
    assert {"httponly", "samesite=lax", "path=/oidc/callback"} <= words
    return answer.headers["location"] or "", cookies(answer)["oidc"]


async def came_back(client: Client, url: str, cookie: str) -> Answer:
    """The browser comes back from another site."""
    where = urlsplit(url)
    headers = {"Cookie": cookie, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    return await client.get(f"{where.path}?{where.query}", headers)


async def signed_in(console: Within) -> Answer:
    client = console.nobody()
    url, cookie = await begun(client)
    return await came_back(client, await user(url), cookie)
