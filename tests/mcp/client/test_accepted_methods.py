"""What a server may send: what its revision and the negotiated extensions have, and what was declared."""

from __future__ import annotations

import logging

import pytest

from gatewright.call import Mgp
from gatewright.mcp.client.accepted_methods import NAMED_MOST, AcceptedMethods
from gatewright.mcp.client.endpoint import Endpoint
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.protocol.negotiate import EXTENSIONS
from gatewright.mcp.wire.methods import WORDS, Word
from gatewright.mcp.wire.versions import LEGACY, MODERN


@pytest.mark.parametrize(
    ("method", "allowed"),
    [
        ("notifications/message", True),
        ("elicitation/create", True),
        ("notifications/acme.build", True),
        ("notifications/acme", False),
        ("notifications/mgp.lifecycle", False),
        ("tools/call", False),
        ("tasks/get", False),
        ("Notifications/Message", False),
    ],
)
def test_a_server_sends_what_its_revision_has_and_what_was_declared(
    method: str, allowed: bool
) -> None:
    spec = Endpoint(id="a", methods=("notifications/acme.*",))
    assert AcceptedMethods(lambda: spec).allows(method, Hello("2025-11-25")) is allowed


@pytest.mark.parametrize("word", WORDS, ids=lambda one: one.method)
@pytest.mark.parametrize("revision", [*LEGACY, *MODERN])
def test_a_request_needs_an_id_and_a_notification_has_none(word: Word, revision: str) -> None:
    spec = Endpoint(id="a", methods=("acme/*", "notifications/acme.*"))
    one, hello = AcceptedMethods(lambda: spec), Hello(revision, mgp=Mgp("0.2.0", EXTENSIONS))
    may = one.allows(word.method, hello)
    assert one.asks(word.method, hello) is (may and not word.notification)
    assert one.tells(word.method, hello) is (may and word.notification)
    assert one.asks("acme/x", hello)
    assert not one.tells("acme/x", hello)
    assert one.tells("notifications/acme.x", hello)
    assert not one.asks("notifications/acme.x", hello)


def test_an_extension_counts_where_it_was_negotiated() -> None:
    """MGP-1.2-2: not from a server that offered another one."""
    one = AcceptedMethods(lambda: Endpoint(id="a", methods=()))
    method = "notifications/mgp.lifecycle"
    assert one.allows(method, Hello("2025-11-25", mgp=Mgp("0.2.0", ("lifecycle",))))
    assert not one.allows(method, Hello("2025-11-25", mgp=Mgp("0.2.0", ("streaming",))))
    audit = "notifications/mgp.audit"
    assert not one.allows(audit, Hello("2025-11-25", mgp=Mgp("0.2.0", ("audit",))))


def test_a_connection_that_is_no_server_of_the_gateway_is_not_judged() -> None:
    one = AcceptedMethods(lambda: Endpoint(id="a"))
    assert one.allows("whatever/it is", None)
    assert one.asks("notifications/x", None)
    assert one.tells("whatever/it is", None)


def test_each_method_is_named_once_and_not_for_ever_new_ones(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one = AcceptedMethods(lambda: Endpoint(id="a", methods=()))
    with caplog.at_level(logging.WARNING, "gatewright.mcp.client"):
        for number in range(2 * NAMED_MOST):
            one.warn(f"x/{number}")
            one.warn(f"x/{number}")
    assert len(caplog.records) == NAMED_MOST
    assert "server a sent 'x/0'" in caplog.text


def test_what_is_declared_later_counts_from_then_on() -> None:
    spec = Endpoint(id="a", methods=())
    one = AcceptedMethods(lambda: spec)
    assert not one.allows("notifications/acme.build", None)
    spec = Endpoint(id="a", methods=("notifications/acme.*",))
    assert one.allows("notifications/acme.build", None)


def test_what_cannot_be_read_is_named_once_for_each_method(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sendable = AcceptedMethods(lambda: Endpoint(id="a"))
    for method in ("m/one", "m/two", "m/one", *(f"m/{number}" for number in range(100))):
        sendable.unread(method, "a notification of more than 7 bytes")
    assert caplog.text.count("('m/one')") == 1
    assert "server a sent a notification of more than 7 bytes" in caplog.text
    assert len(caplog.records) == NAMED_MOST
