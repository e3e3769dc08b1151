"""What worker processes do, order by order."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import msgspec

from gatewright.app.worker import answered
from gatewright.pins.definition import Read, read_definition
from gatewright.secret_scanning import Redactor

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
POLICY = Redactor(b"key", personal=frozenset({"email"}), terms=("Nightjar",)).policy


def said(load: bytes, **order: Any) -> tuple[dict[str, Any], bytes]:
    return answered(msgspec.json.encode(order), load)


def judged(validator: str, arguments: Any, **options: Any) -> dict[str, Any]:
    order = {"names": validator, "options": {validator: options}, "pointers": {}, "tool": "t"}
    return said(json.dumps(arguments).encode(), do="judge", **order)[0]


def test_arguments_are_judged_as_they_are_in_the_gateway() -> None:
    assert judged("readonly", {"sql": "select 1"}) == {"names": []}
    found = judged("readonly", {"sql": "delete from t"})
    assert (found["validator"], found["objection"]["path"]) == ("readonly", "/sql")
    assert found["objection"]["rule"] == "write_statement"


def test_names_that_have_to_be_looked_up_come_back_each_once() -> None:
    urls = [f"http://{name}.example.com/" for name in "aab"]
    found = judged("network_restricted", {"url": urls})
    assert [one[2] for one in found["names"]] == ["a.example.com", "b.example.com"]


def test_a_validator_that_is_not_there_is_an_error_and_no_permission() -> None:
    assert "is not available" in judged("strong", {})["error"]


def test_a_text_is_cleaned_with_the_marks_of_its_policy() -> None:
    raw = json.dumps({"content": [{"type": "text", "text": f"{TOKEN} of Nightjar"}]}).encode()
    plain = Redactor(b"key", personal=frozenset({"email"}), terms=("Nightjar",)).json(raw)
    head, text = said(raw, do="clean", policy=POLICY, report=False)
    assert (text, head["rules"]) == (plain.text, {"github-token": 1, "term": 1})
    _, reported = said(raw, do="clean", policy=POLICY, report=True)
    assert json.loads(reported)["_meta"]["dev.gatewright/redaction"]["original_size"] == len(raw)


def test_a_clean_text_does_not_travel_back() -> None:
    for raw in (b'{"a":"hello"}', b'{"a":"token: none"}'):
        assert said(raw, do="clean", policy=POLICY, report=True) == ({"rules": {}}, b"")


def test_results_are_fitted_to_their_schema() -> None:
    order = {"do": "fit", "schema": '{"properties":{"n":{"type":"integer"}}}', "depth": 32}
    order["subschemas"] = "100"
    exact = order | {"subschemas": 100}
    assert said(b'{"structuredContent":{"n":1}}', **exact)[0] == {"ok": True}
    assert said(b'{"content":[]}', **exact)[0] == {"ok": True}
    found = said(b'{"structuredContent":{"n":"x"}}', **exact)[0]["objection"]
    assert (found["path"], found["rule"]) == ("/n", "type")
    assert "unusable" in said(b'{"structuredContent":{}}', **exact | {"schema": "7"})[0]


def test_what_cannot_be_followed_is_an_error() -> None:
    assert "error" in said(b"", do="dance")[0]
    assert "error" in said(b"[", do="judge", names="paths", options={}, pointers={}, tool="t")[0]


def test_definitions_come_back_read_in_their_order() -> None:
    definitions = [{"name": "a", "description": "x"}, {"description": "y", "name": "b"}]
    load = json.dumps([[one["name"], one] for one in definitions]).encode()
    head, found = said(load, do="read")
    assert head == {}
    assert msgspec.json.decode(found, type=list[Read]) == [
        read_definition(
            one["name"], {k: msgspec.Raw(json.dumps(v).encode()) for k, v in one.items()}
        )
        for one in definitions
    ]
    assert "error" in said(b'[["a",{"x":NaN}]]', do="read")[0]


def test_the_resources_of_a_result_are_read_and_renamed() -> None:
    link = {"type": "resource_link", "uri": "x://a", "name": "n"}
    raw = json.dumps({"content": [link, link, {**link, "uri": "x://b"}]}).encode()
    head, _ = said(raw, do="named", method="tools/call")
    assert sorted(head["uris"]) == ["x://a", "x://b"]
    _, text = said(raw, do="led", method="tools/call", shown={"x://a": "y://a"})
    assert json.loads(text) == json.loads(raw.replace(b"x://a", b"y://a"))
    read = b'{"contents":[{"uri":"x://c","text":""}]}'
    assert said(read, do="named", method="tools/call")[0] == {"uris": []}
    assert said(read, do="named", method="resources/read")[0] == {"uris": ["x://c"]}
    assert "error" in said(b"{", do="named", method="tools/call")[0]


def test_what_the_gateway_holds_is_said_with_each_order() -> None:
    one, two = "opaque-token-8271", "opaque-token-9999"
    raw = f'{{"a":"{one} and {two}"}}'.encode()
    for held in ([one], [one, two], []):
        found = said(raw, do="clean", policy=POLICY, held=held, report=False)
        assert found[0]["rules"].get("own-secret", 0) == len(held)


def test_a_worker_loads_no_gateway() -> None:
    """It starts while a call waits for it, and each keeps in memory what it has loaded."""
    program = "import json, sys, gatewright.app.worker; json.dump([*sys.modules], sys.stdout)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], stdout=subprocess.PIPE, timeout=60, check=True
    )
    loaded = json.loads(done.stdout)
    assert "gatewright.validators.offload" in loaded
    heavy = {
        "aiohttp",
        "uvicorn",
        "sqlite3",
        "typer",
        "gatewright.kernel",
        "gatewright.app.gateway",
    }
    assert heavy.isdisjoint(loaded)
