"""HTTP to a console as a program would speak it: any header, any body, a cookie that was stolen, no browser that helps."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.console.running import Console

__all__ = ["Answer", "Raw", "cookie_of", "csrf_in", "signed_in"]

_WAIT_S = 60


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Raw:
    """One caller. `cookie` and `csrf` are what it has, empty where it has none."""

    def __init__(self, url: str, cookie: str = "", csrf: str = "") -> None:
        where = urlsplit(url)
        self.url = url
        self.host = where.hostname or ""
        self.port = where.port or 80
        self.cookie = cookie
        self.csrf = csrf

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """One request; a header that is None is left out."""
        said: dict[str, str | None] = {"Host": f"{self.host}:{self.port}"}
        if self.cookie:
            said["Cookie"] = self.cookie
        if self.csrf:
            said |= {"X-CSRF-Token": self.csrf, "X-Console-Idle": "0"}
        if body:
            said["Content-Length"] = str(len(body))
        said |= headers or {}
        line = http.client.HTTPConnection(self.host, self.port, timeout=_WAIT_S)
        try:
            line.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in said.items():
                if value is not None:
                    line.putheader(name, value)
            line.endheaders(body or None)
            found = line.getresponse()
            return Answer(found.status, found.headers, found.read())
        finally:
            line.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        """GET, with headers whose dashes are written as `_`."""
        return self.ask("GET", path, headers=_named(headers))

    def form(self, path: str, fields: Mapping[str, str], **headers: str | None) -> Answer:
        """POST of a form, with our token where we have one."""
        named = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, urlencode(fields).encode(), named | _named(headers))

    def api(self, method: str, path: str, given: Any = None, **headers: str | None) -> Answer:
        """An operation of the API, with our token where we have one."""
        named = {"Content-Type": "application/json"}
        body = b"" if given is None else json.dumps(given).encode()
        return self.ask(method, f"/api/v1{path}", body, named | _named(headers))


def _named(headers: Mapping[str, str | None]) -> dict[str, str | None]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def signed_in(console: Console, url: str = "") -> Raw:
    """Somebody who has opened a one-time URL (a new one, without `url`)."""
    token = (url or console.new_url()).partition("#")[2]
    found = Raw(console.url).form("/open", {"token": token})
    return Raw(console.url, cookie_of(found), csrf_in(found.text))


def cookie_of(answer: Answer) -> str:
    """The cookie that an answer sets, as it is sent back."""
    return (answer.headers["set-cookie"] or "").partition(";")[0]


class _Body(HTMLParser):
    token = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self.token = dict(attrs).get("data-csrf") or ""


def csrf_in(page: str) -> str:
    """The page key that a page has; empty where it has none."""
    reader = _Body()
    reader.feed(page)
    return reader.token
