"""What a server may send: what its revision and the negotiated extensions have, and what was declared."""

from __future__ import annotations

import logging

import pytest

from gatewright.call import Mgp
from gatewright.links.endpoint import Endpoint
from gatewright.links.sendable import NAMED_MOST, Sendable
from gatewright.protocol.mcp_client import Hello


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
    assert Sendable(lambda: spec).allows(method, Hello("2025-11-25")) is allowed


def test_an_extension_counts_where_it_was_negotiated() -> None:
    """MGP-1.2-2: not from a server that offered another one."""
    one = Sendable(lambda: Endpoint(id="a", methods=()))
    method = "notifications/mgp.lifecycle"
    assert one.allows(method, Hello("2025-11-25", mgp=Mgp("0.2.0", ("lifecycle",))))
    assert not one.allows(method, Hello("2025-11-25", mgp=Mgp("0.2.0", ("streaming",))))
    audit = "notifications/mgp.audit"
    assert not one.allows(audit, Hello("2025-11-25", mgp=Mgp("0.2.0", ("audit",))))


def test_a_connection_that_is_no_server_of_the_gateway_is_not_judged() -> None:
    assert Sendable(lambda: Endpoint(id="a")).allows("whatever/it is", None)


def test_each_method_is_named_once_and_not_for_ever_new_ones(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one = Sendable(lambda: Endpoint(id="a", methods=()))
    with caplog.at_level(logging.WARNING, "gatewright.links"):
        for number in range(2 * NAMED_MOST):
            one.warn(f"x/{number}")
            one.warn(f"x/{number}")
    assert len(caplog.records) == NAMED_MOST
    assert "server a sent 'x/0'" in caplog.text


def test_what_is_declared_later_counts_from_then_on() -> None:
    spec = Endpoint(id="a", methods=())
    one = Sendable(lambda: spec)
    assert not one.allows("notifications/acme.build", None)
    spec = Endpoint(id="a", methods=("notifications/acme.*",))
    assert one.allows("notifications/acme.build", None)
