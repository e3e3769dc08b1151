"""The console's JSON API (`/api/v1`): `run` checks the role, parses input, runs one operation; answers JSON, files, errors; OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from gatewright import __version__
from gatewright.console.guard import body_of
from gatewright.console.operations import ApiError, Asking, Download, Nothing, Operation, read
from gatewright.console.people import Person
from gatewright.mcp.wire import foreign_json

__all__ = ["ROOT", "ProblemBody", "answered", "document", "file_of", "problem", "run"]

ROOT = "/api/v1"
_JSON = "application/json"


class ProblemBody(msgspec.Struct, omit_defaults=True):
    """Why a request was not carried out."""

    code: str
    """For programs."""
    message: str
    hint: str = ""
    """What to do."""


async def run(
    operation: Operation, request: Request, person: Person, still: Callable[[], Person]
) -> Response:
    """Carry one operation out. `person` has asked for it; `still` says who that is now, as a body may come slowly, and a key or a role end
    meanwhile. Raises `ApiError`."""
    _check_role(person, operation)  # before the body is listened to
    given = await _given(operation, request)
    person = still()
    _check_role(person, operation)
    asking = Asking(person, request.path_params, given)
    result = await operation.run(asking)
    return file_of(result) if isinstance(result, Download) else answered(result)


class _File(StreamingResponse):
    def __init__(self, file: Download) -> None:
        headers = {"content-disposition": f'attachment; filename="{file.name}"'}
        super().__init__(file.pieces, media_type=file.media_type, headers=headers)
        self._done = file.done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._done()


def file_of(file: Download) -> Response:
    """A file, which browsers keep and do not show."""
    return _File(file)


def _check_role(person: Person, operation: Operation) -> None:
    """Raises `ApiError` where the person's role does not allow it."""
    if not person.may(operation.power):
        raise ApiError(
            403,
            "role",
            f"this takes the power to {operation.power}, which the role {person.role} does not have",
            "ask an operator",
        )


async def _given(operation: Operation, request: Request) -> Any:
    if operation.method == "GET":
        return read(operation.takes, dict(request.query_params), texts=True)
    body = await body_of(request)
    if operation.takes is Nothing:
        return Nothing()
    try:
        foreign_json.decode(body or b"{}")  # counts it
        return msgspec.json.decode(body or b"{}", type=operation.takes)
    except msgspec.ValidationError as problem:
        raise ApiError(422, "invalid", str(problem)) from None
    except ValueError as problem:
        raise ApiError(400, "no_json", f"the body is no JSON: {problem}") from None


def answered(result: Any, status: int = 200) -> Response:
    """A result as JSON."""
    return Response(msgspec.json.encode(result), status, media_type=_JSON)


def problem(error: ApiError) -> Response:
    """An error as JSON."""
    return answered(ProblemBody(error.code, error.message, error.hint), error.status)


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """The OpenAPI document of all operations."""
    shapes = [
        kind
        for one in operations
        for kind in (one.takes, one.gives)
        if kind not in (Nothing, Download)
    ]
    schemas, components = msgspec.json.schema_components(
        [*shapes, ProblemBody], ref_template="#/components/schemas/{name}"
    )
    by_shape = dict(zip(map(repr, [*shapes, ProblemBody]), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, by_shape, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Gatewright console",
            "version": __version__,
            "description": "What the console does. An operator's key is the bearer token.",
        },
        "servers": [{"url": ROOT}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(
    one: Operation, schemas: Mapping[str, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    names = [piece[1:-1] for piece in one.path.split("/") if piece.startswith("{")]
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in names
    ]
    found: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "tags": [one.name.partition(".")[0]],
        "x-power": one.power,
        "responses": {
            "200": _given_back(one, schemas),
            "default": _content("why not", schemas[repr(ProblemBody)]),
        },
    }
    if one.takes is not Nothing:
        schema = schemas[repr(one.takes)]
        if one.method == "GET":
            known = components[schema["$ref"].rpartition("/")[2]]
            required = known.get("required", ())
            parameters += [
                {"name": name, "in": "query", "required": name in required, "schema": said}
                for name, said in known["properties"].items()
            ]
        else:
            found["requestBody"] = {"required": True, "content": {_JSON: {"schema": schema}}}
    if parameters:
        found["parameters"] = parameters
    return found


def _given_back(one: Operation, schemas: Mapping[str, Any]) -> dict[str, Any]:
    if one.gives is Download:
        return {"description": "a file", "content": {"application/octet-stream": {}}}
    return _content("what was asked", {} if one.gives is Nothing else schemas[repr(one.gives)])


def _content(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {_JSON: {"schema": dict(schema)}}}
