"""`Visitor`: requests to a console as a browser or a program makes them, with a cookie, over plain HTTP."""

from __future__ import annotations

import http.client
import json
import re
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.console.running import Console

__all__ = ["Said", "Visitor"]


class Said(NamedTuple):
    """What was answered."""

    status: int
    headers: dict[str, str]
    text: str

    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.text)


class Visitor:
    """Somebody who asks the console; signed in once `open` was called."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.cookie = ""
        self.csrf = ""
        where = urlsplit(console.url)
        self.host = where.netloc

    def open(self, token: str) -> Said:
        """Redeem a one-time token, and remember the session."""
        said = self.post("/open", {"token": token})
        self._keep(said)
        return said

    def sign_in(self, key: str) -> Said:
        """Show an operator's key, and remember the session."""
        said = self.post("/sign-in", {"key": key})
        self._keep(said)
        return said

    def _keep(self, said: Said) -> None:
        self.cookie = said.headers.get("set-cookie", "").partition(";")[0]
        if self.cookie:
            found = re.search(r'data-csrf="([^"]+)"', said.text)
            self.csrf = found[1] if found else ""

    def get(self, path: str, **headers: str) -> Said:
        """GET a path."""
        return self.ask("GET", path, b"", headers)

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Said:
        """POST a form."""
        given = {"content-type": "application/x-www-form-urlencoded", **headers}
        return self.ask("POST", path, urlencode(fields).encode(), given)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Said:
        """Ask the API."""
        text = b"" if body is None else json.dumps(body).encode()
        return self.ask(
            method, f"/api/v1{path}", text, {"content-type": "application/json", **headers}
        )

    def ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Said:
        """One request; an underscore in a header's name stands for a dash."""
        line = http.client.HTTPConnection(self.host, timeout=20)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            if self.cookie:
                given.setdefault("cookie", self.cookie)
            if self.csrf and method == "GET":
                given.setdefault("x-csrf-token", self.csrf)
            line.request(method, path, body, given)
            answer = line.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Said(answer.status, found, answer.read().decode())
        finally:
            line.close()
