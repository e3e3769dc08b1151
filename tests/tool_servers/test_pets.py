"""The API of the tests answers as its docstring says."""

from __future__ import annotations

import json

import aiohttp
from openapi_spec_validator import OpenAPIV30SpecValidator

from tests.tool_servers.pets import DOCUMENT, pets


async def test_pets_are_read_made_and_taken_away_and_requests_are_kept() -> None:
    with pets() as api:
        async with aiohttp.ClientSession() as http:
            async with http.get(f"{api.url}/v1/pets/1?x=1") as answer:
                assert (await answer.json())["name"] == "Tom"
            async with http.post(f"{api.url}/v1/pets", json={"name": "Kit"}) as answer:
                assert (answer.status, await answer.json()) == (201, {"id": 7, "name": "Kit"})
            async with http.delete(f"{api.url}/v1/pets/1") as answer:
                assert answer.status == 204
        assert [(one.method, one.path) for one in api.seen] == [
            ("GET", "/v1/pets/1?x=1"),
            ("POST", "/v1/pets"),
            ("DELETE", "/v1/pets/1"),
        ]


def test_its_document_is_valid_but_for_the_reference_that_leads_out_of_it() -> None:
    inside = json.loads(json.dumps(DOCUMENT))
    del inside["paths"]["/elsewhere"]
    for item in inside["paths"].values():
        for operation in item.values():
            if isinstance(operation, dict):
                operation["responses"] = {"200": {"description": "fine"}}
    assert list(OpenAPIV30SpecValidator(inside).iter_errors()) == []
