"""What a session tells without being asked, where it has a connection of its own or is to have one."""

from __future__ import annotations

from gatewright.call import Answer, Refusal, Target
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import (
    FakeBack,
    ask,
    dispatch,
    make_call,
    python,
    result,
    running,
    said,
    within,
)

NOTE = "notifications/acme.x"
NAME = {"action": "accept", "content": {"name": "n"}}


async def tells(supervisor: Supervisor, session: str | None) -> object:
    target = Target("asker", NOTE)
    call = make_call("method", NOTE, session=session, target=target)
    return await within(dispatch(supervisor)(dispatch(supervisor).about(call), FakeBack()))


async def test_what_a_session_tells_first_bars_nobody_else_from_being_asked() -> None:
    """It goes on a connection of the session's own, which it makes."""
    spec = python("asker", share="session", methods=("notifications/acme.*",))
    async with running(spec) as supervisor:
        assert isinstance(await tells(supervisor, "a"), Answer)
        server = supervisor._servers["asker"]
        assert server.status().sessions == 1
        asked = await ask(
            supervisor, "asker/ask_elicitation", back=FakeBack(elicitation=NAME), session=None
        )
        assert not result(asked).get("isError")
        assert isinstance(await tells(supervisor, None), Answer)  # that is everybody's


async def test_what_a_session_tells_that_has_ended_is_told_nobody() -> None:
    spec = python("asker", share="session", methods=("notifications/acme.*",))
    async with running(spec, opened=lambda session: session != "a") as supervisor:
        outcome = await tells(supervisor, "a")
        assert isinstance(outcome, Refusal)
        assert outcome.reason == "session_unknown"
        assert supervisor._servers["asker"].status().sessions == 0


async def test_roots_that_a_new_connection_was_not_shown_it_is_shown_with_the_next_call() -> None:
    """Nobody can be asked for them while something is told."""
    spec = python("rooted", share="session", methods=("notifications/acme.*",))
    async with running(spec) as supervisor:
        call = make_call("method", NOTE, session="a", target=Target("rooted", NOTE))
        assert isinstance(
            await within(dispatch(supervisor)(dispatch(supervisor).about(call), FakeBack())), Answer
        )
        back = FakeBack(roots={"roots": [{"uri": "file:///a"}]})
        shown = said(await ask(supervisor, "rooted/allowed", back=back, session="a"))
        assert shown["roots"] == ["file:///a"]
