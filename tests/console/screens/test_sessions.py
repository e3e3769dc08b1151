"""Screen `sessions` by its API, with a whole gateway: runs, one of them, and its end; who may not end one."""

from __future__ import annotations

import re
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.console.asking import Api, signed_in
from tests.console.in_process import within
from tests.console.mcp_session import McpSession
from tests.console.running import Console, running

_PERSON = r'data-title="Person"><span>([^<]*)<'


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running(tmp_path_factory.mktemp("console")) as found:
        yield found


@pytest.fixture(scope="module")
def api(console: Console) -> Api:
    return Api(console)


def test_a_session_is_seen_and_ended(api: Api, console: Console) -> None:
    host = McpSession(console)
    host.call("demo__echo", text="x")
    short = host.id[:12]
    (run,) = [one for one in api.get("/sessions")["runs"] if one["session"] == short]
    assert (run["agent"], run["open"], run["calls"], run["door"]) == ("anonymous", True, 1, "http")
    found = api.get("/sessions/run", agent="anonymous", session=short)
    assert [one["call"]["name"] for one in found["steps"]] == ["echo"]
    assert api._send("DELETE", f"/sessions/{short}", b"{}") == {
        "agent": "anonymous",
        "session": short,
    }
    with pytest.raises(urllib.error.HTTPError) as caught:
        host.call("demo__echo", text="late")
    caught.value.close()
    assert caught.value.code == 404
    assert api._send("DELETE", f"/sessions/{short}", b"{}")["status"] == 404
    (run,) = [one for one in api.get("/sessions")["runs"] if one["session"] == short]
    assert not run["open"]
    assert "dev.gatewright.session.ended" in console.command("audit", "tail").stdout


def test_calls_of_the_command_line_have_no_session(api: Api, console: Console) -> None:
    console.command("tool", "call", "demo__echo", "text=x")
    found = api.get("/sessions/run", agent="local")
    assert found["steps"][-1]["call"]["name"] == "echo"
    assert api.get("/sessions/run", agent="nobody")["status"] == 404
    assert api.get("/sessions/run")["status"] == 422


def test_a_viewer_ends_no_session(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where keys are the only proof, a URL of this machine makes a viewer."""
    with running(tmp_path_factory.mktemp("keys"), gateway='operators = "key"') as console:
        host = McpSession(console)
        viewer = signed_in(console)
        (run,) = viewer.get("/sessions")["runs"]
        found = viewer._send("DELETE", f"/sessions/{run['session']}", b"{}")
        assert (found["status"], found["code"]) == (403, "role")
        (mine,) = viewer.get("/sign-ins")["signed_in"]
        assert viewer._send("DELETE", f"/sign-ins/{mine['id']}", b"{}")["status"] == 403
        assert "result" in host.ask("tools/list", {})


async def test_who_signs_somebody_out_stays_in_the_part_of_the_list_that_they_see(
    tmp_path: Path,
) -> None:
    async with within(tmp_path) as console:
        operator = await console.person("operator")
        for number in range(4):
            await console.person("viewer", f"v{number}")
        listed = (await operator.api("GET", "/sign-ins?sort=person&limit=2")).json()
        assert ([one["person"] for one in listed["signed_in"]], listed["total"]) == (
            ["operator", "v0"],
            5,
        )
        query = urlencode({"sort": "person", "limit": 2, "after": listed["next"]})
        page = await operator.get(f"/sessions/signed-in?{query}")
        assert re.findall(_PERSON, page.text) == ["v1", "v2"]
        (gone,) = [one["id"] for one in listed["signed_in"] if one["person"] == "v0"]
        form = await operator.form(f"/sessions/signed-in/{gone}/end", {"place": f"?{query}"})
        assert re.findall(_PERSON, form.text) == ["v1", "v2"]
