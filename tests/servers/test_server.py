"""One server with real children: killed, crashing, deaf, flooding, and one child for each session."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from gatewright.call import Answer, Failure
from gatewright.mcp.client.pipe_link import PipeLink
from gatewright.mcp.protocol.negotiate import Face
from gatewright.servers import server as server_module
from gatewright.servers import session_sink
from gatewright.servers.dial import reach
from gatewright.servers.spec import Restart, ServerSpec
from gatewright.servers.supervisor import Supervisor
from gatewright.transport.base import Limits
from tests.servers.rig import (
    DEADLINE,
    FakeBack,
    alive,
    ask,
    dispatch,
    python,
    result,
    running,
    said,
    text,
    tool_call,
    within,
)

NAME = {"action": "accept", "content": {"name": "n"}}
MIB = 1024 * 1024


def pid(supervisor: Supervisor, server: str) -> int:
    link = supervisor._servers[server].link
    assert isinstance(link, PipeLink)
    number: int = link._pipe.pid  # type: ignore[union-attr]
    return number


async def test_a_child_killed_in_a_call_fails_that_call_and_serves_the_next_without_a_wait() -> (
    None
):
    slowly = Restart(first_s=20.0)
    async with running(python("asker", restart=slowly), python("echo")) as supervisor:
        back = FakeBack()
        call = tool_call(supervisor, "asker/slow", {"seconds": 20}, meta={"progressToken": 1})
        slow = asyncio.ensure_future(dispatch(supervisor)(call, back))
        await back.until(lambda: bool(back.events))
        first = pid(supervisor, "asker")
        os.kill(first, signal.SIGKILL)
        failed = await within(slow)
        assert isinstance(failed, Failure)
        assert failed.reason == "upstream_unavailable"
        assert "killed by SIGKILL" in failed.message
        assert "outcome is unknown" in failed.message
        begun = time.monotonic()
        again = await ask(supervisor, "asker/structured", {"a": 1, "b": 2})
        assert result(again)["structuredContent"] == {"sum": 3}
        assert time.monotonic() - begun < 10.0  # the first restart does not wait `first_s`
        assert pid(supervisor, "asker") != first
        assert supervisor.status()[0].restarts == 1


async def test_other_servers_do_not_notice_a_death() -> None:
    async with running(python("bad", "exit-in-call"), python("echo")) as supervisor:
        dying = asyncio.ensure_future(ask(supervisor, "bad/echo"))
        assert text(await ask(supervisor, "echo/echo", {"message": "x"})) == "x"
        assert isinstance(await within(dying), Failure)
        assert text(await ask(supervisor, "echo/echo", {"message": "y"})) == "y"


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("exit-at-start", "exited with status 2"),
        ("hang", "no hello within"),
        ("wrong-version", "1999-01-01"),
        ("refuses-hello", "not today"),
    ],
)
async def test_a_server_that_never_comes_up_is_in_state_error_with_its_reason(
    mode: str, reason: str
) -> None:
    never = Restart(policy="never")
    patience = 0.8 if mode == "hang" else DEADLINE / 2
    bad = python("bad", mode, connect_s=patience, probe_s=0.1, restart=never)
    async with running(bad, python("echo")) as supervisor:
        assert supervisor.states == {"bad": "error", "echo": "connected"}
        assert reason in supervisor.status()[0].reason
        assert text(await ask(supervisor, "echo/echo", {"message": "x"})) == "x"


async def test_a_program_that_does_not_exist_says_so() -> None:
    spec = ServerSpec(id="none", command="no-such-program-anywhere")
    async with running(spec, python("echo")) as supervisor:
        assert supervisor.states["echo"] == "connected"
        assert "no-such-program-anywhere" in supervisor.status()[0].reason


async def test_a_server_with_a_configuration_problem_or_switched_off_is_not_started() -> None:
    wrong = python("echo", id="wrong", problem="config.toml:3: TOKEN is not set")
    off = python("echo", id="off", enabled=False)
    async with running(wrong, off, python("echo")) as supervisor:
        assert supervisor.states == {"wrong": "error", "off": "registered", "echo": "connected"}
        server = supervisor._servers["wrong"]
        call = tool_call(supervisor, "echo/echo")
        outcome = await within(server.call(call.method, call.params, call, FakeBack()))
        assert isinstance(outcome, Failure)
        assert outcome.message == "server wrong: config.toml:3: TOKEN is not set"
        off_outcome = await within(
            supervisor._servers["off"].call(call.method, call.params, call, FakeBack())
        )
        assert isinstance(off_outcome, Failure)
        assert off_outcome.message.startswith("server off is disabled; ")


async def test_a_server_that_says_hello_late_keeps_nobody_waiting_for_the_others() -> None:
    slow = python("bad", "slow-hello", id="slow", probe_s=0.1)
    supervisor = Supervisor([slow, python("echo")], info={"name": "g"}, startup_wait_s=20.0)
    supervisor.start()
    try:
        await within(supervisor._servers["echo"].settled())
        assert text(await ask(supervisor, "echo/echo", {"message": "x"})) == "x"
        assert supervisor.states["slow"] == "connecting"
        assert await within(supervisor.settled())
        assert text(await ask(supervisor, "slow/echo", {"message": "y"})) == "y"
    finally:
        await within(supervisor.close(1.0))


@pytest.mark.parametrize("mode", ["garbage", "unknown-ids", "twice"])
async def test_a_server_that_talks_nonsense_between_answers_still_serves(mode: str) -> None:
    async with running(python("bad", mode, probe_s=0.5)) as supervisor:
        for word in ("a", "b"):
            assert text(await ask(supervisor, "bad/echo", {"message": word})) == word
        assert supervisor.status()[0].dropped > 0


@pytest.mark.parametrize("mode", ["half-frame", "long-line", "both"])
async def test_a_broken_answer_fails_its_call_with_a_name(mode: str) -> None:
    bad = python("bad", mode, "--bytes", str(4 * MIB), limits=Limits(frame_bytes=MIB))
    async with running(bad, python("echo")) as supervisor:
        outcome = await ask(supervisor, "bad/echo", {"message": "x"})
        assert isinstance(outcome, Failure)
        assert outcome.reason in ("upstream_unavailable", "upstream_error")
        assert text(await ask(supervisor, "echo/echo", {"message": "x"})) == "x"


async def test_a_call_that_is_never_answered_ends_at_the_servers_time_limit() -> None:
    async with running(python("bad", "silent-call", call_s=0.2)) as supervisor:
        outcome = await ask(supervisor, "bad/echo")
        assert isinstance(outcome, Failure)
        assert outcome.reason == "upstream_timeout"


async def test_a_flood_of_notifications_costs_nobody_else_a_call() -> None:
    flood = python("bad", "flood", "--bytes", str(16 * MIB), id="flood")
    async with running(flood, python("echo")) as supervisor:
        assert text(await ask(supervisor, "echo/echo", {"message": "x"})) == "x"
        assert text(await ask(supervisor, "flood/echo", {"message": "y"})) == "y"


async def test_a_server_that_closes_its_output_is_started_anew() -> None:
    async with running(python("bad", "closes-stdout", restart_wait_s=10.0)) as supervisor:
        server = supervisor._servers["bad"]
        link = server.link
        if link is not None:
            await within(link.wait_closed())
        assert server.status().restarts >= 0
        assert "bad/echo" in supervisor.catalogue.view("").tools


async def test_eight_slow_calls_to_one_server_run_side_by_side() -> None:
    async with running(python("asker")) as supervisor:
        backs = [FakeBack() for _ in range(8)]
        calls = []
        for number, back in enumerate(backs):
            meta = {"progressToken": number}
            call = tool_call(supervisor, "asker/slow", {"seconds": 300}, meta=meta)
            calls.append(asyncio.ensure_future(dispatch(supervisor)(call, back)))
        for back in backs:
            await back.until(lambda back=back: bool(back.events))  # type: ignore[misc]
        assert not any(one.done() for one in calls)
        for one in calls:
            one.cancel()
        await asyncio.wait(calls, timeout=DEADLINE)


async def test_each_session_has_its_own_child_and_is_asked_its_own_questions() -> None:
    spec = python("asker", share="session")
    async with running(spec) as supervisor:
        backs = {name: FakeBack(elicitation={**NAME, "from": name}) for name in ("a", "b")}
        outcomes = await within(
            asyncio.gather(
                *(
                    ask(supervisor, "asker/ask_elicitation", back=back, session=name)
                    for name, back in backs.items()
                )
            )
        )
        assert [said(one)["from"] for one in outcomes] == ["a", "b"]
        assert supervisor.status()[0].sessions == 2
        server = supervisor._servers["asker"]
        children = {_pid(keeper.link) for keeper in server._lanes.all()}
        assert len(children | {pid(supervisor, "asker")}) == 3
        links = [keeper.link for keeper in server._lanes.all()]
        supervisor.forget("a")
        supervisor.forget("b")
        assert supervisor.status()[0].sessions == 0
        for link in links:
            assert link is not None
            await within(link.wait_closed())


async def test_a_sessions_own_child_is_told_what_that_session_can_answer() -> None:
    async with running(python("asker", share="session")) as supervisor:
        facts = said(await ask(supervisor, "asker/facts", session="a"))
        assert facts["capabilities"] == {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}


async def test_nothing_is_left_of_a_server_after_the_end() -> None:
    async with running(python("asker"), python("bad", "ignore-sigterm")) as supervisor:
        children = [pid(supervisor, "asker"), pid(supervisor, "bad")]
        assert all(alive(one) for one in children)
    assert not any(alive(one) for one in children)


async def test_what_a_child_writes_to_stderr_is_kept_for_the_operator() -> None:
    script = "import sys; print('I am broken', file=sys.stderr); sys.exit(1)"
    spec = ServerSpec(
        id="s", command=python("echo").command, args=("-c", script), restart=Restart(policy="never")
    )
    async with running(spec) as supervisor:
        assert "I am broken" in supervisor.status()[0].stderr


async def test_no_secret_that_a_child_writes_to_stderr_is_kept_or_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    token = "glpat-" + "Zx81kQpLw93TnVb07YsR"
    script = f"import sys; print('cannot log in with {token}', file=sys.stderr); sys.exit(1)"
    spec = ServerSpec(
        id="s", command=python("echo").command, args=("-c", script), restart=Restart(policy="never")
    )
    with caplog.at_level("INFO"):
        async with running(spec) as supervisor:
            said = [one for one in supervisor.status()[0].stderr if "log in" in one]
    assert said
    assert token not in "".join(said)
    assert "cannot log in with" in caplog.text
    assert token not in caplog.text


async def test_the_life_of_a_server_is_told_for_the_record() -> None:
    told: list[tuple[Any, ...]] = []
    async with running(python("echo"), event=lambda *args: told.append(args)) as supervisor:
        os.kill(pid(supervisor, "echo"), signal.SIGKILL)
        assert isinstance(await ask(supervisor, "echo/echo", {"message": "x"}), Answer | Failure)
        await ask(supervisor, "echo/echo", {"message": "x"})
    kinds = [(kind, server) for kind, server, _ in told]
    assert kinds[:3] == [
        ("SERVER_CONNECTED", "echo"),
        ("SERVER_DISCONNECTED", "echo"),
        ("SERVER_CONNECTED", "echo"),
    ]
    assert told[1][2] == {"reason": "killed by SIGKILL"}


def _pid(link: Any) -> int:
    number: int = link._pipe.pid
    return number


SPEAKS_BADLY = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    method, offer = asked["method"], json.loads(sys.argv[1])
    if method == "initialize":
        body = {"protocolVersion": "2025-11-25", "capabilities": {"mgp": offer}, "serverInfo": {}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": body}), flush=True)
"""


@pytest.mark.parametrize(
    ("offer", "why"),
    [
        ({"extensions": []}, "mgp.version must be a semantic version"),
        ({"version": "abc", "extensions": []}, "mgp.version must be a semantic version"),
        ({"version": "0.2.0"}, "mgp.extensions must be an array of strings"),
        ({"version": "0.2.0", "extensions": "audit"}, "mgp.extensions must be an array"),
        ({"version": "1.0.0", "extensions": []}, "another major version than 0.2.0"),
        (7, "the mgp capability must be an object"),
    ],
)
async def test_why_the_mgp_of_a_server_does_not_count_is_logged(
    offer: object, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """MGP-2.2-3, MGP-2.2-4 and MGP-2.4-4, the upstream side."""
    args = ("-c", SPEAKS_BADLY, json.dumps(offer))
    face = Face(("security",))
    spec = ServerSpec(id="s", command=sys.executable, args=args, era="legacy", face=face)
    async with running(spec) as supervisor:
        assert supervisor.status()[0].mgp_version is None
        assert supervisor.status()[0].state == "connected"
    said = [one.getMessage() for one in caplog.records if one.name == "gatewright.server.s"]
    assert [why in one for one in said if "MGP" in one] == [True]


def _child(link: PipeLink) -> int:
    number: int = link._pipe.pid  # type: ignore[union-attr]
    return number


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not true():
            await asyncio.sleep(0.01)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[PipeLink]:
    """Every link that is made, whoever gets it."""
    links: list[PipeLink] = []

    async def reached(*parts: Any) -> Any:
        link = await reach(*parts)
        assert isinstance(link, PipeLink)
        links.append(link)
        return link

    monkeypatch.setattr(server_module, "reach", reached)
    return links


@pytest.mark.parametrize("ends", ["session", "time"])
async def test_a_session_that_ends_while_its_server_waits_for_roots_leaves_no_child(
    ends: str, made: list[PipeLink], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one whose roots came in no time: the connection is there, and nobody has it yet."""
    asked = asyncio.Event()

    async def never(_: Any) -> Any:
        asked.set()
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(session_sink, "_ROOTS_S", slow := 600.0)
    rooted = python("rooted", restart=Restart(first_s=slow, most_s=slow), connect_s=slow)
    async with running(rooted) as supervisor:
        await _until(lambda: made[0].wants_roots)
        back = FakeBack(roots=never)
        call = asyncio.ensure_future(ask(supervisor, "rooted/allowed", back=back))
        await within(asked.wait())
        keeper = supervisor._servers["rooted"]._lanes.own("s1")
        assert keeper is not None
        assert keeper._limit is not None
        if ends == "session":
            supervisor.forget("s1")
        else:
            keeper._limit.reschedule(0.0)
        child = _child(made[1])
        await _until(lambda: not alive(child))
        assert alive(_child(made[0]))
        call.cancel()
