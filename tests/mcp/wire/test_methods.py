"""The names of messages: who may send what, and which names are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire.methods import (
    LONGEST,
    WORDS,
    declares,
    defined,
    flaw_of,
    flaw_of_pattern,
    is_known,
    reads_as,
)
from gatewright.mcp.wire.versions import LEGACY, METHODS, MODERN
from tests.mcp.wire.names import folded, spellings

KNOWN = [one.method for one in WORDS]
WIDE = ("acme/*", "acme.*", "x/*", "a/*", "v1/*", "notifications/acme.*", "rpc2/*")


def test_every_method_that_becomes_a_call_is_in_the_table() -> None:
    assert set(METHODS) <= set(KNOWN)
    for name, method in METHODS.items():
        for revisions, has in ((LEGACY, method.legacy), (MODERN, method.modern)):
            assert {defined(name, "client", one) for one in revisions} == {has}


@pytest.mark.parametrize("method", KNOWN)
def test_no_spelling_of_a_known_method_can_be_a_method(method: str) -> None:
    """C-62: thousands of spellings; what reads as a known method is told by the name of that."""
    seen = 0
    for spelled in spellings(method):
        if spelled == method:
            continue
        seen += 1
        assert flaw_of(spelled), ascii(spelled)
        assert not declares([*WIDE, spelled], spelled), ascii(spelled)
        assert not is_known(spelled) or spelled.startswith(("mgp/", "notifications/mgp."))
        if len(spelled) < LONGEST and folded(spelled) == folded(method):
            said = flaw_of(spelled)
            assert method in said or "U+" in said or "slash" in said, (ascii(spelled), said)
    assert seen > 400


@given(st.text(max_size=40), st.sampled_from(KNOWN))
def test_what_a_generous_reader_takes_for_a_known_method_is_never_declared(
    text: str, known: str
) -> None:
    for method in (text, text + known, known + text, f"acme/{text}{known}"):
        if method != known and folded(method) == folded(known):
            assert not declares([*WIDE, "acme/*"], method)
            assert method.startswith("mgp/") or flaw_of(method)


@pytest.mark.parametrize(
    "method",
    [
        "acme/report",
        "shutdown",
        "tools/export",
        "com.example/thing",
        "$/x",
        "a_b/c-d:e",
        "notifications/acme.x",
    ],
)
def test_a_plain_name_of_ones_own_can_be_a_method(method: str) -> None:
    assert flaw_of(method) == ""
    assert reads_as(method) == ""
    assert not is_known(method)
    assert declares([method], method)
    assert not declares([method + "x", method + "/*"], method)


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("", "slash"),
        ("acme//x", "slash"),
        ("/acme", "slash"),
        ("acme/", "slash"),
        ("acme/../x", "begins or ends"),
        ("acme/x y", "U+0020"),
        ("acme/\u043e", "U+043E"),
        ("-x", "begins or ends"),
        ("x" * 129, "128 characters"),
        ("tools/call" + " " * 200, "write tools/call"),
        ("Tools/Call", "tools/call is, and is spelled so"),
        ("mgp\\access\\grant", "mgp/access/grant"),
    ],
)
def test_a_name_that_cannot_be_a_method_is_told_why(method: str, says: str) -> None:
    assert says in flaw_of(method)


@pytest.mark.parametrize(
    "pattern",
    ["acme/*", "acme.*", "acme/report.*", "notifications/acme.*", "acme/x", "tools/export"],
)
def test_patterns_of_ones_own_name_space_can_be_declared(pattern: str) -> None:
    assert flaw_of_pattern(pattern) == ""


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "",
        "/*",
        "acme*",
        "a*c/x",
        "**",
        "tools/*",
        "Tools/*",
        "tools.*",
        "notifications/*",
        "notifications/tools/*",
        "notifications.*",
        "mgp/*",
        "mgp/x",
        "Mgp/x",
        "MGP/*",
        "gatewright/x",
        "gatewright/*",
        "notifications/mgp.*",
        "notifications/mgp.x",
        "rpc.*",
        *KNOWN,
        "Tools/Call",
        "tools//call",
        "tools/call ",
        "t00ls/ca11",
        "acme/x y",
    ],
)
def test_what_is_not_an_operators_to_give_cannot_be_declared(pattern: str) -> None:
    assert flaw_of_pattern(pattern)


def test_a_star_covers_what_follows_and_no_known_method() -> None:
    covered = ["acme/x", "acme/x/y", "acme/x.y"]
    not_covered = [
        "acme",
        "acme/",
        "Acme/x",
        "acmex/y",
        "acme/tools/call",
        "acme/Tools.Call",
        "acme/x/tools/call",
        "acme/initialize",
        "acme/\0",
    ]
    assert [one for one in (*covered, *not_covered) if declares(["acme/*"], one)] == covered
    assert declares(["acme/tools/call"], "acme/tools/call")  # in full, the operator means it


@pytest.mark.parametrize("space", ["acme/", "acme.", "acme/v1", "acme/a/b", "acme.v1"])
@pytest.mark.parametrize("sign", ["/", ".", ":", "-", "_", "$"])
@pytest.mark.parametrize("known", ["tools/call", "Tools/Call", "notifications/message", "mgp/foo"])
def test_a_star_covers_no_known_method_behind_any_name_space(
    space: str, sign: str, known: str
) -> None:
    """A server may take whatever stands before any sign for a name space, and run what follows."""
    assert not declares([space[:5] + "*"], f"{space}x{sign}{known}")
    assert not declares(["notifications/acme.*"], f"notifications/{space}x{sign}{known}")
    assert declares([space[:5] + "*"], f"{space}x{sign}y/z")


@pytest.mark.parametrize("name", ["notifications/acme.initialized", "notifications/acme.x.message"])
def test_a_star_covers_no_notification_without_its_name_space(name: str) -> None:
    assert not declares(["notifications/acme.*"], name)


def test_who_may_send_what_follows_the_revision_and_the_extensions() -> None:
    assert defined("elicitation/create", "server", "2025-06-18")
    assert not defined("elicitation/create", "server", "2025-03-26")
    assert not defined("elicitation/create", "client", "2025-06-18")
    assert not defined("elicitation/create", "server", "2026-07-28")
    assert defined("notifications/tools/list_changed", "server", "2026-07-28")
    assert not defined("notifications/tools/list_changed", "client", "2025-11-25")
    assert not defined("acme/x", "server", "2025-11-25", ("security",))
    assert defined("notifications/mgp.stream.chunk", "server", "2025-11-25", ("streaming",))
    assert not defined("notifications/mgp.stream.chunk", "server", "2025-11-25", ("security",))
    for nobodys in ("notifications/mgp.something", "mgp/anything", "gatewright/approve"):
        assert not defined(nobodys, "server", "2025-11-25", ("security",))
        assert not defined(nobodys, "client", "2025-11-25", ("security",))
