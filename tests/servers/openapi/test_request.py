"""Each argument at its place in the request, and nowhere else."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.servers.openapi.document import Api, read_api
from gatewright.servers.openapi.request import (
    HEADER_CHARS,
    URL_CHARS,
    BadArgument,
    Prepared,
    prepare,
)
from gatewright.transport.slices import whole
from tests.costs import cost, least

SCHEMES = {
    "head": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "api_key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "token": {"type": "http", "scheme": "Token"},
    "mutual": {"type": "mutualTLS"},
    "basic": {"type": "http", "scheme": "Basic"},
    "oauth": {"type": "oauth2", "flows": {}},
}


def api(operation: Any, path: str = "/pets", method: str = "get") -> Api:
    document = {
        "openapi": "3.0.3",
        "info": {},
        "paths": {path: {method: operation}},
        "components": {"securitySchemes": SCHEMES},
    }
    return read_api(json.dumps(document).encode())


def made(
    operation: Any,
    arguments: Any,
    path: str = "/pets",
    method: str = "get",
    credentials: Any = None,
) -> Prepared:
    found = api(operation, path, method)
    return whole(prepare(found, found.operations[0], arguments, credentials))


def param(place: str = "query", **more: Any) -> dict[str, Any]:
    return {"parameters": [{"name": "a", "in": place, "schema": {}, **more}]}


@pytest.mark.parametrize(
    ("more", "value", "target"),
    [
        ({}, "x y&z=1#é", "?a=x%20y%26z%3D1%23%C3%A9"),
        ({}, ["x", 1, True], "?a=x&a=1&a=true"),
        ({}, {"k": 1.5, "l": "m"}, "?k=1.5&l=m"),
        ({"explode": False}, ["x", "y"], "?a=x%2Cy"),
        ({"explode": False}, {"k": 1}, "?a=k%2C1"),
        ({"style": "pipeDelimited", "explode": False}, ["x", "y"], "?a=x%7Cy"),
        ({"style": "spaceDelimited", "explode": False}, ["x", "y"], "?a=x%20y"),
        ({"style": "deepObject"}, {"k": 1, "l": "m"}, "?a%5Bk%5D=1&a%5Bl%5D=m"),
        (
            {"schema": None, "content": {"application/json": {}}},
            {"k": [1]},
            "?a=%7B%22k%22%3A%5B1%5D%7D",
        ),
        ({}, None, ""),
        ({}, [], ""),
    ],
)
def test_a_query_is_written_in_the_style_of_the_document(
    more: Any, value: Any, target: str
) -> None:
    assert made(param(**more), {"a": value}).target == "/pets" + target


@pytest.mark.parametrize(
    ("value", "segment"),
    [
        ("x", "x"),
        ("a/b", "a%2Fb"),
        ("a..b/.x", "a..b%2F.x"),
        ("?q", "%3Fq"),
        ("%2e%2e", "%252e%252e"),
        (7, "7"),
        (["x", "y"], "x%2Cy"),
        ({"k": 1}, "k%2C1"),
    ],
)
def test_a_path_segment_stays_one(value: Any, segment: str) -> None:
    assert made(param("path"), {"a": value}, "/p/{a}/q").target == f"/p/{segment}/q"


@pytest.mark.parametrize("value", ["", ".", "..", "../x", "a/../b", "a\\..", None])
def test_a_segment_that_would_be_another_path_is_refused(value: Any) -> None:
    with pytest.raises(BadArgument):
        made(param("path"), {"a": value}, "/p/{a}/q")


def test_headers_and_cookies_are_set() -> None:
    assert made(param("header"), {"a": ["x", "y"]}).headers["a"] == "x,y"
    assert made(param("header", explode=True), {"a": {"k": 1}}).headers["a"] == "k=1"
    assert made(param("cookie"), {"a": "x; y=z"}).headers["Cookie"] == "a=x%3B%20y%3Dz"


@pytest.mark.parametrize("value", ["x\r\nX-Evil: 1", "\x00", "é", "\x7f"])
def test_a_header_cannot_begin_another(value: str) -> None:
    with pytest.raises(BadArgument, match="printable"):
        made(param("header"), {"a": value})


def test_values_within_values_have_no_form() -> None:
    with pytest.raises(BadArgument, match="inside a value"):
        made(param(), {"a": [[1]]})


@pytest.mark.parametrize(
    ("media", "value", "body"),
    [
        ("application/json", {"a": 1}, b'{"a":1}'),
        ("application/json", None, b"null"),
        ("application/merge-patch+json", [1], b"[1]"),
        ("application/x-www-form-urlencoded", {"a b": "c&d", "e": [1, 2]}, b"a%20b=c%26d&e=1&e=2"),
        ("text/plain", "héllo", "héllo".encode()),
    ],
)
def test_a_body_is_written_as_its_media_type_wants_it(media: str, value: Any, body: bytes) -> None:
    operation: Any = {"requestBody": {"content": {media: {"schema": {}}}}}
    found = made(operation, {"body": value}, method="post")
    assert (found.method, found.body, found.headers["Content-Type"]) == ("POST", body, media)
    assert made(operation, {}, method="post").body is None


@pytest.mark.parametrize(
    ("said", "value", "body"),
    [
        ({"style": "form", "explode": False}, ["x", "y"], b"f=x%2Cy&g=1&g=2"),
        ({"explode": False}, ["x", "y"], b"f=x%2Cy&g=1&g=2"),
        ({"style": "deepObject", "explode": True}, {"k": 1}, b"f%5Bk%5D=1&g=1&g=2"),
        ({"style": "pipeDelimited"}, ["x", "y"], b"f=x%7Cy&g=1&g=2"),
        ({"contentType": "text/plain"}, ["x", "y"], b"f=x&f=y&g=1&g=2"),
    ],
)
def test_a_field_of_a_form_is_written_as_the_document_says(
    said: Any, value: Any, body: bytes
) -> None:
    """OpenAPI 3.0.4, "Encoding Object"."""
    form = {"schema": {}, "encoding": {"f": said}}
    operation = {"requestBody": {"content": {"application/x-www-form-urlencoded": form}}}
    assert made(operation, {"body": {"f": value, "g": [1, 2]}}, method="post").body == body


def test_a_form_is_an_object() -> None:
    operation: Any = {"requestBody": {"content": {"application/x-www-form-urlencoded": {}}}}
    with pytest.raises(BadArgument, match="object"):
        made(operation, {"body": "x"}, method="post")


@pytest.mark.parametrize(
    ("security", "expected"),
    [
        ([{"head": []}], ("header", "X-Key", "s-head")),
        ([{"query": []}], ("query", "api_key", "s-query")),
        ([{"cookie": []}], ("header", "Cookie", "sid=s-cookie")),
        ([{"bearer": []}], ("header", "Authorization", "Bearer s-bearer")),
        ([{"token": []}], ("header", "Authorization", "Token s-token")),
        ([{"oauth": ["read"]}], ("header", "Authorization", "Bearer s-oauth")),
        ([{"basic": []}], ("header", "Authorization", "Basic cy1iYXNpYw==")),
        ([{"unknown": []}, {"head": []}], ("header", "X-Key", "s-head")),
    ],
)
def test_credentials_go_where_their_scheme_wants_them(security: Any, expected: Any) -> None:
    credentials = {name: f"s-{name}" for name in SCHEMES}
    found = made({"security": security}, {}, credentials=credentials)
    place, name, value = expected
    if place == "query":
        assert parse_qsl(urlsplit(found.target).query) == [(name, value)]
    else:
        assert found.headers[name] == value
    assert "s-" not in repr(found)


@pytest.mark.parametrize(
    "security", [None, [], [{}], [{"head": [], "bearer": []}], [{"mutual": []}], [{"unsaid": []}]]
)
def test_nothing_is_shown_that_is_not_asked_for(security: Any) -> None:
    operation = {} if security is None else {"security": security}
    found = made(
        operation, {}, credentials={"head": "s-head", "mutual": "s-mutual", "unsaid": "s-un"}
    )
    assert "s-" not in str(found.headers) + found.target


@pytest.mark.parametrize("security", [[{}, {"head": []}], [{"head": []}, {}]])
def test_where_nothing_has_to_be_shown_what_there_is_is_shown(security: Any) -> None:
    assert made({"security": security}, {}, credentials={"head": "s"}).headers["X-Key"] == "s"
    assert "X-Key" not in made({"security": security}, {}, credentials={}).headers


@pytest.mark.parametrize(
    ("scheme", "place", "name"), [("head", "header", "x-KEY"), ("query", "query", "api_key")]
)
def test_no_argument_stands_beside_a_credential_of_its_name(
    scheme: str, place: str, name: str
) -> None:
    parameters = [{"name": name, "in": place, "schema": {}}]
    operation = {"parameters": parameters, "security": [{scheme: []}]}
    found = made(operation, {name: "theirs"}, credentials={scheme: "ours"})
    assert "theirs" not in found.target + str(found.headers)
    assert "ours" in found.target + str(found.headers)


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/für/{a}/x y", "/f%C3%BCr/%7Ba%7D/x%20y"),
        ("/{a}/a%20b:c", "/%7Ba%7D/a%20b:c"),
        ("/x\r\nHost: y/{a}", "/x%0D%0AHost:%20y/%7Ba%7D"),
        ("/{a}#only-a-name", "/%7Ba%7D"),
        ("/{a}/{a}", "/%7Ba%7D/%7Ba%7D"),
    ],
)
def test_what_the_document_writes_into_a_path_is_sent_as_urls_have_it(
    path: str, target: str
) -> None:
    assert made(param("path"), {"a": "{a}"}, path).target == target


@given(st.text(), st.text())
def test_no_text_leaves_its_place(one: str, other: str) -> None:
    """Whatever an argument says, path and query have the parts that the document has."""
    operation = {
        "parameters": [
            {"name": "a", "in": "path", "schema": {}},
            {"name": "b", "in": "query", "schema": {}},
        ]
    }
    found = api(operation, "/p/{a}/q")
    try:
        one.encode()
        other.encode()
        target = whole(prepare(found, found.operations[0], {"a": one, "b": other})).target
    except (BadArgument, UnicodeEncodeError):
        return
    path, _, query = target.partition("?")
    assert target.isascii()
    assert path.split("/")[1:] == ["p", path.split("/")[2], "q"]
    assert unquote(path.split("/")[2]) == one
    assert parse_qsl(query, keep_blank_values=True) == [("b", other)]


FORM: Any = {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {}}}}}
TEXT = {"x": "\u00fd" * 500_000}
LONG = [
    (FORM, {"body": TEXT}),
    (FORM, {"body": {"x": ["a"] * 49_000}}),
    (FORM, {"body": {str(one): "a" for one in range(40_000)}}),
    (FORM, {"body": {"x": dict.fromkeys(map(str, range(40_000)), 1)}}),
    (param(), {"a": ["a"] * 15_900}),
    (param("header"), {"a": ["a"] * 32_000}),
]


@pytest.mark.parametrize(("operation", "arguments"), LONG, ids=range(len(LONG)))
def test_what_is_long_is_written_in_many_small_steps(operation: Any, arguments: Any) -> None:
    """Whoever calls something else meanwhile waits for one of them and not for all."""
    found = api(operation)

    def longest() -> float:
        steps = prepare(found, found.operations[0], arguments)
        costs: list[float] = []
        done: list[bool] = []
        while not done:
            costs.append(cost(lambda: done.append(True) if next(steps, True) else None))
        return max(costs) / sum(costs)

    assert least(longest, 0.2) <= 0.2


@pytest.mark.parametrize(
    "value", ["a" * URL_CHARS, "\u00fd" * (URL_CHARS // 6 + 1), ["a"] * 40_000]
)
@pytest.mark.parametrize("place", ["path", "query"])
def test_a_url_that_no_server_reads_is_refused(place: str, value: Any) -> None:
    with pytest.raises(BadArgument, match="too long"):
        made(param(place), {"a": value}, "/p/{a}" if place == "path" else "/p")


def test_a_value_that_stands_twice_in_a_path_is_counted_twice() -> None:
    """A document may name one argument as often as it likes."""
    value = "a" * 1000
    assert len(made(param("path"), {"a": value}, "/{a}" * 60).target) == 60 * 1001
    with pytest.raises(BadArgument, match="too long"):
        made(param("path"), {"a": value}, "/{a}" * 70)


@pytest.mark.parametrize(
    "places", [("header", "header"), ("cookie", "cookie"), ("header", "cookie")]
)
def test_headers_share_their_room(places: tuple[str, str]) -> None:
    both: list[Any] = [
        {"name": name, "in": place, "schema": {}} for name, place in zip("ab", places, strict=True)
    ]
    half = "a" * (HEADER_CHARS // 2 - 10)
    assert half in str(made({"parameters": both}, {"a": half, "b": half}).headers)
    with pytest.raises(BadArgument, match="too long"):
        made({"parameters": both}, {"a": half, "b": f"{half}{'a' * 30}"})


@given(st.text(alphabet="./\\ab"))
def test_a_part_that_climbs_is_found_wherever_it_stands(text: str) -> None:
    climbs = not text or {".", ".."} & set(text.replace("\\", "/").split("/"))
    try:
        made(param("path"), {"a": text}, "/p/{a}")
    except BadArgument:
        assert climbs
    else:
        assert not climbs


@given(st.text(alphabet="{}a/"))
def test_what_a_path_names_is_read_as_the_document_is(path: str) -> None:
    """The innermost braces are a name; what else is braces stands for itself."""
    try:
        found = api(param("path"), f"/{path}").operations
    except ValueError:
        return
    for one in found:
        written = unquote(whole(prepare(api(param("path")), one, {"a": "(x)"})).target)
        assert written == f"/{path}".replace("{a}", "(x)")


def test_a_form_is_bounded_whatever_its_arguments_are_multiplied_to() -> None:
    """A field is written once for each of its values."""
    form = {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}}
    value = {"n" * 5000: [1] * 3000}
    assert len(made({"requestBody": form}, {"body": {"n": [1] * 3000}}).body or b"") > 3000
    with pytest.raises(BadArgument, match="too long"):
        made({"requestBody": form}, {"body": {**value, "m" * 5000: [1] * 3000}})
