"""Which operations a document has, and each of them as a tool."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.servers.openapi.document import Api, Operation, definition_of, read_api, server_url
from gatewright.servers.openapi.text import BadDocument


def api(paths: Any, version: str = "3.0.3", **more: Any) -> Api:
    info = {"title": "Pets", "version": "2"}
    return read_api(json.dumps({"openapi": version, "info": info, "paths": paths, **more}).encode())


def one(operation: Any, path: str = "/pets", method: str = "get", **more: Any) -> Operation:
    found = api({path: {method: operation}}, **more)
    assert found.left_out == ()
    return found.operations[0]


def left_out(operation: Any, path: str = "/pets") -> str:
    found = api({path: {"get": operation}})
    assert found.operations == ()
    return found.left_out[0]


def param(name: str, place: str = "query", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": {"type": "string"}, **more}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "no OpenAPI document"),
        ('{"swagger": "2.0"}', "no OpenAPI document"),
        ('{"openapi": "2.0"}', "is not read here"),
        ('{"openapi": "4.0.0"}', "is not read here"),
        ('{"openapi": "3.1.0"}', "has no paths"),
        ("{", "neither JSON nor YAML"),
    ],
)
def test_what_is_no_document_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(BadDocument, match=why):
        read_api(text.encode())


def test_json_and_yaml_say_the_same() -> None:
    text = b"openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths:\n  /a:\n    get: {operationId: a}\n"
    same = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}}
    same["paths"] = {"/a": {"get": {"operationId": "a"}}}
    assert read_api(text) == read_api(json.dumps(same).encode())


def test_parameters_and_body_are_one_schema() -> None:
    body = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
    item = {
        "parameters": [param("id", "path"), param("shared")],
        "post": {
            "operationId": "change",
            "parameters": [
                param("shared", required=True, description="wins"),
                param("X-Own", "header"),
            ],
            "requestBody": body,
        },
    }
    (found,) = api({"/pets/{id}": item}).operations
    assert found.schema == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "shared": {"type": "string", "description": "wins"},
            "X-Own": {"type": "string"},
            "body": {"type": "object"},
        },
        "additionalProperties": False,
        "required": ["id", "shared", "body"],
    }
    assert [(p.name, p.place, p.required) for p in found.parameters] == [
        ("id", "path", True),
        ("shared", "query", True),
        ("X-Own", "header", False),
    ]


def test_two_parameters_of_one_name_are_two_arguments() -> None:
    item = one({"parameters": [param("id", "path"), param("id"), param("id", "cookie")]}, "/x/{id}")
    assert [p.argument for p in item.parameters] == ["id", "id_query", "id_cookie"]


def test_headers_that_say_where_a_message_ends_are_no_arguments() -> None:
    names = ["Authorization", "Accept", "Host", "Content-Length", "Transfer-Encoding", "X-Fine"]
    found = one({"parameters": [param(name, "header") for name in names]})
    assert [p.name for p in found.parameters] == ["X-Fine"]


@pytest.mark.parametrize(
    ("operation", "path", "name"),
    [
        ({"operationId": "getPet"}, "/pets", "getPet"),
        ({"operationId": "pets.get one"}, "/pets", "pets_get_one"),
        ({}, "/pets/{id}/x", "get_pets_id_x"),
        ({"operationId": "é"}, "/", "get"),
        ({"operationId": "x" * 100}, "/", "x" * 64),
    ],
)
def test_a_tool_is_called_by_its_operation_else_by_its_path(
    operation: Any, path: str, name: str
) -> None:
    operation = {**operation, "parameters": [param("id", "path")] if "{id}" in path else []}
    assert one(operation, path).name == name


def test_each_name_is_given_once() -> None:
    found = api({f"/{n}": {"get": {"operationId": "same"}} for n in range(3)})
    assert [one.name for one in found.operations] == ["same", "same_2", "same_3"]


@pytest.mark.parametrize(
    ("method", "hints", "risk"),
    [
        ("get", (True, False, True), "safe"),
        ("head", (True, False, True), "safe"),
        ("post", (False, False, False), "moderate"),
        ("put", (False, True, True), "moderate"),
        ("patch", (False, True, False), "moderate"),
        ("delete", (False, True, True), "dangerous"),
    ],
)
def test_what_a_method_promises_is_hint_and_risk(method: str, hints: Any, risk: str) -> None:
    made = definition_of(one({}, method=method))
    said = made["annotations"]
    assert (said["readOnlyHint"], said["destructiveHint"], said["idempotentHint"]) == hints
    assert made["security"] == {"risk_level": risk}


def test_a_tool_says_what_the_operation_says() -> None:
    made = definition_of(one({"summary": "One pet", "description": "Reads one pet."}))
    assert (made["title"], made["description"]) == ("One pet", "Reads one pet.")
    assert definition_of(one({"summary": "One pet"}))["description"] == "One pet"
    assert definition_of(one({}))["description"] == "GET /pets"


@pytest.mark.parametrize(
    ("operation", "path", "why"),
    [
        ({}, "/pets/{id}", "names id"),
        ({"parameters": [{"in": "query"}]}, "/pets", "no name"),
        ({"parameters": [param("a", "body")]}, "/pets", "no place"),
        ({"parameters": [param("a", style="matrix")]}, "/pets", "style"),
        (
            {"parameters": [{"name": "a", "in": "query", "content": {"text/xml": {}}}]},
            "/pets",
            "JSON",
        ),
        ({"parameters": [{"$ref": "other.yaml#/p"}]}, "/pets", "out of the document"),
        (
            {"requestBody": {"required": True, "content": {"image/png": {}}}},
            "/pets",
            "image/png",
        ),
        ({"requestBody": {"$ref": "#/nowhere"}}, "/pets", "nowhere"),
    ],
)
def test_what_cannot_be_called_is_left_out_with_a_reason(
    operation: Any, path: str, why: str
) -> None:
    assert why in left_out(operation, path)


def test_the_rest_of_a_document_is_there_all_the_same() -> None:
    found = api({"/bad/{id}": {"get": {}}, "/good": {"get": {}}, "/odd": {"$ref": "#/x"}, "no": {}})
    assert [one.path for one in found.operations] == ["/good"]
    assert len(found.left_out) == 2


def test_bodies_are_written_as_the_document_prefers_it() -> None:
    form = "application/x-www-form-urlencoded"
    every: tuple[tuple[dict[str, Any], str], ...] = (
        ({"text/plain": {}, "application/json": {}}, "application/json"),
        ({"application/vnd.api+json; charset=utf-8": {}}, "application/vnd.api+json"),
        ({form: {}}, form),
        ({"text/plain": {}}, "text/plain"),
    )
    for content, media in every:
        body = one({"requestBody": {"content": content}}, method="post").body
        assert body is not None
        assert body.media == media
    assert one({"requestBody": {"content": {"image/png": {}}}}, method="post").body is None


def test_security_is_the_operations_own_else_the_documents() -> None:
    both: dict[str, Any] = {"security": [{"key": []}]}
    assert one({}, **both).security == (("key",),)
    assert one({"security": [{"a": [], "b": []}, {}]}, **both).security == (("a", "b"), ())
    assert one({"security": []}, **both).security == ()
    assert one({}).security is None


def test_a_server_url_has_the_defaults_of_its_variables() -> None:
    servers = [
        {
            "url": "https://{host}/v{n}",
            "variables": {"host": {"default": "x.test"}, "n": {"default": "1"}},
        }
    ]
    assert server_url(api({}, servers=servers)) == "https://x.test/v1"
    assert server_url(api({})) == "/"


def test_a_variable_in_a_default_is_text_and_a_url_has_an_end() -> None:
    doubling = {f"v{n}": {"default": f"{{v{n + 1}}}" * 2} for n in range(40)}
    servers: list[dict[str, Any]] = [{"url": "https://x/{v0}{other}{v3", "variables": doubling}]
    assert server_url(api({}, servers=servers)) == "https://x/{v1}{v1}{other}{v3"
    for url in ("{v}" * 5000 + "x", "x" * 9000, "x" * 8000 + "{v}" + "x" * 200, "{v}" + "x" * 9000):
        servers = [{"url": url, "variables": {"v": {"default": "yy"}}}]
        # Neither empty, which is the document's own URL, nor a part of it that could be one.
        assert len(server_url(api({}, servers=servers))) == 8193


def test_the_reason_why_an_operation_is_left_out_is_short() -> None:
    body = {"requestBody": {"required": True, "content": {"image/" + "x" * 5000: {}}}}
    assert len(left_out(body)) <= 500


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "get",
                    "parameters",
                    "name",
                    "in",
                    "schema",
                    "$ref",
                    "content",
                    "requestBody",
                    "type",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["/", "/a/{b}", "x"]), JSON), JSON)
def test_whatever_a_document_holds_is_read_or_left_out(paths: Any, components: Any) -> None:
    found = api(paths, components=components, security=components, servers=components)
    said = [json.dumps(definition_of(operation)) for operation in found.operations]
    assert len(said) == len({one.name for one in found.operations})


def test_a_small_document_makes_no_huge_list_of_tools() -> None:
    """Each of many operations brings along all that it refers to."""
    schemas = {"S": {"properties": {f"p{n}": {"type": "string"} for n in range(9_000)}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}}
    paths = {f"/{n}": {"post": {"requestBody": body}} for n in range(100)}
    found = api(paths, components={"schemas": schemas})
    assert 20 < len(found.operations) < 40
    assert len(found.left_out) == 100 - len(found.operations)
    assert "more schemas than there is room for" in found.left_out[0]


@pytest.mark.parametrize(
    "path", ["/a/../../admin", "/a/%2e%2e/b", "/a%2F..%2Fb", "/.", "/a\\..\\b"]
)
def test_a_path_that_climbs_is_left_out(path: str) -> None:
    assert "climbs" in left_out({}, path)


def test_a_form_with_a_field_in_an_unknown_style_is_left_out() -> None:
    form = {"encoding": {"f": {"style": "matrix"}}}
    body = {"content": {"application/x-www-form-urlencoded": form}}
    assert "the field 'f' of its body is written in the style" in left_out({"requestBody": body})


def test_a_header_that_the_operator_sends_is_no_argument() -> None:
    document = {
        "openapi": "3.1.0",
        "paths": {
            "/a": {
                "get": {
                    "parameters": [
                        param("X-Tenant", "header", required=True),
                        param("X-Other", "header"),
                    ]
                }
            }
        },
    }
    found = read_api(json.dumps(document).encode(), {"x-tenant"})
    assert [one.name for one in found.operations[0].parameters] == ["X-Other"]
    assert "required" not in found.operations[0].schema
