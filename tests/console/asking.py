"""Requests to the API of a running console: as a program with the operator's token, or as somebody who is signed in by a URL."""

from __future__ import annotations

import http.cookiejar
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from gatewright.cli.running import read_running, settings_here
from tests.console.running import Console

__all__ = ["Api", "signed_in"]


class Api:
    """Of one console. What is answered is the decoded body; an error of the API is its body with `status`."""

    def __init__(
        self,
        console: Console,
        headers: dict[str, str] | None = None,
        jar: http.cookiejar.CookieJar | None = None,
    ) -> None:
        self._base = f"{console.url}/api/v1"
        self._headers = headers or {"Authorization": f"Bearer {_token(console)}"}
        self._opener = _opener(jar or http.cookiejar.CookieJar())

    def get(self, path: str, /, **query: Any) -> Any:
        """Ask for something."""
        asked = f"?{urllib.parse.urlencode(query)}" if query else ""
        return self._send("GET", path + asked, None)

    def post(self, path: str, /, **given: Any) -> Any:
        """Have something done."""
        return self._send("POST", path, json.dumps(given).encode())

    def _send(self, method: str, path: str, body: bytes | None) -> Any:
        headers = {**self._headers, "Content-Type": "application/json"}
        request = urllib.request.Request(self._base + path, body, headers, method=method)  # noqa: S310 - our own address
        try:
            with self._opener.open(request, timeout=60) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as problem:
            with problem:
                return {"status": problem.code, **json.loads(problem.read())}


def signed_in(console: Console) -> Api:
    """As a browser does it that opens the URL of `serve`; what that may do follows from the configuration."""
    jar = http.cookiejar.CookieJar()
    base, _, token = console.sign_in_url.partition("/open#")
    body = urllib.parse.urlencode({"token": token}).encode()
    with _opener(jar).open(f"{base}/open", body, timeout=60) as page:  # it has the page key
        csrf = page.read().decode().partition('data-csrf="')[2].partition('"')[0]
    return Api(console, {"X-CSRF-Token": csrf}, jar)


def _token(console: Console) -> str:
    return read_running(settings_here(console.config).storage.path).operator_token


def _opener(jar: http.cookiejar.CookieJar) -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
