"""What servers are told without being asked, and on which connection."""

from __future__ import annotations

import json

from gatewright.call import Call, Failure
from gatewright.servers.client_notices import roots_changed, tell
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import ask, make_call, python, result, running

NOTE = "notifications/roots/list_changed"


def said(method: str, session: str | None) -> Call:
    return make_call("method", method, session=session)


async def heard(supervisor: Supervisor, session: str) -> list[str]:
    blocks = result(await ask(supervisor, "extras/notices_seen", session=session))["content"]
    return [json.loads(one["text"])["method"] for one in blocks]


async def test_a_session_with_a_connection_of_its_own_speaks_on_that() -> None:
    async with running(python("extras", share="session")) as supervisor:
        server = supervisor.fleet.servers["extras"]
        await ask(supervisor, "extras/spaced", session="a")
        assert await tell(server, said("notifications/acme.x", "a"), {}) is None
        roots_changed(server, "a", {})
        roots_changed(server, "stranger", {})  # whom no connection serves
        assert (await heard(supervisor, "a"))[-2:] == ["notifications/acme.x", NOTE]
        assert NOTE not in await heard(supervisor, "b")
        assert server.link is not None
        assert await tell(server, said("notifications/acme.y", None), {}) is None


async def test_a_modern_server_is_not_told_of_roots_and_one_that_is_gone_of_nothing() -> None:
    told: list[str] = []

    async with running(python("modern_asker")) as supervisor:
        server = supervisor.fleet.servers["modern_asker"]
        link = server.link
        assert link is not None
        link.notify = lambda method, params: told.append(method)  # type: ignore[method-assign]
        roots_changed(server, "a", {})
        assert await tell(server, said("notifications/acme.x", "a"), {}) is None
    assert isinstance(await tell(server, said("notifications/acme.y", "a"), {}), Failure)
    # Listening to a server that is closed is given up.
    assert told == ["notifications/acme.x", "notifications/cancelled"]
