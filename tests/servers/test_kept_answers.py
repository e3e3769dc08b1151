"""What a caller was given before its grant was taken back: whether it is still handed out after that."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from gatewright.call import KERNEL, Target
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.server.kept_answers import About
from gatewright.servers.catalogue import Catalogue, Sight
from gatewright.servers.kept_answers import KeptAnswers
from gatewright.servers.listing import Listing
from gatewright.servers.spec import ServerSpec
from gatewright.servers.task_store import ServerTask
from tests.servers.test_catalogue import ANN, BOB
from tests.servers.test_server_catalogue import listing, tool

OFFER: dict[str, Any] = {
    "tools": [tool("t"), tool("u")],
    "prompts": [{"name": "p"}],
    "resources": [{"uri": "x:1", "name": "x"}, {"uri": "x:2", "name": "y"}],
}


def _catalogue() -> Catalogue:
    """Bob sees nothing of `b`, and of `a` no `u` and no `x:2`."""
    sight = Sight(
        lambda who, one: who is ANN or (one.target.server, one.target.name) == ("a", "t"),
        lambda who, server: who is ANN or server == "a",
        lambda: 0,
        lambda who, one: who is ANN or one.name == "x:1",
    )
    found = Catalogue([ServerSpec(id="a"), ServerSpec(id="b")], {}, sight)
    found.put("a", listing(**OFFER))
    found.put("b", listing(tools=[tool("t")], prompts=[{"name": "p"}]))
    return found


def _judging(
    found: Catalogue,
    made: Mapping[str, ServerTask] | None = None,
    specs: Mapping[str, ServerSpec] | None = None,
) -> KeptAnswers:
    fleet: Any = SimpleNamespace(catalogue=found, specs=specs or {})
    tasks: Any = SimpleNamespace(known=(made if made is not None else {}).get)
    return KeptAnswers(lambda: fleet, tasks)


@pytest.mark.parametrize(
    ("about", "kept_from_bob"),
    [
        (About("tool", "a__t"), False),
        (About("tool", "a__u"), True),
        (About("tool", "b__t"), True),
        (About("tool", "nobody__t"), True),
        (About("prompt", "a__p"), False),
        (About("prompt", "b__p"), True),
        (About("resource", "x:1"), False),
        (About("resource", "x:2"), True),
        (About("server", "a"), False),
        (About("server", "b"), True),
        (About("server", ""), False),
        (About("list", ""), False),
        (About("method", "x"), False),
    ],
)
def test_what_is_handed_out_is_what_may_still_be_seen(about: About, kept_from_bob: bool) -> None:
    found = _judging(_catalogue())
    assert found.withheld(BOB, "", about) is kept_from_bob
    assert found.withheld(ANN, "", about) is (about.name == "nobody__t")
    assert found.withheld(ANN, "gone", about) is (
        about.kind not in ("list", "method") and about.name != ""
    )


@pytest.mark.parametrize(("tool", "kept"), [("a__t", False), ("a__u", True), ("b__t", False)])
def test_what_a_tool_gave_is_judged_by_its_own_grant_while_its_server_is_away(
    tool: str, kept: bool
) -> None:
    """It may have gone right after it answered, and nobody is to make the call again for that. A grant for one tool alone
    lets its caller see no server, and one for a server not its tools that are denied."""
    found = _catalogue()
    sight = msgspec.structs.replace(
        found.sight, unlisted=lambda _, one: (one.server, one.name) in (("a", "t"), ("b", "t"))
    )
    found.sight = sight
    for server in ("a", "b"):
        found.put(server, Listing(Hello("2025-11-25", {"tools": {}}), {}, {"tools": "failed"}))
    assert _judging(found).withheld(BOB, "", About("tool", tool)) is kept


def test_a_tool_that_its_server_lists_no_more_is_judged_as_the_one_that_was_meant() -> None:
    found = _catalogue()
    found.sight = msgspec.structs.replace(found.sight, unlisted=lambda *_: True)
    judging = _judging(found)
    meant = judging.meant(BOB, "", About("tool", "a__t"))
    assert meant.target == Target("a", "t")
    found.put("a", listing(tools=[tool("u")]))
    assert not judging.withheld(BOB, "", meant)
    assert judging.withheld(BOB, "", About("tool", "a__t"))  # nobody knows any more what that was
    found.sight = msgspec.structs.replace(found.sight, unlisted=lambda *_: False)
    assert judging.withheld(BOB, "", meant)


def test_what_a_task_came_to_is_judged_as_what_its_tool_gave() -> None:
    made = {
        "task_1": ServerTask("task_1", "a", "c", "1", ("", "", ""), "t", 1.0),
        "task_2": ServerTask("task_2", "a", "c", "2", ("", "", ""), "u", 1.0),
        "task_3": ServerTask("task_3", "b", "c", "3", ("", "", ""), "", 1.0),
    }
    judging = _judging(_catalogue(), made)
    judging.own = {"gwtask_1": About("tool", "a__t"), "gwtask_2": About("tool", "a__u")}.get
    named = ("task_1", "task_2", "task_3", "gwtask_1", "gwtask_2", "task_4")
    kept = [judging.withheld(BOB, "", About("task", one)) for one in named]
    assert kept == [False, True, True, False, True, True]
    meant = judging.meant(BOB, "", About("task", "task_1"))
    made.clear()
    assert not judging.withheld(BOB, "", meant)
    assert judging.withheld(BOB, "", About("task", "task_1"))


def test_a_servers_own_method_and_a_completion_are_judged_by_whose_they_are() -> None:
    found = _catalogue()
    specs = {one: ServerSpec(id=one, methods=("x/y",)) for one in ("a", "b")}
    judging = _judging(found, specs=specs)
    assert judging.meant(BOB, "", About("method", "x/y")) == About("server", "a")
    asked = judging.meant(ANN, "", About("method", "x/y", "b"))
    assert asked == About("server", "b")
    assert judging.meant(ANN, "", About("method", "x/y")).kind == "method"  # of neither of them
    assert judging.withheld(BOB, "", asked)
    assert not judging.withheld(ANN, "", asked)
    found.put("b", listing(resourceTemplates=[{"uriTemplate": "y:{id}", "name": "y"}]))
    assert judging.withheld(BOB, "", About("template", "y:{id}"))
    assert not judging.withheld(ANN, "", About("template", "y:{id}"))


def test_what_is_of_a_server_is_judged_without_the_names_of_all_that_servers_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To name everything takes longer than to tell somebody one thing."""
    found = _catalogue()

    def no_view(*_: Any) -> Any:
        pytest.fail("a view was made")

    monkeypatch.setattr(found, "_view_of", no_view)
    judging = _judging(found)
    assert not judging.withheld(BOB, "", About("server", "a"))
    assert judging.withheld(BOB, "", About("server", "b"))
    assert not found._views


def test_a_tool_that_was_called_through_one_of_the_gateways_is_judged_itself() -> None:
    sight = Sight(lambda _, one: one.exposed != "a__u", lambda *_: True, lambda: 0)
    found = Catalogue([ServerSpec(id="a"), ServerSpec(id=KERNEL, local=True)], {}, sight)
    found.put("a", listing(**OFFER))
    found.put(KERNEL, listing(tools=[tool("tools.call")]))
    for inner, kept in (("a__t", False), ("a__u", True), ("", False)):
        assert _judging(found).withheld(BOB, "", About("tool", "mgp_tools_call", inner)) is kept
        assert not _judging(found).withheld(BOB, "", About("tool", "a__t", inner))
