"""Builds the HTTP request of an OpenAPI operation from tool arguments: path, query, headers, body, credentials.

Arguments are a model's, so nothing in them may change where a request goes or where it ends: whatever
stands in a path or query is encoded to the last character, a segment that would climb is refused, and a
header value has no control characters. Credentials are the operator's, by the name of the scheme that asks
for them; a caller's own are never here.

Arguments may have a mebibyte, of tens of thousands of values. So a URL and headers are as long as servers take them and no longer,
and all that is joined or encoded is made of small pieces, some in each step.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.patterns import Pattern
from gatewright.servers.openapi.document import Api, Body, Operation, Parameter

__all__ = ["BODY_CHARS", "HEADER_CHARS", "URL_CHARS", "BadArgument", "Prepared", "prepare"]

URL_CHARS = 64 * 1024
"""Characters of path and query, as they are sent. RFC 9110 §4.1 asks servers for 8,000; most take no more, few ten times that."""
HEADER_CHARS = 64 * 1024
"""Characters of all headers that arguments fill, cookies among them."""
BODY_CHARS = 16 * 1024 * 1024
"""Characters of a form: encoded a text is three times as long, and a field that is written once for each value as long as their product."""

_TOKEN = Pattern(r"[A-Za-z0-9-]+")
_IN_PATHS = "/%:@!$&'()*+,;=?"
_DELIMITERS = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}
_PIECE = 2 * 1024
"""Characters that are encoded at once."""
_STEP = 16 * 1024
_EACH = 50
"""Characters that are made in one step; making a piece of one character costs what so many do."""

_PAIRS = 50
"""Pairs that are gathered in one step."""

T = TypeVar("T")
Steps = Generator[None, None, T]
Headers = dict[str, tuple[str, str]]
"""Name in small letters → name and value: names of headers have no case (RFC 9110, 5.1), and two spellings would be two lines."""
Pair = tuple[str, Iterable[str]]
"""Name and value, the latter in pieces, of a query, a form or cookies."""


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
) -> Steps[Prepared]:
    """The request of one call, in steps. `credentials` are by security scheme. Raises `BadArgument`."""
    segments: dict[str, str] = {}
    query: list[Pair] = []
    headers: Headers = {"accept": ("Accept", "application/json, */*;q=0.5")}
    cookies: list[Pair] = []
    room = HEADER_CHARS
    for one in operation.parameters:
        value = arguments.get(one.argument)
        if value is None:
            if one.place == "path":
                raise BadArgument(f"{one.argument} is a part of the path and must be given")
            continue
        if one.place == "path":
            segments[one.name] = yield from _segment(one, value)
        elif one.place == "header":
            text = yield from _header(one, value, room)
            room -= len(text)
            _set(headers, one.name, text)
        elif one.place == "query":
            yield from _gather(query, _pairs(one, value), URL_CHARS, one.argument)
        else:
            yield from _gather(cookies, _pairs(one, value), room, one.argument)
    _authorize(api, operation, credentials or {}, query, headers, cookies)
    if cookies:
        # What arguments have is no more than `room` yet; encoded it may be. Credentials take none of it.
        room += sum(map(len, (credentials or {}).values()))
        cookie = yield from _written(_encoded(cookies, "; "), room, "what goes into cookies")
        _set(headers, "Cookie", cookie)
    body = yield from _body(operation, arguments, headers)
    target = yield from _written(_target(operation.path, segments, query), URL_CHARS, _IN_URL)
    return Prepared(operation.method.upper(), target, dict(headers.values()), body)


# -- pieces


_IN_URL = "what goes into the URL"


def _written(pieces: Iterable[str], room: int, what: str) -> Steps[str]:
    """Pieces in one text. Raises `BadArgument` as soon as there is no room for more characters."""
    found: list[str] = []
    length = due = 0
    for piece in pieces:
        length += len(piece)
        if length > room:
            raise BadArgument(
                f"{what} is too long: there is room for {URL_CHARS} characters in a URL, for {HEADER_CHARS} in all headers, and for {BODY_CHARS} in a form"
            )
        found.append(piece)
        due += _EACH + len(piece)
        if due >= _STEP:
            due = 0
            yield
    return "".join(found)


def _gather(found: list[Pair], pairs: Iterable[Pair], most: int, argument: str) -> Steps[None]:
    """Keep pairs, each of which is as many characters at least where it is written."""
    left = most
    for number, (key, pieces) in enumerate(pairs, 1):
        left -= len(key) + 2
        value = yield from _written(pieces, left, argument)
        left -= len(value)
        found.append((key, (value,)))
        if number % _PAIRS == 0:
            yield


def _quoted(text: str, safe: str = "") -> Iterator[str]:
    """A text as it stands in a URL, encoded to the last character."""
    for at in range(0, len(text), _PIECE):
        yield quote(text[at : at + _PIECE], safe=safe)


def _encoded(pairs: Iterable[Pair], between: str = "&") -> Iterator[str]:
    before = ""
    for key, pieces in pairs:
        yield before
        yield from _quoted(key)
        yield "="
        for piece in pieces:
            yield from _quoted(piece)
        before = between


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


def _joined(one: Parameter, value: Any) -> Iterator[str]:
    """The pieces of a value in one text, its parts joined by commas (style `simple`)."""
    if one.as_json or not isinstance(value, list | dict):
        yield jsonrpc.encode(value).decode() if one.as_json else _scalar(one.argument, value)
    else:
        yield from _parts(one, value, ",", "=" if one.explode else ",")


def _parts(one: Parameter, value: Any, between: str, within: str) -> Iterator[str]:
    """The pieces of a list, or of an object."""
    before = ""
    for key, part in value.items() if isinstance(value, dict) else ((None, part) for part in value):
        yield before
        if key is not None:
            yield key
            yield within
        yield _scalar(one.argument, part)
        before = between


def _segment(one: Parameter, value: Any) -> Steps[str]:
    text = yield from _written(_joined(one, value), URL_CHARS, one.argument)
    # Some servers decode a slash and then climb, so it does not help that it is encoded.
    climbed = f"/{text}/".replace("\\", "/")
    if not text or "/./" in climbed or "/../" in climbed:
        raise BadArgument(f"{one.argument} may not be {text[:80]!r}: it would be another path")
    return text


def _target(template: str, segments: Mapping[str, str], query: Iterable[Pair]) -> Iterator[str]:
    """Path and query. What the document writes between arguments of the path is encoded where no URL may have it."""
    *named, rest = template.partition("#")[0].split("}")
    for part in named:
        said, brace, name = part.rpartition("{")
        yield from _quoted(said if brace else f"{part}}}", _IN_PATHS)
        yield from _quoted(segments[name] if brace else "")
    yield from _quoted(rest, _IN_PATHS)
    before = "?"
    for piece in _encoded(query):
        yield before + piece
        before = ""


def _set(headers: Headers, name: str, value: str) -> None:
    """One header, of whose name there is no other in another spelling."""
    headers[name.lower()] = (name, value)


def _header(one: Parameter, value: Any, room: int) -> Steps[str]:
    text = yield from _written(_joined(one, value), room, one.argument)
    if not (text.isascii() and text.isprintable()):
        raise BadArgument(f"{one.argument} goes into a header, which takes printable ASCII only")
    return text


def _pairs(one: Parameter, value: Any) -> Iterator[Pair]:
    """A value as it stands in a query or a cookie."""
    name, argument = one.name, one.argument
    if one.as_json or not isinstance(value, list | dict):
        yield name, _joined(one, value)
    elif one.style == "deepObject" and isinstance(value, dict):
        for key, part in value.items():
            yield f"{name}[{key}]", (_scalar(argument, part),)
    elif one.explode:
        parts = value.items() if isinstance(value, dict) else ((name, part) for part in value)
        for key, part in parts:
            yield key, (_scalar(argument, part),)
    else:
        between = _DELIMITERS.get(one.style, ",")
        yield name, _parts(one, value, between, between)


def _body(
    operation: Operation, arguments: Mapping[str, Any], headers: Headers
) -> Steps[bytes | None]:
    body = operation.body
    if body is None or body.argument not in arguments:
        return None
    value = arguments[body.argument]
    _set(headers, "Content-Type", body.media)
    if body.media == "text/plain":
        return _scalar(body.argument, value).encode()
    if body.media == "application/x-www-form-urlencoded":
        if not isinstance(value, dict):
            raise BadArgument(f"{body.argument} must be an object: it is sent as a form")
        form = Parameter(body.argument, "", "query", True, "form", True, False)
        pairs = (
            pair for key, part in value.items() for pair in _pairs(_field(form, body, key), part)
        )
        return (yield from _written(_encoded(pairs), BODY_CHARS, body.argument)).encode()
    return jsonrpc.encode(value)


def _field(form: Parameter, body: Body, name: str) -> Parameter:
    style, explode = body.styles.get(name, ("form", True))
    return msgspec.structs.replace(form, name=name, style=style, explode=explode)


# -- who we are there


def _authorize(
    api: Api,
    operation: Operation,
    credentials: Mapping[str, str],
    query: list[Pair],
    headers: Headers,
    cookies: list[Pair],
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
            pairs[:] = [*(pair for pair in pairs if pair[0] != named), (named, (secret,))]
        elif kind == "apiKey":
            _set(headers, named, secret)
        elif kind == "http" and str(scheme.get("scheme", "")).lower() == "basic":
            _set(headers, "Authorization", f"Basic {b64encode(secret.encode()).decode()}")
        elif kind == "http":
            _set(headers, "Authorization", f"{_scheme(scheme)} {secret}")
        elif kind in ("oauth2", "openIdConnect"):  # both end in a bearer token
            _set(headers, "Authorization", f"Bearer {secret}")


def _scheme(scheme: Mapping[str, Any]) -> str:
    said = str(scheme.get("scheme", "bearer"))
    return "Bearer" if said.lower() == "bearer" or not _TOKEN.fullmatch(said) else said
