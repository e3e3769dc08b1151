"""The list of features: what all of them together contribute, and that each finds what it needs before it."""

from __future__ import annotations

from pathlib import Path

from gatewright import pipeline
from gatewright.app.features import FEATURES, features_of
from gatewright.approvals.queue import ApprovalQueue
from gatewright.call_policy import CLOSED
from gatewright.feature import Counts, Inside, Rights, offered
from gatewright.kernel import Kernel
from gatewright.limits.polls import Polls
from gatewright.servers.administration import Administration
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.turns import GoingOn, Turns
from tests.feature_parts import ground, settings
from tests.kernel_parts import Book


async def _again() -> None:
    """Goes on with the same configuration."""


async def never(_: object) -> None:
    raise AssertionError("no server is started anew")


SPINE = {"authenticate", "session"}, {"links"}


def test_every_gate_and_filter_of_the_lists_is_of_one_feature_or_of_the_spine(
    tmp_path: Path,
) -> None:
    said = settings(tmp_path)
    rules = [one.rules(said) for one in features_of(FEATURES, ground(tmp_path))]
    gates = [name for one in rules for name in one.gates]
    filters = [name for one in rules for name in one.filters]
    assert sorted([*gates, *SPINE[0]]) == sorted(pipeline.Gates._fields)
    assert sorted([*filters, *SPINE[1]]) == sorted(pipeline.Filters._fields)


async def test_every_method_of_the_gateway_is_answered(tmp_path: Path) -> None:
    servers = Supervisor([], info={})
    inside = Inside(
        servers=servers,
        administration=Administration(servers, never, lambda *_: None, set()),
        kernel=Kernel(*CLOSED, Book()),
        gates=pipeline.Gates._fields,
        rights=Rights(),
        counts=Counts(),
        going_on=GoingOn(again=_again, in_line=_again, pressing=Turns().pressing),
    )
    on = ground(tmp_path, "[mcp.protocol.transport]\nport = 0\n")
    features = features_of(FEATURES, on)
    next(one for one in features if one.name == "events").around(servers)
    every = {one: set(one.methods(inside)) for one in features}
    methods = [name for names in every.values() for name in names]
    for one, names in every.items():
        assert set(one.open_methods) <= names, one.name
    closed = {name for name in methods if name.startswith("mgp/")}
    closed -= {name for one in features for name in one.open_methods}
    assert closed == {
        *("mgp/discovery/register", "mgp/discovery/deregister"),
        *("mgp/permission/response", "mgp/permission/grant"),
    }
    # MGP-1.5-2: what is neither MCP's nor Groundhog's has a prefix.
    assert {name for name in methods if not name.startswith(("mgp/", "gatewright/"))} == {
        "tools/validate",
        "tools/list",
        "tools/register",
    }
    assert len(methods) == len(set(methods))
    assert set(methods) == {
        "gatewright/policy/explain",
        "mgp/access/query",
        "mgp/discovery/deregister",
        "mgp/discovery/register",
        "mgp/access/grant",
        "mgp/access/revoke",
        "mgp/permission/request",
        "mgp/permission/await",
        "mgp/permission/response",
        "mgp/permission/grant",
        "mgp/events/subscribe",
        "mgp/events/unsubscribe",
        "mgp/callback/respond",
        "mgp/stream/cancel",
        "mgp/tools/discover",
        "mgp/tools/request",
        "mgp/tools/session",
        "mgp/tools/session/evict",
        "gatewright/tools/tokens",
        "gatewright/tools/index",
        "mgp/health/ping",
        "mgp/health/status",
        "mgp/lifecycle/shutdown",
        "tools/validate",
        "tools/list",
        "tools/register",
    }


def test_what_is_needed_of_another_feature_stands_before_it(tmp_path: Path) -> None:
    features = features_of(FEATURES, ground(tmp_path))
    names = [one.name for one in features]
    queue, polls = offered(features, ApprovalQueue), offered(features, Polls)
    assert queue is not None
    assert polls is not None
    for needs, needed in (
        ("approvals", "limits"),
        ("access", "approvals"),
        ("tasks", "approvals"),
        ("pins", "access"),
    ):
        assert names.index(needed) < names.index(needs)
    for kind in (Rights, Counts):
        assert offered(features, kind) is not None


def test_the_gateways_own_tools_are_named_to_what_pins_tools(tmp_path: Path) -> None:
    own = [name for one in features_of(FEATURES, ground(tmp_path)) for name in one.own_tools]
    assert len(own) == 9
    assert all(name.startswith(("mgp_access_", "mgp_tools_")) for name in own)
