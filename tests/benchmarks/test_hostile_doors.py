"""The hostile inputs of the doors: each has a name of its own, shapes are the same at each, and what is meant to be TLS or JSON is."""

from __future__ import annotations

import json
import ssl
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.hostile import (
    approvals,
    doors,
    finding,
    groundhog,
    mgp_server,
    own_questions,
    rooms,
    secured,
    sessions,
    streams,
    wishes,
)
from benchmarks.hostile.arguments import frames, objects, words
from benchmarks.hostile.certificate import made
from benchmarks.hostile.house import House
from gatewright.mcp.wire.jsonrpc import check
from gatewright.mcp.wire.methods import is_known
from gatewright.mcpx.envelope import Envelope, read

SIZE = 60_000
SHAPES = [name for name, _ in objects(SIZE)]
TEXTS = [name for name, _ in words(SIZE)]


class Nowhere:
    """A house in which nothing runs: enough to name what would be made."""

    key = operator = "key"

    @staticmethod
    def context() -> ssl.SSLContext:
        return ssl.create_default_context()


@pytest.fixture(scope="module")
def names() -> list[str]:
    return [name for name, _ in doors.attacks(cast("House", Nowhere()), SIZE)]


def test_each_input_has_a_name_of_its_own_that_begins_with_its_family(names: list[str]) -> None:
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert {name.partition(".")[0] for name in names} == set(doors.FAMILIES)
    assert all(doors.is_wanted(name) for name in names)
    assert not doors.is_wanted("readonly.sql.0.list")


@pytest.mark.parametrize(
    "place",
    [
        *("approvals.waiting", "approvals.answered", "approvals.answered_later", "approvals.changed"),
        *("groundhog.invoke", "groundhog.contract", "groundhog.context", "groundhog.session", "tls.said"),
        *("rooms.low.chat", "rooms.low.proposal", "rooms.full.request", "rooms.full.hello", "rooms.capabilities"),
        *("sessions.capabilities", "sessions.client"),
        *(f"methods.{method}" for method in sessions.METHODS),
        *streams.OBJECTS,
        *("discovery.discover", "discovery.request", "discovery.evict", "lifecycle.ping", "lifecycle.status"),
        *("lifecycle.shutdown", "registration.register", "registration.deregister"),
    ],
)  # fmt: skip
def test_whatever_takes_an_object_is_given_every_shape(names: list[str], place: str) -> None:
    assert {f"{place}.{shape}" for shape in SHAPES} <= set(names)


@pytest.mark.parametrize(
    "place",
    [
        *("approvals.shown", "groundhog.list", "wishes.level", "wishes.uri", "wishes.subscribe"),
        *("rooms.member.kind", "rooms.member.id", "methods.search"),
        *(f"methods.{method}.{member}" for method, (member, _) in sessions.TEXTS.items()),
        *streams.TEXTS,
        *(
            "discovery.discover.query",
            "discovery.auto",
            "discovery.category",
            "discovery.categories",
        ),
        *(
            "discovery.capabilities",
            "lifecycle.ping.timestamp",
            "registration.register.justification",
        ),
        "registration.let_in",
    ],
)
def test_whatever_takes_a_text_is_given_every_text(names: list[str], place: str) -> None:
    assert {f"{place}.{text}" for text in TEXTS} <= set(names)


@pytest.mark.parametrize("place", ["groundhog", "rooms"])
def test_doors_of_their_own_dialect_are_given_every_frame(names: list[str], place: str) -> None:
    assert {f"{place}.{name}" for name, _ in frames(SIZE)} <= set(names)


def test_a_quick_run_has_some_of_every_family(names: list[str]) -> None:
    quick = [name for name in names if doors.is_quick(name)]
    assert {name.partition(".")[0] for name in quick} == set(doors.FAMILIES)
    assert len(names) / 4 < len(quick) < len(names) * 3 / 4


def test_shapes_are_as_long_as_was_asked_for_or_as_much_as_is_let_in() -> None:
    for name, text in objects(100_000):
        assert text.startswith(b"{"), name
        assert len(text) <= 130_000, name
        assert len(text) >= 50_000 or name.endswith("let_in") or text.count(b"{}") == 9000, name
    for name, said in words(100_000):
        assert 16_000 <= len(said) <= 100_000, name


def test_all_methods_are_ours_and_have_room_for_a_shape() -> None:
    own = ("gatewright/", "tools/validate")
    assert all(is_known(one) or one.startswith(own) for one in (*sessions.METHODS, *sessions.TEXTS))
    for params in sessions.METHODS.values():
        assert isinstance(json.loads(params.replace(b"%b", b'{"a":1}')), dict)


def test_envelopes_are_what_rooms_take() -> None:
    found = read(rooms.envelope("low", "chat", b'{"text":"x"}', ("full",)))
    assert isinstance(found, Envelope)
    assert (found.sender, found.kind, found.to) == ("low", "chat", ("full",))


def test_contracts_are_schemas_of_objects_each_of_another_kind() -> None:
    found = dict(groundhog.schemas(SIZE))
    assert len(found) > 15
    assert {one["type"] for one in found.values()} == {"object"}
    assert len({json.dumps(one) for one in found.values()}) == len(found)


def test_forms_are_as_long_as_was_asked_for() -> None:
    found = dict(approvals.forms(10_000))
    assert len(found) > 8
    assert all(5_000 <= len(one) <= 10_000 for one in found.values())


def test_resources_are_so_many_of_the_length_that_is_meant() -> None:
    assert len(set(wishes.uris("long", 1100))) == 1100
    assert {len(one) // 1000 for one in wishes.uris("long", 1100)} == {8}
    assert max(map(len, wishes.uris("fitting", 1100))) <= 2048
    assert set(wishes.uris("same", 5)) == {"wish://a"}


class _Pair:
    """The server's side of a handshake, in memory, as a socket would carry it."""

    def __init__(self, folder: Path) -> None:
        certificate, key = made(folder)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.into, self.out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = self.context.wrap_bio(self.into, self.out, server_side=True)
        self.client = ssl.create_default_context(cafile=str(certificate))
        self.shaken = False

    def sendall(self, data: bytes) -> None:
        self.into.write(data)
        try:
            if not self.shaken:
                self.tls.do_handshake()
                self.shaken = True
        except ssl.SSLWantReadError:
            return

    def recv(self, _: int) -> bytes:
        return self.out.read()


@pytest.mark.parametrize("each", [1, 100, 16_384])
def test_records_are_as_long_as_was_asked_for_and_say_the_text(tmp_path: Path, each: int) -> None:
    pair: Any = _Pair(tmp_path)
    tunnel = secured.Tunnel(pair, pair.client)
    tunnel.shaken()
    assert pair.shaken
    pair.into.write(tunnel.records(b"x" * 300, each))
    lengths: list[int] = []
    while sum(lengths) < 300:
        lengths.append(len(pair.tls.read(16_384)))
    assert lengths[0] == min(each, 300)
    assert len(lengths) == -(-300 // each)


def test_a_greeting_in_records_of_one_byte_is_the_same_greeting() -> None:
    whole = secured.hello(ssl.create_default_context())
    assert whole[0] == 0x16
    split = secured.in_records(whole, 1)
    assert len(split) == 6 * (len(whole) - 5)
    assert split[5::6] == whole[5:]


def test_whatever_a_server_streams_and_tells_is_of_one_call_or_subscription() -> None:
    for kind in mgp_server.CHUNKS:
        if kind != "foreign":
            assert mgp_server.chunk(kind, 3, 7)["request_id"] == 7
    for kind in mgp_server.EVENTS:
        assert (mgp_server.event(kind, 3, "s1")["subscription_id"] == "s1") is (kind != "unasked")
    for kind in mgp_server.CALLBACKS:
        assert mgp_server.callback(kind, 3, 7)["request_id"] == 7


def test_each_manner_of_a_server_is_an_input_and_what_it_writes_is_json(names: list[str]) -> None:
    assert {own_questions.row(one) for one in mgp_server.MANNERS if one} <= set(names)
    said = {one.partition(".")[2]: len(mgp_server.written({"a": f"@{one.partition('.')[2]}"})) for one in mgp_server.MANNERS if "." in one}  # fmt: skip
    assert {name for name, size in said.items() if size > 1_000_000} == {"ones", "texts", "quotes", "escapes", "spaces"}  # fmt: skip
    assert {name for name, size in said.items() if 50_000 < size < 65_536} == {"lists", "decimals", "rows"}  # fmt: skip
    for name in said:
        assert check(mgp_server.written({"a": f"@{name}"}).encode()) is None


def test_subscriptions_and_requests_are_json_objects_of_their_methods() -> None:
    for _, params in streams.subscriptions(SIZE):
        assert isinstance(json.loads(params)["channels"], list)
    for method in (*finding.OBJECTS, *finding.FLOODED, *(one[0] for one in streams.TEXTS.values())):
        assert is_known(method), method
    for params in finding.OBJECTS.values():
        assert isinstance(json.loads(params.replace(b"%b", b"{}")), dict)
