"""What the gateway answers by itself: every method and tool of its own, by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gatewright.app.own_methods import kernel_tools, own_methods


def test_every_method_of_the_gateway_is_answered() -> None:
    administration: Any = SimpleNamespace(methods={"gatewright/server/stop": None})
    office: Any = SimpleNamespace(who=None)
    kernel: Any = None
    permitting: Any = None
    assert set(own_methods(administration, office, permitting, kernel)) == {
        "gatewright/server/stop",
        "gatewright/policy/explain",
        "mgp/access/query",
        "mgp/access/grant",
        "mgp/access/revoke",
        "mgp/permission/request",
        "mgp/permission/await",
        "mgp/permission/response",
        "mgp/permission/grant",
        "tools/validate",
    }


def test_the_kernels_tools_belong_to_a_server_that_nobody_can_configure() -> None:
    office: Any = None
    server = kernel_tools(office)
    assert server.id == "mgp"
    assert server.status().tools == 3
