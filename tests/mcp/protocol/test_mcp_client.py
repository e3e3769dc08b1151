"""Our hello, step by step, against every way a server may take it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from gatewright.mcp.protocol.mcp_client import (
    ASKABLE,
    Ask,
    Failed,
    Fallback,
    Handshake,
    Hello,
    Step,
    offered,
    relayed,
    without_mgp,
)
from gatewright.mcp.protocol.negotiate import EXTENSION, Face
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_SERVER_INFO,
    META_VERSION,
)
from gatewright.mcp.wire.jsonrpc import Response
from gatewright.mcp.wire.versions import LATEST_LEGACY, LATEST_MODERN, LEGACY

INFO = {"name": "gatewright", "version": "0"}
FACE = Face(("security", "audit"))


def machine(**more: Any) -> Handshake:
    return Handshake(info=INFO, **more)


def answer(ask: Step | None, result: Any = None, error: Any = None) -> Response:
    assert isinstance(ask, Ask)
    ident = str(ask.ident).encode()
    if error is not None:
        return Response(ident, error=json.dumps(error).encode())
    return Response(ident, result=json.dumps(result).encode())


def initialized(revision: str = LATEST_LEGACY, **more: Any) -> dict[str, Any]:
    return {"protocolVersion": revision, "capabilities": {}, "serverInfo": {"name": "s"}, **more}


def discovered(*versions: str, **more: Any) -> dict[str, Any]:
    return {"supportedVersions": list(versions), "capabilities": {"tools": {}}, **more}


def test_a_modern_server_is_met_with_one_request() -> None:
    handshake = machine()
    ask = handshake.start()
    assert (ask.method, ask.revision) == ("server/discover", LATEST_MODERN)
    assert ask.params["_meta"][META_VERSION] == LATEST_MODERN
    assert ask.params["_meta"][META_CLIENT_CAPABILITIES] == ASKABLE
    found = discovered(
        LATEST_MODERN, instructions="go", _meta={META_SERVER_INFO: {"name": "modern"}}
    )
    assert handshake.answered(answer(ask, found)) == Hello(
        LATEST_MODERN, {"tools": {}}, {"name": "modern"}, "go"
    )


def test_a_server_that_does_not_know_the_question_is_asked_the_old_way() -> None:
    handshake = machine()
    step = handshake.answered(answer(handshake.start(), error={"code": -32601, "message": "no"}))
    assert isinstance(step, Ask)
    assert step.method == "initialize"
    assert step.params == {
        "protocolVersion": LATEST_LEGACY,
        "capabilities": ASKABLE,
        "clientInfo": INFO,
    }
    hello = handshake.answered(answer(step, initialized(instructions="old")))
    assert hello == Hello(LATEST_LEGACY, {}, {"name": "s"}, "old")


@pytest.mark.parametrize("revision", LEGACY)
def test_each_legacy_revision_is_accepted_as_an_answer(revision: str) -> None:
    handshake = machine(era="legacy")
    hello = handshake.answered(answer(handshake.start(), initialized(revision)))
    assert isinstance(hello, Hello)
    assert (hello.revision, hello.modern) == (revision, False)


@pytest.mark.parametrize("revision", ["1999-01-01", LATEST_MODERN, None, 7])
def test_an_initialize_answer_of_no_handshake_revision_fails(revision: Any) -> None:
    handshake = machine(era="legacy")
    found = handshake.answered(answer(handshake.start(), initialized(revision)))
    assert isinstance(found, Failed)
    assert repr(revision) in found.reason


def test_silence_after_the_probe_leads_to_initialize() -> None:
    handshake = machine()
    handshake.start()
    assert handshake.probing
    step = handshake.silent()
    assert isinstance(step, Ask)
    assert step.method == "initialize"
    assert not handshake.probing


def test_a_late_modern_answer_counts_when_initialize_is_refused() -> None:
    handshake = machine()
    probe = handshake.start()
    step = handshake.silent()
    assert handshake.answered(answer(probe, discovered(LATEST_MODERN))) is None
    refusal = {"code": -32022, "message": "no", "data": {"supported": [LATEST_MODERN]}}
    hello = handshake.answered(answer(step, error=refusal))
    assert isinstance(hello, Hello)
    assert hello.modern


def test_a_late_refusal_of_the_probe_changes_nothing() -> None:
    handshake = machine()
    probe = handshake.start()
    step = handshake.silent()
    assert handshake.answered(answer(probe, error={"code": -32601, "message": "no"})) is None
    assert isinstance(handshake.answered(answer(step, initialized())), Hello)


@pytest.mark.parametrize("ident", [b"99", b'"text"', b"null"])
def test_an_answer_to_nobody_settles_nothing(ident: bytes) -> None:
    handshake = machine()
    handshake.start()
    assert handshake.answered(Response(ident, result=b"{}")) is None


def test_a_server_that_names_its_legacy_versions_gets_the_newest_of_them() -> None:
    handshake = machine()
    data = {"supported": ["2024-11-05", "2025-03-26", "1999-01-01"]}
    error = {"code": -32022, "message": "unsupported", "data": data}
    step = handshake.answered(answer(handshake.start(), error=error))
    assert isinstance(step, Ask)
    assert (step.method, step.params["protocolVersion"]) == ("initialize", "2025-03-26")


@pytest.mark.parametrize("supported", [[], ["1999-01-01"], None, "2025-11-25"])
def test_no_version_in_common_is_said_with_what_the_server_has(supported: Any) -> None:
    handshake = machine()
    error = {"code": -32022, "message": "unsupported", "data": {"supported": supported}}
    found = handshake.answered(answer(handshake.start(), error=error))
    assert isinstance(found, Failed)
    assert "no protocol version in common" in found.reason


@pytest.mark.parametrize(
    "word",
    [
        b'"%b"' % (b"A" * 900_000),
        b'"1\\n\\u001b[31m\\u202e"',
        b"9" * 5000,
        b'{"a":"%b"}' % (b"b" * 9999),
        b"null",
        b"7",
    ],
    ids=["long", "unseen", "digits", "object", "null", "number"],
)
def test_what_a_server_says_in_place_of_a_version_or_a_code_is_cut_and_visible(word: bytes) -> None:
    """These texts are the gateway's own to whoever reads them."""

    def said(era: str, text: bytes, **more: bytes) -> Step | None:
        handshake = machine(era=era)
        handshake.start()
        return handshake.answered(Response(b"1", result=text, **more))

    steps = (
        said("legacy", b'{"protocolVersion":%b}' % word),
        said("modern", b'{"supportedVersions":[%b]}' % b",".join([word] * 8)),
        said("legacy", b"", error=b'{"code":%b,"message":%b}' % (word, word)),
    )
    for step in steps:
        assert isinstance(step, Failed)
        assert len(step.reason) < 1200
        assert step.reason.isascii()
        assert step.reason.isprintable()


def test_a_server_that_refuses_the_version_it_names_is_asked_once_more() -> None:
    handshake = machine()
    error = {"code": -32022, "message": "unsupported", "data": {"supported": [LATEST_MODERN]}}
    again = handshake.answered(answer(handshake.start(), error=error))
    assert isinstance(again, Ask)
    assert (again.method, again.revision) == ("server/discover", LATEST_MODERN)
    assert isinstance(handshake.answered(answer(again, error=error)), Failed)


def test_a_discover_answer_without_our_version_goes_on_with_one_it_names() -> None:
    handshake = machine()
    step = handshake.answered(answer(handshake.start(), discovered("2025-06-18")))
    assert isinstance(step, Ask)
    assert step.params["protocolVersion"] == "2025-06-18"


@pytest.mark.parametrize("code", [-32020, -32021])
def test_other_errors_of_the_modern_era_are_final(code: int) -> None:
    handshake = machine()
    error = {"code": code, "message": "missing something"}
    found = handshake.answered(answer(handshake.start(), error=error))
    assert found == Failed(f"the server refused server/discover: missing something ({code})")


def test_a_configured_modern_server_is_never_asked_the_old_way() -> None:
    ways: list[Callable[[Handshake], Step | None]] = [
        lambda one: one.silent(),
        lambda one: one.refused(404, None),
        lambda one: one.answered(Response(b"1", error=b'{"code":-32601,"message":"no"}')),
        lambda one: one.answered(Response(b"1", result=b"{}")),
        lambda one: one.answered(
            Response(b"1", result=json.dumps(discovered(LATEST_LEGACY)).encode())
        ),
    ]
    for give_up in ways:
        handshake = machine(era="modern")
        handshake.start()
        assert isinstance(give_up(handshake), Failed)


def test_a_configured_legacy_server_is_never_probed() -> None:
    handshake = machine(era="legacy")
    assert handshake.start().method == "initialize"
    assert isinstance(handshake.silent(), Failed)


@pytest.mark.parametrize("status", [400, 404, 405, 406, 501])
def test_an_http_refusal_of_the_probe_leads_to_initialize(status: int) -> None:
    handshake = machine()
    handshake.start()
    step = handshake.refused(status, None)
    assert isinstance(step, Ask)
    assert step.method == "initialize"


@pytest.mark.parametrize("status", [400, 404, 405])
def test_an_http_refusal_of_initialize_leads_to_the_old_transport(status: int) -> None:
    handshake = machine()
    handshake.start()
    handshake.refused(404, None)
    assert handshake.refused(status, None) == Fallback()


@pytest.mark.parametrize("status", [401, 403, 500, 502, 503])
def test_refused_access_and_broken_servers_end_the_hello(status: int) -> None:
    handshake = machine()
    handshake.start()
    found = handshake.refused(status, None)
    assert isinstance(found, Failed)
    assert str(status) in found.reason


def test_a_modern_error_in_an_http_refusal_is_understood() -> None:
    handshake = machine()
    ask = handshake.start()
    data = {"supported": ["2025-11-25"]}
    error = {"code": -32022, "message": "unsupported", "data": data}
    step = handshake.refused(400, answer(ask, error=error))
    assert isinstance(step, Ask)
    assert step.params["protocolVersion"] == "2025-11-25"


def test_a_legacy_error_in_an_http_refusal_says_that_the_server_is_old() -> None:
    handshake = machine()
    handshake.start()
    refusal = Response(b"null", error=b'{"code":-32000,"message":"Server not initialized"}')
    step = handshake.refused(400, refusal)
    assert isinstance(step, Ask)
    assert step.method == "initialize"


@pytest.mark.parametrize("result", [b"[]", b"null", b'"x"', b'{"supportedVersions":3}'])
def test_an_answer_of_the_wrong_shape_is_not_taken_for_a_modern_one(result: bytes) -> None:
    handshake = machine()
    handshake.start()
    step = handshake.answered(Response(b"1", result=result))
    assert isinstance(step, Ask)
    assert step.method == "initialize"


def test_members_of_the_wrong_type_do_not_reach_the_hello() -> None:
    handshake = machine(era="legacy")
    odd = {"protocolVersion": LATEST_LEGACY, "capabilities": [], "serverInfo": 3, "instructions": 4}
    assert handshake.answered(answer(handshake.start(), odd)) == Hello(LATEST_LEGACY)


def test_mgp_2_4_2_a_plain_server_never_hears_of_mgp() -> None:
    for era in ("auto", "legacy"):
        assert "mgp" not in json.dumps(machine(era=era).start().params)


def test_mgp_2_2_1_an_mgp_server_finds_the_offer_in_all_three_places() -> None:
    handshake = machine(era="legacy", face=FACE)
    capabilities = handshake.start().params["capabilities"]
    offer = {"version": "0.2.0", "extensions": ["security", "audit"]}
    assert capabilities["mgp"] == offer
    assert capabilities["experimental"] == {"mgp": offer}
    assert capabilities["extensions"] == {EXTENSION: offer}


@pytest.mark.parametrize(
    "place",
    [
        lambda offer: {"mgp": offer},
        lambda offer: {"experimental": {"mgp": offer}},
        lambda offer: {"extensions": {EXTENSION: offer}},
    ],
)
def test_mgp_2_4_1_the_reply_is_read_from_any_place_and_intersected(place: Any) -> None:
    handshake = machine(era="legacy", face=FACE)
    reply = place({"version": "0.1.0", "extensions": ["audit", "streaming"]})
    hello = handshake.answered(answer(handshake.start(), initialized(capabilities=reply)))
    assert isinstance(hello, Hello)
    assert hello.mgp is not None
    assert (hello.mgp.version, hello.mgp.extensions) == ("0.1.0", ("audit",))


def test_a_broken_mgp_reply_leaves_plain_mcp_and_a_reason() -> None:
    handshake = machine(era="legacy", face=FACE)
    reply = {"mgp": {"version": "abc", "extensions": []}}
    hello = handshake.answered(answer(handshake.start(), initialized(capabilities=reply)))
    assert isinstance(hello, Hello)
    assert hello.mgp is None
    assert "semantic version" in hello.mgp_problem


def test_a_callers_own_mgp_offer_is_not_passed_on() -> None:
    offer = {"version": "0.2.0", "extensions": ["audit"]}
    theirs = {
        "mgp": offer,
        "experimental": {"mgp": offer, "vendor": 1},
        "extensions": {EXTENSION: offer},
        "roots": {},
    }
    assert without_mgp(theirs) == {"experimental": {"vendor": 1}, "roots": {}}
    assert relayed(theirs, None) == {"experimental": {"vendor": 1}, "roots": {}}
    ours = offered({}, FACE)["mgp"]
    assert relayed(theirs, FACE) == {
        "mgp": ours,
        "experimental": {"vendor": 1, "mgp": ours},
        "extensions": {EXTENSION: ours},
        "roots": {},
    }


TYPES: list[Any] = [None, True, 0, -1, 1.5, 10**30, "", "x" * 5000, [], [1], [[]], {}, {"a": [1]}]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_what_a_server_says_of_itself_in_any_type_is_a_hello_or_a_named_failure(era: Any) -> None:
    """Its name as a number, a list as its revision, capabilities that are none."""
    mgp = {"mgp": {"version": "0.2.0", "extensions": ["security"], "permissions_required": ["x"]}}
    info = {"name": "n", "version": "1"}
    said: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "serverInfo": info,
        "capabilities": {"tools": {"listChanged": True}, **mgp},
        "instructions": "i",
        "supportedVersions": ["2026-07-28"],
        "_meta": {"io.modelcontextprotocol/serverInfo": info},
    }
    found = 0
    for path in _paths(said):
        for value in TYPES:
            changed = copy.deepcopy(said)
            inner: Any = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            for whole in (changed, {"code": value, "message": value, "data": value}):
                shake = Handshake(info=INFO, era=era, face=FACE)
                ident = str(shake.start().ident).encode()
                text = json.dumps(whole).encode()
                error = whole is not changed
                answer = Response(ident, b"" if error else text, text if error else b"")
                step = shake.answered(answer)
                assert isinstance(step, (Hello, Failed, Ask)), step
                if isinstance(step, Hello):
                    assert isinstance(step.info, dict)
                    found += 1
    assert found > len(TYPES)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = list(value.items()) if isinstance(value, dict) else []
    pairs += list(enumerate(value)) if isinstance(value, list) else []
    return [path] * bool(path) + [
        one for key, inner in pairs for one in _paths(inner, (*path, key))
    ]
