"""Several real servers behind one face: described, changed, told about, notified, stopped."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import pytest

from gatewright.call import ANONYMOUS, Answer, Caller, Client
from gatewright.mcp.protocol.negotiate import Face
from gatewright.servers.catalogue import Sight
from gatewright.servers.names import unwrap_uri
from gatewright.servers.relist_delay import AT_ONCE, EACH_S
from gatewright.servers.server_catalogue import shelve
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.view import Profile
from tests.servers.rig import (
    INFO,
    LEGACY,
    FakeBack,
    ask,
    dispatch,
    make_call,
    python,
    running,
    said,
    text,
    within,
)
from tests.servers.test_catalogue_many import SPEC, many
from tests.servers.test_subscriptions import Hearing

NOBODY = Caller("nobody")
BLIND = Sight(lambda *_: False, lambda caller, _: caller != NOBODY, lambda: 0)


async def test_servers_are_described_together_and_one_alone_as_it_is() -> None:
    async with running(python("asker"), python("modern_asker"), python("echo")) as supervisor:
        capabilities, instructions = await within(supervisor.describe("", ANONYMOUS))
        assert capabilities == {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "logging": {},
            "completions": {},
        }
        assert instructions == (
            "## asker\n\n> Ask before you answer.\n\n## modern_asker\n\n> Carry my state."
        )
    profiles = {"": Profile(unprefixed=True)}
    async with running(python("extras"), profiles=profiles) as supervisor:
        capabilities, instructions = await within(supervisor.describe("", ANONYMOUS))
        assert capabilities["vendor"]["numbers"][1] == -9007199254740993
        assert instructions == "Keep éverything"


async def test_a_changed_list_is_told_after_it_can_be_seen() -> None:
    async with running(python("asker"), python("modern_asker")) as supervisor:
        for server in ("asker", "modern_asker"):
            seen: list[bool] = []

            def look(name: str, method: str, _: object, seen: list[bool] = seen) -> None:
                if method == "notifications/tools/list_changed":
                    seen.append(supervisor.catalogue.tool("", f"{name}__grown_1") is not None)

            end = supervisor.watch(ANONYMOUS, "", look)
            hearing = Hearing(supervisor)
            await ask(supervisor, f"{server}/grow")
            await hearing.until(bool)
            assert seen == [True]
            told = [method for _, method, _ in hearing.heard]
            assert told == ["notifications/tools/list_changed"]
            assert text(await ask(supervisor, f"{server}/grown_1")) == "I am grown_1"
            end()


async def test_many_announcements_at_once_are_one_refresh() -> None:
    async with running(python("asker")) as supervisor:
        before = supervisor.catalogue.version
        hearing = Hearing(supervisor)
        for _ in range(5):
            await ask(supervisor, "asker/grow")
        await hearing.until(lambda heard: "asker/grown_5" in supervisor.catalogue.view("").tools)
        assert supervisor.catalogue.version <= before + 5


async def test_announcements_without_end_are_looked_at_more_and_more_rarely_and_the_last_is_not_lost() -> (
    None
):
    async with running(python("asker")) as supervisor:
        before, begun = supervisor.catalogue.version, time.monotonic()
        hearing = Hearing(supervisor)
        for _ in range(60):
            await ask(supervisor, "asker/grow")
            await asyncio.sleep(0.04)
        await hearing.until(lambda heard: "asker/grown_60" in supervisor.catalogue.view("").tools)
        most = AT_ONCE + (time.monotonic() - begun) / EACH_S + 2
        assert supervisor.catalogue.version - before <= most < 60


async def test_a_server_that_comes_late_is_announced() -> None:
    supervisor = Supervisor([python("bad", "slow-hello", probe_s=0.05)], info=INFO)
    hearing = Hearing(supervisor)
    supervisor.start()
    try:
        await hearing.until(bool)
        assert hearing.heard == [("bad", "notifications/tools/list_changed", {})]
        assert "bad/echo" in supervisor.catalogue.view("").tools
    finally:
        await within(supervisor.close(1.0))


async def test_waiting_for_servers_that_hang_has_an_end_and_is_done_once() -> None:
    specs = [python("bad", "hang", probe_s=0.05), python("echo")]
    supervisor = Supervisor(specs, info=INFO, startup_wait_s=2.0)
    supervisor.start()
    try:
        assert not await within(supervisor.settled())
        begun = time.monotonic()
        assert not await within(supervisor.settled())
        capabilities, _ = await within(supervisor.describe("", ANONYMOUS))
        assert time.monotonic() - begun < 2.0
        assert capabilities == {"tools": {"listChanged": True}}
    finally:
        await within(supervisor.close(1.0))


async def test_changed_roots_are_told_to_the_servers_that_the_client_may_see() -> None:
    note = "notifications/roots/list_changed"
    async with running(python("extras"), python("asker"), sight=BLIND) as supervisor:

        async def change(caller: Caller, client: Client, number: int) -> None:
            call = make_call("method", note, {"v": number}, caller=caller, client=client)
            assert await within(
                dispatch(supervisor)(dispatch(supervisor).about(call), FakeBack())
            ) == Answer(b"{}", own=True)

        await change(ANONYMOUS, LEGACY, 2**70)
        await change(NOBODY, LEGACY, 1)
        await change(ANONYMOUS, Client("2025-11-25"), 2)  # it has no roots
        seen = text_of(await ask(supervisor, "extras/notices_seen"))
        told = [json.loads(one) for one in seen if "roots" in one]
        assert told == [{"method": note, "params": {"v": 2**70}}]
        assert note in said(await ask(supervisor, "asker/facts"))["methods"]


async def test_an_audit_server_is_told_by_the_gateway_and_never_by_a_client() -> None:
    """MGP-6.3-2: a client cannot put events into the trail of an audit server."""
    async with running(python("mgp_server", face=Face(("audit",))), python("echo")) as supervisor:
        audit = "notifications/mgp.audit"
        for method in (audit, "notifications/mgp.vendor"):
            call = make_call("method", method, {"by": "client"})
            assert not isinstance(
                await within(dispatch(supervisor)(dispatch(supervisor).about(call), FakeBack())),
                Answer,
            )
        assert supervisor.tell_audit("mgp_server", [{"by": "gateway", "n": 1}, {"n": 2}])
        assert not supervisor.tell_audit("echo", [{"n": 3}])
        assert not supervisor.tell_audit("nobody", [{"n": 4}])
        seen = said(await ask(supervisor, "mgp_server/requests"))
        told = [(one["method"], one["params"]) for one in seen if "mgp." in one["method"]]
        assert told == [
            (audit, {"by": "gateway", "n": 1}),
            (audit, {"n": 2}),
        ]


def text_of(outcome: object) -> list[str]:
    found = json.loads(outcome.raw)  # type: ignore[attr-defined]
    return [one["text"] for one in found["content"]]


async def test_what_a_server_says_to_nobody_in_particular_is_told_to_all_who_see_it() -> None:
    async with running(python("asker"), sight=BLIND) as supervisor:
        hearing = Hearing(supervisor)
        blind: list[object] = []
        supervisor.watch(NOBODY, "", lambda *args: blind.append(args))
        await ask(supervisor, "asker/grow")
        await hearing.until(
            lambda heard: any(one[1] == "notifications/tools/list_changed" for one in heard)
        )
        assert blind == []


async def test_one_uri_of_two_servers_leads_to_both() -> None:
    async with running(python("asker", id="a"), python("asker", id="b")) as supervisor:
        listed = json.loads(
            await supervisor.catalogue.list("resources/list", "", ANONYMOUS, LEGACY)
        )
        uris = [one["uri"] for one in listed["resources"]]
        assert len(set(uris)) == 6
        owners = {unwrap_uri(uri) for uri in uris}
        assert {one.server for one in owners if one is not None} == {"a", "b"}


async def test_annotations_are_found_by_exposed_name_and_profile() -> None:
    async with running(python("modern_asker")) as supervisor:
        found = supervisor.annotations("", "modern_asker__located", ANONYMOUS)
        assert found == {("region",): "Region"}
        assert supervisor.annotations("", "none", ANONYMOUS) == {}
        assert supervisor.annotations("no-such-profile", "none", ANONYMOUS) == {}


async def test_annotations_of_a_tool_that_may_not_be_seen_stay_unknown() -> None:
    async with running(python("modern_asker"), sight=BLIND) as supervisor:
        assert supervisor.annotations("", "modern_asker__located", NOBODY) == {}


async def test_an_unknown_profile_is_an_error_and_hears_nothing() -> None:
    async with running(python("asker")) as supervisor:
        with pytest.raises(KeyError):
            await within(supervisor.describe("none", ANONYMOUS))
        heard: list[object] = []
        supervisor.watch(ANONYMOUS, "none", lambda *args: heard.append(args))
        hearing = Hearing(supervisor)
        await ask(supervisor, "asker/grow")
        await hearing.until(bool)
        assert heard == []


async def test_the_status_says_what_was_left_out() -> None:
    script = (
        "import json,sys\n"
        "for line in sys.stdin:\n"
        "    m=json.loads(line)\n"
        "    r={'protocolVersion':'2025-11-25','capabilities':{'tools':{}}}\n"
        "    if m['method']=='tools/list': r={'tools':[{'name':''},{'name':'t'}]}\n"
        "    if 'id' in m: print(json.dumps({'jsonrpc':'2.0','id':m['id'],'result':r}),flush=True)\n"
    )
    spec = ServerSpec(id="s", command=sys.executable, args=("-c", script), era="legacy")
    async with running(spec) as supervisor:
        status = supervisor.status()[0]
        assert status.warnings == ("tools: an entry without a usable 'name' is left out",)
        assert (status.state, status.revision, status.tools) == ("connected", "2025-11-25", 1)


async def test_closing_twice_and_before_the_start_is_harmless() -> None:
    supervisor = Supervisor([python("echo")], info=INFO)
    await within(supervisor.close(1.0))
    assert await within(supervisor.settled()) is False
    supervisor.start()
    await within(supervisor.settled())
    await within(supervisor.close(1.0))
    await within(supervisor.close(1.0))
    assert supervisor.states == {"echo": "disconnected"}


async def test_of_what_a_server_lists_again_only_what_is_another_list_is_told() -> None:
    """Which one that is was found out in steps, before: here nothing is compared."""
    supervisor = Supervisor([SPEC], info=INFO)
    hearing, server = Hearing(supervisor), supervisor._servers["s"]
    made = None
    for offer, told in (
        (many(), {"tools"}),
        (many(), set()),
        (many(description="new"), {"tools"}),
    ):
        made = await shelve(SPEC, offer, made)
        server._told.listed("s", made, frozenset())
        assert {one[1] for one in hearing.heard} == {
            f"notifications/{kind}/list_changed" for kind in told
        }
        hearing.heard.clear()
    assert made is not None
    server._told.listed("s", made, frozenset({"prompts"}))
    assert [one[1] for one in hearing.heard] == ["notifications/prompts/list_changed"]
    await within(supervisor.close())
