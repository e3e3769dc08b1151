"""Every kind of call finds its owner, through real servers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from gatewright.call import Answer, Back, Call, Client, Event, Failure, Mgp, Outcome, Target, Tool
from gatewright.mcp.wire.headers_and_meta import META_SERVER
from gatewright.secret_scanning.chunks import CHUNK
from gatewright.servers.catalogue import EVERYTHING, Sight
from gatewright.servers.client_notices import connection_of
from gatewright.servers.dispatch import Builtin, Dispatch
from gatewright.servers.listing import EMPTY
from gatewright.servers.names import wrap_uri
from gatewright.servers.server_set import ServerSet
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.view import Profile
from tests.servers.rig import (
    ASKABLE,
    LEGACY,
    FakeBack,
    ask,
    dispatch,
    make_call,
    python,
    result,
    running,
    said,
    text,
    within,
)


@pytest.fixture
async def two() -> AsyncIterator[Supervisor]:
    async with running(python("asker"), python("extras")) as supervisor:
        yield supervisor


async def put(supervisor: Supervisor, call: Call, back: FakeBack | None = None) -> Outcome:
    led = dispatch(supervisor)
    outcome: Outcome = await within(led(led.about(call), back or FakeBack()))
    return outcome


async def test_a_tool_is_called_by_its_own_name(two: Supervisor) -> None:
    outcome = await ask(
        two, "extras/mirror", {"value": 2**70, "x": None}, meta={"traceparent": "t"}
    )
    assert isinstance(outcome, Answer)
    assert b'"name":"mirror"' in outcome.raw
    assert b'"value":1180591620717411303424' in outcome.raw
    assert b'"_meta":{"traceparent":"t"}' in outcome.raw


async def test_a_prompt_is_fetched_by_its_own_name(two: Supervisor) -> None:
    target = two.catalogue.prompt("", "asker__greet")
    params = {"name": "asker__greet", "arguments": {"who": "Ann"}}
    found = result(await put(two, make_call("prompt", "prompts/get", params, target=target)))
    assert found["messages"][0]["content"]["text"] == "Hello Ann"


async def test_a_resource_is_read_by_its_own_uri(two: Supervisor) -> None:
    for uri in ("asker:///beta", "asker:///made/word"):
        call = make_call("resource", "resources/read", {"uri": uri})
        target = two.catalogue.resource("", uri, call.caller)
        assert target == Target("asker", uri)
        call = make_call("resource", "resources/read", {"uri": uri}, target=target)
        assert result(await put(two, call))["contents"][0]["text"] == f"This is {uri}"


async def test_lists_are_answered_without_asking_anybody(two: Supervisor) -> None:
    for method, member in (
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ):
        found = result(await put(two, make_call("list", method)))
        assert found[member], method


async def test_a_cursor_was_never_given_out_and_an_unknown_list_does_not_exist(
    two: Supervisor,
) -> None:
    cursor = await put(two, make_call("list", "tools/list", {"cursor": "1"}))
    assert isinstance(cursor, Failure)
    assert cursor.reason == "invalid_params"
    unknown = await put(two, make_call("list", "vendor/list"))
    assert isinstance(unknown, Failure)
    assert unknown.reason == "method_not_found"


@pytest.mark.parametrize(
    "ref",
    [
        {"type": "ref/prompt", "name": "asker__greet"},
        {"type": "ref/resource", "uri": "asker:///made/{word}"},
        {"type": "ref/resource", "uri": "asker:///alpha"},
    ],
)
async def test_completion_goes_to_the_owner_of_its_reference(
    two: Supervisor, ref: dict[str, Any]
) -> None:
    params = {"ref": ref, "argument": {"name": "who", "value": "al"}}
    found = result(await put(two, make_call("method", "completion/complete", params)))
    assert found["completion"]["values"] == ["alice", "albert"]


@pytest.mark.parametrize(
    "ref", [None, {}, {"type": "ref/prompt", "name": "none"}, {"type": "ref/prompt", "name": 3}]
)
async def test_completion_of_nothing_is_refused(two: Supervisor, ref: Any) -> None:
    params = {"ref": ref, "argument": {"name": "a", "value": ""}}
    outcome = await put(two, make_call("method", "completion/complete", params))
    assert isinstance(outcome, Failure)
    assert outcome.reason == "invalid_params"


@pytest.mark.parametrize("method", ["completion/complete", "resources/subscribe"])
async def test_what_was_judged_to_be_ones_goes_to_no_other_that_has_taken_its_name_since(
    two: Supervisor, method: str
) -> None:
    """While a call waits at a gate, one server may drop a URI from its lists, and another may list it."""
    ref = {"type": "ref/resource", "uri": "asker:///alpha"}
    params = {"ref": ref, "argument": {"name": "who", "value": "al"}, "uri": "asker:///alpha"}
    call = dispatch(two).about(make_call("method", method, params))
    assert call.target == Target("asker", "asker:///alpha")
    asker, other = two.catalogue.listing("asker"), two.catalogue.listing("extras")
    moved = {"resources": asker.of("resources"), "resourceTemplates": []}
    emptied = {**asker.sections, "resources": [], "resourceTemplates": []}
    two.catalogue.put("asker", msgspec.structs.replace(asker, sections=emptied))
    two.catalogue.put(
        "extras", msgspec.structs.replace(other, sections={**other.sections, **moved})
    )
    found = dispatch(two).about(make_call("method", method, params)).target
    assert found is not None
    assert found.server == "extras"
    assert isinstance(await within(dispatch(two)(call, FakeBack())), Answer)
    heard = said(await ask(two, "asker/facts"))["methods"]
    assert method in heard


@pytest.mark.parametrize("method", ["completion/complete", "resources/subscribe"])
async def test_what_no_gate_has_led_anywhere_is_led_nowhere(two: Supervisor, method: str) -> None:
    ref = {"type": "ref/resource", "uri": "asker:///alpha"}
    params = {"ref": ref, "argument": {"name": "who", "value": "al"}, "uri": "asker:///alpha"}
    call = make_call("method", method, params)
    assert isinstance(await within(dispatch(two)(call, FakeBack())), Failure)
    assert method not in said(await ask(two, "asker/facts"))["methods"]


@pytest.mark.parametrize(
    ("method", "named"),
    [
        ("resources/subscribe", {"uri": "asker:///alpha"}),
        ("resources/subscribe", {"uri": "nobody:///lists"}),
        ("completion/complete", {"type": "ref/resource", "uri": "asker:///made/{word}"}),
        ("completion/complete", {"type": "ref/prompt", "name": "asker__greet"}),
    ],
)
async def test_what_is_for_a_server_that_is_away_starts_it_again_where_that_is_due(
    two: Supervisor, monkeypatch: pytest.MonkeyPatch, method: str, named: dict[str, Any]
) -> None:
    woken: list[str] = []
    for one in two.fleet.servers.values():
        monkeypatch.setattr(one.life, "missed", partial(woken.append, one.id))
    specs = [one.spec for one in two.fleet.servers.values()]
    catalogue = two.catalogue.renewed(specs, {}, EVERYTHING, {"asker": EMPTY})
    call = make_call("method", method, {"ref": named, "argument": {}, **named})
    fleet = ServerSet(two.fleet.specs, two.fleet.servers, {}, catalogue)
    outcome = await within(Dispatch(fleet, two.tasks)(call, FakeBack()))
    assert isinstance(outcome, Failure)
    assert (outcome.reason, outcome.details["server"]) == ("upstream_unavailable", "asker")
    assert woken == ["asker"]
    catalogue.sight = Sight(lambda *_: True, lambda _, server: server != "asker", lambda: 0)
    hidden = await within(Dispatch(fleet, two.tasks)(call, FakeBack()))
    assert isinstance(hidden, Failure)
    assert "asker" not in f"{hidden.details} {hidden.message}".replace(str(named.get("uri")), "")
    assert woken == ["asker"]


async def test_roots_of_a_client_that_has_none_change_for_nobody(two: Supervisor) -> None:
    note = "notifications/roots/list_changed"
    for client, told in ((Client("2025-11-25"), False), (LEGACY, True)):
        await put(two, make_call("method", note, {}, client=client))
        assert (note in said(await ask(two, "asker/facts"))["methods"]) is told


async def test_a_declared_method_goes_to_its_server_and_to_no_other() -> None:
    specs = python("asker"), python("extras", methods=("vendor/*",))
    async with running(*specs) as supervisor:
        params = {"n": 2**70, "deep": [None, {"": 1}], "_meta": {META_SERVER: "extras", "k": 1}}
        target = Target("extras", "vendor/thing")
        outcome = await put(supervisor, make_call("method", "vendor/thing", params, target=target))
        assert isinstance(outcome, Answer)
        assert json.loads(outcome.raw) == {**params, "_meta": {"k": 1}}
        seen = said(await ask(supervisor, "asker/facts"))["methods"]
        assert "vendor/thing" not in seen


async def test_a_declared_notification_goes_to_its_server_and_nobody_waits() -> None:
    specs = python("asker"), python("extras", methods=("notifications/vendor.*",))
    async with running(*specs) as supervisor:
        target = Target("extras", "notifications/vendor.x")
        call = make_call("method", "notifications/vendor.x", {"v": 2**70}, target=target)
        assert await put(supervisor, call) == Answer(b"{}", own=True)
        seen = result(await ask(supervisor, "extras/notices_seen"))["content"]
        last = json.loads(seen[-1]["text"])
        assert last == {"method": "notifications/vendor.x", "params": {"v": 2**70}}
        assert "notifications/vendor.x" not in said(await ask(supervisor, "asker/facts"))["methods"]
        await within(supervisor.fleet.servers["extras"].close(1.0))
        gone = await put(supervisor, call)
        assert isinstance(gone, Failure)
        assert gone.reason == "upstream_unavailable"


@pytest.mark.parametrize(
    "method", ["vendor/thing", "shutdown", "tools/export", "sampling/createMessage"]
)
async def test_a_method_that_nobody_declared_goes_nowhere(two: Supervisor, method: str) -> None:
    outcome = await put(two, make_call("method", method))
    assert isinstance(outcome, Failure)
    assert (outcome.reason, outcome.error) == ("method_not_found", None)
    assert not dispatch(two).answers(method)
    assert method not in said(await ask(two, "asker/facts"))["methods"]


async def test_a_task_that_is_not_known_is_nobodys(two: Supervisor) -> None:
    for what in ("get", "result", "cancel", "update"):
        outcome = await put(two, make_call("method", f"tasks/{what}", {"taskId": "t"}))
        assert isinstance(outcome, Failure)
        assert outcome.reason == "invalid_params"
    methods = said(await ask(two, "asker/facts"))["methods"]
    assert not [one for one in methods if one.startswith("tasks/")]


async def test_mgp_2_4_2_no_mgp_request_reaches_a_plain_server(two: Supervisor) -> None:
    client = Client("2025-11-25", ASKABLE, mgp=Mgp("0.2.0", ("bidirectional",)))
    for method in ("mgp/events/subscribe", "mgp/discovery/list"):
        outcome = await put(two, make_call("method", method, client=client))
        assert isinstance(outcome, Failure)
        assert outcome.reason == "method_not_found"
    seen = said(await ask(two, "asker/facts"))["methods"]
    assert not [one for one in seen if one.startswith("mgp/")]


async def test_the_log_level_of_all_sessions_is_the_most_verbose_one(two: Supervisor) -> None:
    async def level() -> str:
        return str(said(await ask(two, "asker/facts"))["level"])

    async def wish(session: str, wanted: str) -> bytes:
        call = make_call("method", "logging/setLevel", {"level": wanted}, session=session)
        outcome = await put(two, call)
        assert isinstance(outcome, Answer)
        return outcome.raw

    assert await wish("a", "error") == b"{}"
    assert await level() == "error"
    await wish("b", "debug")
    assert await level() == "debug"
    await wish("a", "critical")
    assert await level() == "debug"
    await wish("b", "warning")
    assert await level() == "warning"


async def test_without_a_server_that_logs_there_is_no_log_level() -> None:
    async with running(python("echo")) as supervisor:
        outcome = await put(supervisor, make_call("method", "logging/setLevel", {"level": "info"}))
        assert isinstance(outcome, Failure)
        assert outcome.reason == "method_not_found"


async def test_a_subscription_needs_a_uri_that_somebody_has(two: Supervisor) -> None:
    for params, reason in (({}, "invalid_params"), ({"uri": "nobody:///x"}, "not_found")):
        outcome = await put(two, make_call("method", "resources/subscribe", params))
        assert isinstance(outcome, Failure)
        assert outcome.reason == reason


async def test_a_subscription_is_told_to_its_server_under_the_servers_own_uri(
    two: Supervisor,
) -> None:
    wrapped = wrap_uri(Target("asker", "asker:///alpha"))
    call = make_call("method", "resources/subscribe", {"uri": wrapped})
    assert isinstance(await put(two, call), Answer)
    wants = two._servers["asker"].wishes.resources
    assert wants.held == {"asker:///alpha": {"s1": {wrapped}}}
    assert wants.told == {"asker:///alpha"}


async def test_a_server_that_is_gone_fails_its_calls_by_name(two: Supervisor) -> None:
    call = make_call("tool", "tools/call", {"name": "x"}, target=Target("gone", "x"))
    outcome = await put(two, call)
    assert isinstance(outcome, Failure)
    assert outcome.message == "server gone is no longer there"


async def test_what_no_gate_resolved_is_not_guessed(two: Supervisor) -> None:
    outcome = await put(two, make_call("prompt", "prompts/get", {"name": "none"}))
    assert isinstance(outcome, Failure)
    assert outcome.reason == "not_found"


async def test_an_unprefixed_profile_calls_tools_by_their_own_names() -> None:
    profiles = {"": Profile(unprefixed=True)}
    async with running(python("echo"), profiles=profiles) as supervisor:
        tool = supervisor.catalogue.tool("", "echo")
        assert tool is not None
        params = {"name": "echo", "arguments": {"message": "hi"}}
        call = make_call("tool", "tools/call", params, target=tool.target, client=LEGACY)
        assert text(await put(supervisor, call)) == "hi"


async def test_a_shared_method_is_ours_first_and_asks_servers_about_the_rest(
    two: Supervisor,
) -> None:
    async def ours(call: Call, back: Back, elsewhere: Builtin) -> Outcome:
        if call.params["taskId"] == "mine":
            return Answer(b'{"mine":true}')
        return await elsewhere(call, back)

    server = two.fleet.servers["asker"]
    book = two.tasks.made
    made = await book.make(
        make_call("tool", "tools/call"),
        "asker",
        connection_of(server, "s1", book.process),
        "t-9",
        None,
    )
    assert made is not None
    both = dispatch(two, shared={"tasks/cancel": ours})
    mine = await within(both(make_call("method", "tasks/cancel", {"taskId": "mine"}), FakeBack()))
    assert mine == Answer(b'{"mine":true}')
    theirs = await within(
        both(make_call("method", "tasks/cancel", {"taskId": made.id}), FakeBack())
    )
    assert isinstance(theirs, Failure)
    assert theirs.error is not None  # its server's own word
    assert both.answers("tasks/cancel")
    seen = said(await ask(two, "asker/facts"))["methods"]
    assert [one for one in seen if one.startswith("tasks/")] == ["tasks/cancel"]


@pytest.mark.parametrize("streams", [True, False])
async def test_what_has_sent_a_part_of_its_result_is_not_made_again(streams: bool) -> None:
    """MGP-12.5-1, MGP-14.6-5"""
    asked: list[str] = []
    said = {"code": 3000, "message": "no", "data": {"_mgp": {"retryable": True}}}
    failure = Failure("upstream_error", error=json.dumps(said).encode(), mgp=True)

    async def answer(method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        asked.append(method)
        if streams:
            back.emit(Event(CHUNK, {"content": {"type": "text", "text": "half "}, "done": False}))
        return failure

    async def persisting(outcome: Failure, call: Call, back: Back, again: Any) -> Outcome:
        found: Outcome = await again()
        return found

    target = Target("s", "t")
    owner = SimpleNamespace(id="s", hello=SimpleNamespace(mgp=object()), call=answer)
    catalogue = SimpleNamespace(shown_as=lambda *_: None)
    fleet = SimpleNamespace(
        owners={"s": owner}, catalogue=catalogue, standing=None, reason=None, permissions=None
    )
    led = Dispatch(cast("Any", fleet), cast("Any", None), persisting=cast("Any", persisting))
    params = {"name": "s__t", "_mgp": {"stream": True}}
    tool = Tool(target, "s__t", {}, repeatable=True)
    back = FakeBack()
    call = make_call("tool", "tools/call", params, target=target, tool=tool)
    assert isinstance(await led(call, back), Failure)
    assert len(asked) == (1 if streams else 2)
    assert len(back.events) == (1 if streams else 0)
