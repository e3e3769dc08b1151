"""Screen `connect` by its API, with a whole gateway: hosts below a home of their own; who may not touch them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.asking import Api, signed_in
from tests.console.running import Console, running
from tests.transport.http_peers import free_port

FILE = '{"mcpServers": {"notes": {"command": "true"}}}'


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("console")
    (folder / "home/.cursor").mkdir(parents=True)
    (folder / "home/.cursor/mcp.json").write_text(FILE)
    with running(folder) as found:
        yield found


@pytest.fixture(scope="module")
def api(console: Console) -> Api:
    return Api(console)


def test_a_host_is_connected_and_back(api: Api, console: Console) -> None:
    """Everything that the gateway is told, it finds below the home of whoever runs it."""
    file = console.config.parent / "home/.cursor/mcp.json"
    (cursor,) = [one for one in api.get("/hosts") if one["there"]]
    assert (cursor["id"], cursor["others"]) == ("cursor", ["notes"])
    shown = api.get("/hosts/cursor/connecting")
    assert api.post("/hosts/cursor/connect", digest="0" * 64)["code"] == "not_changed"
    assert api.post("/hosts/cursor/connect", digest=shown["digest"])["action"] == "changed"
    assert "bridge" in file.read_text()
    back = api.get("/hosts/cursor/disconnecting")
    api.post("/hosts/cursor/disconnect", digest=back["digest"])
    assert file.read_text() == FILE
    assert api.post("/hosts/none/connect", digest=shown["digest"])["code"] == "not_changed"
    assert api.post("/hosts/cursor/disconnect", digest="0" * 64)["code"] == "not_changed"
    assert api.post("/hosts/cursor/import", digest="0" * 64)["code"] == "not_changed"
    for what, times in (("connected", 1), ("disconnected", 1), ("imported", 0)):
        recorded = console.command("audit", "query", "--event", f"dev.gatewright.host.{what}")
        assert len(recorded.stdout.splitlines()) == times  # what was not done is not in it


def test_servers_of_a_host_are_imported(api: Api, console: Console) -> None:
    plan = api.get("/hosts/cursor/importing")
    assert [one["id"] for one in plan["servers"]] == ["notes"]
    api.post("/hosts/cursor/import", digest=plan["digest"])
    assert 'id = "notes"' in console.config.read_text()


def test_who_is_elsewhere_touches_no_file_of_a_host(tmp_path: Path) -> None:
    """A console that people reach by a name is not the machine's own user's."""
    port = free_port()
    url = f'port = {port}\nurl = "http://localhost:{port}"'
    with running(tmp_path, console=url) as console:
        api = Api(console)
        said = [api.get("/hosts"), api.get("/hosts/cursor/connecting")]
        said += [api.post("/hosts/cursor/connect", digest="0" * 64)]
        said += [api.post("/hosts/cursor/import", digest="0" * 64)]
        assert [one["code"] for one in said] == ["elsewhere"] * 4


def test_a_viewer_does_not_even_see_them(tmp_path: Path) -> None:
    with running(tmp_path, gateway='operators = "key"') as console:
        viewer = signed_in(console)
        assert viewer.get("/hosts")["code"] == "role"
        assert viewer.post("/hosts/cursor/connect", digest="0" * 64)["code"] == "role"
