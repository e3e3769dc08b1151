"""What Groundhog's users send and read, cleaned and judged on the way, through every door that speaks it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from tests.behaviour.groundhog_house import DOORS, TERM, GroundhogHouse

pytestmark = pytest.mark.timeout(180)
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3


@pytest.fixture(params=DOORS)
def house(grounds: dict[str, GroundhogHouse], request: pytest.FixtureRequest) -> GroundhogHouse:
    return grounds[request.param]


@pytest.fixture
def door(request: pytest.FixtureRequest) -> str:
    return str(request.node.callspec.params["house"])


def said(result: dict[str, Any]) -> str:
    text: str = result["data"]["content"][0]["text"]
    return text


def recorded(house: GroundhogHouse, result: dict[str, Any]) -> dict[str, Any]:
    details: dict[str, Any] = house.records(result["security_context"]["audit_id"])[-1]["details"]
    return details


@pytest.mark.parametrize(
    ("tool", "secret", "rule"),
    [
        ("echo__echo", TOKEN, "github-token"),
        ("guarded__echo", "ann.lee@mail.test", "email"),
        ("echo__echo", TERM.upper(), "term"),
    ],
)
async def test_what_was_taken_out_of_a_result_is_told_with_the_sizes(
    house: GroundhogHouse, door: str, tool: str, secret: str, rule: str
) -> None:
    """GRH-out-1, GRH-out-2, GRH-out-3 and GRH-out-4: secrets, personal data where a tool says so, and terms; in the answer and in the record."""
    async with house.client(door) as client:
        result = await client.invoke(tool, {"message": f"a {secret} b"})
        plain = await client.invoke(tool, {"message": "a b"})
    assert said(result).startswith(f"a [REDACTED:{rule}:")
    assert said(result).endswith("] b")
    metadata = result["metadata"]
    assert metadata["redactions_applied"] == {rule: 1}
    grown = len(said(result)) - len(f"a {secret} b")
    assert metadata["sanitized_size"] - metadata["original_size"] == grown
    assert recorded(house, result)["redaction"] == metadata
    assert "metadata" not in plain
    assert "redaction" not in recorded(house, plain)


async def test_personal_data_stays_where_no_tool_says_otherwise(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-out-2."""
    async with house.client(door) as client:
        assert said(await client.invoke("echo__echo", {"message": "a@mail.test"})) == "a@mail.test"


async def test_what_nobody_sees_is_taken_out_of_parameters_and_recorded(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-val-3: the tool gets what was judged; the record has the digest of the original, and both sizes."""
    given = {"message": "a\x00b\u200bc"}
    async with house.client(door) as client:
        result = await client.invoke("echo__echo", given)
    assert said(result) == "abc"
    original = json.dumps(given, separators=(",", ":"), ensure_ascii=False).encode()
    clean = recorded(house, result)["sanitized"]
    assert clean["removed"] == 2
    assert hashlib.sha256(original).hexdigest() in json.dumps(clean)


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "..%2f..%2fetc/passwd", "a\x00b/../../../x", ".\u200b./.\u200b./x"]
)
async def test_a_path_that_leads_out_is_refused_however_it_is_written(
    house: GroundhogHouse, door: str, path: str
) -> None:
    """GRH-val-2: also where it shows only once what nobody sees has gone."""
    async with house.client(door) as client:
        refused = await client.refusal(
            "tools/invoke", {"tool_id": "guarded__echo", "parameters": {"message": path}}
        )
        kind = refused.data["error_type"], refused.data["error_code"]
        assert kind == ("security_error", "policy_violation")
        assert said(await client.invoke("echo__echo", {"message": "../x"})) == "../x"
