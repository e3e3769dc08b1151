"""Builds the HTTP request of an OpenAPI operation from tool arguments: path, query, headers, body, credentials.

Arguments are a model's, so nothing in them may change where a request goes or where it ends: whatever
stands in a path or query is encoded to the last character, a segment that would climb is refused, and a
header value has no control characters. Credentials are the operator's, by the name of the scheme that asks
for them; a caller's own are never here.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.patterns import Pattern
from gatewright.servers.openapi.document import Api, Body, Operation, Parameter

__all__ = ["BadArgument", "Prepared", "prepare"]

_UNPRINTABLE = Pattern(r"[^\x20-\x7e]")
_SLASHES = Pattern(r"[/\\]")
_TOKEN = Pattern(r"[A-Za-z0-9-]+")
_NAMED = Pattern(r"\{([^{}]*)\}")
_IN_PATHS = "/%:@!$&'()*+,;=?"
_DELIMITERS = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}


class BadArgument(ValueError):  # noqa: N818 - what it is, not what is wrong with us
    """An argument that cannot be sent. The text says which, and what would do."""


class Prepared(msgspec.Struct, frozen=True):
    """A request. `target` is path and query, to be put behind the base URL as it is."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None

    def __repr__(self) -> str:
        """Without headers and query, which may carry credentials."""
        return f"Prepared({self.method} {self.target.partition('?')[0]})"


def prepare(
    api: Api,
    operation: Operation,
    arguments: Mapping[str, Any],
    credentials: Mapping[str, str] | None = None,
) -> Prepared:
    """The request of one call. `credentials` are by security scheme. Raises `BadArgument`."""
    segments: dict[str, str] = {}
    query: list[tuple[str, str]] = []
    headers: dict[str, str] = {"Accept": "application/json, */*;q=0.5"}
    cookies: list[tuple[str, str]] = []
    for one in operation.parameters:
        value = arguments.get(one.argument)
        if value is None:
            if one.place == "path":
                raise BadArgument(f"{one.argument} is a part of the path and must be given")
            continue
        if one.place == "path":
            segments[one.name] = _segment(one, value)
        elif one.place == "header":
            _set(headers, one.name, _header(one.argument, _joined(one, value)))
        else:
            (query if one.place == "query" else cookies).extend(_pairs(one, value))
    _authorize(api, operation, credentials or {}, query, headers, cookies)
    if cookies:
        headers["Cookie"] = "; ".join(
            f"{quote(k, safe='')}={quote(v, safe='')}" for k, v in cookies
        )
    body = _body(operation, arguments, headers)
    text = "&".join(f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in query)
    path = _path(operation.path, segments)
    target = f"{path}?{text}" if text else path
    return Prepared(operation.method.upper(), target, headers, body)


# -- values


def _scalar(argument: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, jsonrpc.Num):
        return value.text
    if isinstance(value, str | int | float):
        return str(value)
    if value is None:
        return ""
    raise BadArgument(f"{argument} has a value inside a value, which cannot be written there")


def _joined(one: Parameter, value: Any) -> str:
    """A value in one text, its parts joined by commas (style `simple`)."""
    if one.as_json:
        return jsonrpc.encode(value).decode()
    name = one.argument
    if isinstance(value, list):
        return ",".join(_scalar(name, part) for part in value)
    if isinstance(value, dict):
        between = "=" if one.explode else ","
        return ",".join(f"{key}{between}{_scalar(name, part)}" for key, part in value.items())
    return _scalar(name, value)


def _segment(one: Parameter, value: Any) -> str:
    text = _joined(one, value)
    if not text or {".", ".."}.intersection(_SLASHES.split(text)):
        # Some servers decode a slash and then climb, so it does not help that it is encoded.
        raise BadArgument(f"{one.argument} may not be {text[:80]!r}: it would be another path")
    return quote(text, safe="")


def _path(template: str, segments: Mapping[str, str]) -> str:
    """The path with its arguments. What the document writes between them is encoded where no URL may have it."""
    parts = _NAMED.split(template.partition("#")[0])
    return "".join(
        segments[part] if number % 2 else quote(part, safe=_IN_PATHS)
        for number, part in enumerate(parts)
    )


def _set(headers: dict[str, str], name: str, value: str) -> None:
    """One header, of whose name there is no other in another spelling."""
    # Names of headers have no case (RFC 9110, 5.1): two spellings would be two lines.
    for known in [one for one in headers if one.lower() == name.lower()]:
        del headers[known]
    headers[name] = value


def _header(argument: str, text: str) -> str:
    if _UNPRINTABLE.search(text):
        raise BadArgument(f"{argument} goes into a header, which takes printable ASCII only")
    return text


def _pairs(one: Parameter, value: Any) -> Iterator[tuple[str, str]]:
    """A value as it stands in a query or a cookie."""
    name, argument = one.name, one.argument
    if one.as_json or not isinstance(value, list | dict):
        yield name, jsonrpc.encode(value).decode() if one.as_json else _scalar(argument, value)
    elif one.style == "deepObject" and isinstance(value, dict):
        for key, part in value.items():
            yield f"{name}[{key}]", _scalar(argument, part)
    elif one.explode:
        parts = value.items() if isinstance(value, dict) else ((name, part) for part in value)
        for key, part in parts:
            yield key, _scalar(argument, part)
    else:
        flat = value if isinstance(value, list) else [x for pair in value.items() for x in pair]
        between = _DELIMITERS.get(one.style, ",")
        yield name, between.join(_scalar(argument, part) for part in flat)


def _body(
    operation: Operation, arguments: Mapping[str, Any], headers: dict[str, str]
) -> bytes | None:
    body = operation.body
    if body is None or body.argument not in arguments:
        return None
    value = arguments[body.argument]
    headers["Content-Type"] = body.media
    if body.media == "text/plain":
        return _scalar(body.argument, value).encode()
    if body.media == "application/x-www-form-urlencoded":
        if not isinstance(value, dict):
            raise BadArgument(f"{body.argument} must be an object: it is sent as a form")
        form = Parameter(body.argument, "", "query", True, "form", True, False)
        pairs = (
            pair for key, part in value.items() for pair in _pairs(_field(form, body, key), part)
        )
        return "&".join(f"{quote(k, safe='')}={quote(v, safe='')}" for k, v in pairs).encode()
    return jsonrpc.encode(value)


def _field(form: Parameter, body: Body, name: str) -> Parameter:
    style, explode = body.styles.get(name, ("form", True))
    return msgspec.structs.replace(form, name=name, style=style, explode=explode)


# -- who we are there


def _authorize(
    api: Api,
    operation: Operation,
    credentials: Mapping[str, str],
    query: list[tuple[str, str]],
    headers: dict[str, str],
    cookies: list[tuple[str, str]],
) -> None:
    """Show the credentials of the first alternative for which there are all; none only where none has any."""
    wanted = filter(None, operation.security or ())
    chosen = next((one for one in wanted if all(name in credentials for name in one)), ())
    for name in chosen:
        scheme, secret = api.schemes.get(name, {}), credentials[name]
        kind, place = scheme.get("type"), scheme.get("in")
        named = str(scheme.get("name", ""))
        if kind == "apiKey" and place in ("query", "cookie"):
            pairs = query if place == "query" else cookies
            pairs[:] = [*(pair for pair in pairs if pair[0] != named), (named, secret)]
        elif kind == "apiKey":
            _set(headers, named, secret)
        elif kind == "http" and str(scheme.get("scheme", "")).lower() == "basic":
            headers["Authorization"] = f"Basic {b64encode(secret.encode()).decode()}"
        elif kind == "http":
            headers["Authorization"] = f"{_scheme(scheme)} {secret}"
        elif kind in ("oauth2", "openIdConnect"):  # both end in a bearer token
            headers["Authorization"] = f"Bearer {secret}"


def _scheme(scheme: Mapping[str, Any]) -> str:
    said = str(scheme.get("scheme", "bearer"))
    return "Bearer" if said.lower() == "bearer" or not _TOKEN.fullmatch(said) else said
