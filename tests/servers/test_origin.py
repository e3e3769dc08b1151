"""What stands behind the id of a server."""

from __future__ import annotations

from gc import collect
from weakref import ref

import pytest
from msgspec.structs import replace

from gatewright.mcp.client.endpoint import ApiPlace
from gatewright.oauth.client import Identity
from gatewright.servers.origin import origin_of
from gatewright.servers.spec import Auth, ServerSpec

SPEC = ServerSpec(id="x", command="serve", args=("a",), env={"A": "1", "B": "2"})


@pytest.mark.parametrize(
    "other",
    [
        replace(SPEC, command="other"),
        replace(SPEC, args=("b",)),
        replace(SPEC, env={"A": "1", "B": "3"}),
        replace(SPEC, cwd="/elsewhere"),
        replace(SPEC, python="module"),
        replace(SPEC, transport="http"),
        replace(SPEC, url="https://b.test"),
        replace(SPEC, headers={"Authorization": "Bearer b"}),
        replace(SPEC, api=ApiPlace("api.json")),
        replace(SPEC, auth=Auth(bearer="b")),
        replace(SPEC, auth=Auth(identity=Identity(client_id="b"))),
    ],
)
def test_another_program_address_or_account_is_another_origin(other: ServerSpec) -> None:
    assert origin_of(other) != origin_of(SPEC)
    assert len(origin_of(other)) == 16


@pytest.mark.parametrize(
    "same",
    [
        replace(SPEC, id="y"),
        replace(SPEC, env={"B": "2", "A": "1"}),
        replace(SPEC, call_s=1.0),
        replace(SPEC, stopped=True, problem="an operator stopped it"),
        replace(SPEC, tools={}, prefix="p", private=True),
    ],
)
def test_what_the_operator_says_of_it_changes_no_origin(same: ServerSpec) -> None:
    assert origin_of(same) == origin_of(SPEC)


API = ApiPlace("api.json", "https://api.test", {"key": "k"}, "ab")
IDENTITY = Identity("us", "secret", "https://auth.test", "https://us.test", ("read",), "http://us")


def test_each_setting_that_says_who_we_are_counts() -> None:
    full = replace(SPEC, api=API, auth=Auth("bearer", IDENTITY, "token"))
    others = [
        *(replace(full, api=replace(API, **{name: ""})) for name in ("document", "digest")),
        replace(full, api=replace(API, base_url="")),
        replace(full, api=replace(API, credentials={"key": "other"})),
        *(
            replace(full, auth=replace(full.auth, identity=replace(IDENTITY, **{name: empty})))
            for name in Identity.__struct_fields__
            for empty in [() if name == "scopes" else ""]
        ),
        replace(full, auth=replace(full.auth, type="none")),
        replace(full, auth=replace(full.auth, bearer="other")),
    ]
    assert len({*map(origin_of, [full, *others])}) == 1 + len(others)


class LaterAuth(Auth, frozen=True):
    later: str = ""


class LaterApi(ApiPlace, frozen=True):
    later: str = ""


def test_a_setting_that_a_later_version_has_besides_changes_no_origin() -> None:
    now = replace(SPEC, api=ApiPlace("api.json"), auth=Auth(bearer="b"))
    later = replace(SPEC, api=LaterApi("api.json"), auth=LaterAuth(bearer="b"))
    assert origin_of(later) == origin_of(now)
    assert origin_of(ServerSpec(id="x", transport="http", url="https://a.test")) == PINNED


PINNED = "7f6d20b9303295d7"
"""Tasks of an earlier gateway have it."""


class Watched(ServerSpec, frozen=True, kw_only=True, weakref=True):
    pass


def test_nothing_keeps_a_server_that_is_gone_nor_its_secrets() -> None:
    spec = Watched(id="x", env={"TOKEN": "t"})
    origin_of(spec)
    gone = ref(spec)
    del spec
    collect()
    assert gone() is None
