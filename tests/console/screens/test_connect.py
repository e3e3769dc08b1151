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
    (cursor,) = [one for one in api.get("/hosts")["hosts"] if one["there"]]
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


def test_a_file_or_a_text_is_imported_as_shown(api: Api, console: Console) -> None:
    text = FILE.replace("notes", "pasted")
    plan = api.post("/imports/plan", text=text)
    assert [one["id"] for one in plan["servers"]] == ["pasted"]
    assert api.post("/imports", text=text, digest="0" * 64)["code"] == "not_changed"
    file = console.config.parent / "elsewhere.json"
    file.write_text(FILE.replace("notes", "elsewhere"))
    assert api.post("/imports", path=str(file), digest=plan["digest"])["code"] == "not_changed"
    assert "pasted" not in console.config.read_text()
    api.post("/imports", text=text, digest=plan["digest"])
    of_file = api.post("/imports/plan", path=str(file))
    api.post("/imports", path=str(file), digest=of_file["digest"])
    written = console.config.read_text()
    assert ('id = "pasted"' in written, 'id = "elsewhere"' in written) == (True, True)
    both = api.post("/imports/plan", path=str(file), text=text)
    assert both["code"] == "not_changed"
    assert api.post("/imports/plan", path="mcp.json")["code"] == "not_changed"


def test_hosts_are_filtered_and_sorted(api: Api) -> None:
    assert [one["id"] for one in api.get("/hosts", q="CURS")["hosts"]] == ["cursor"]
    assert api.get("/hosts", q="none of this name") == {"hosts": [], "total": 0, "next": ""}
    assert api.get("/hosts", state="beside")["hosts"][0]["others"] == ["notes"]
    assert api.get("/hosts", sort="beside", desc="true")["hosts"][0]["id"] == "cursor"


def test_the_servers_of_a_host_are_taken_over_and_the_host_has_them_back(
    api: Api, console: Console
) -> None:
    file = console.config.parent / "home/.cursor/mcp.json"
    shown = api.get("/hosts/cursor/connecting", take_over="true")
    assert "notes" in shown["diff"]
    plain = api.get("/hosts/cursor/connecting")
    assert api.post("/hosts/cursor/connect", digest=plain["digest"], take_over=True)["code"] == (
        "not_changed"
    )
    api.post("/hosts/cursor/connect", digest=shown["digest"], take_over=True)
    assert "notes" not in file.read_text()
    recorded = console.command("audit", "query", "--event", "dev.gatewright.host.taken_over")
    assert len(recorded.stdout.splitlines()) == 1
    back = api.get("/hosts/cursor/disconnecting")
    api.post("/hosts/cursor/disconnect", digest=back["digest"])
    assert file.read_text() == FILE


def test_who_is_elsewhere_touches_no_file_of_a_host(tmp_path: Path) -> None:
    """A console that people reach by a name is not the machine's own user's."""
    port = free_port()
    url = f'port = {port}\nurl = "http://localhost:{port}"'
    with running(tmp_path, console=url) as console:
        api = Api(console)
        said = [api.get("/hosts"), api.get("/hosts/cursor/connecting")]
        said += [api.post("/hosts/cursor/connect", digest="0" * 64)]
        said += [api.post("/hosts/cursor/import", digest="0" * 64)]
        said += [
            api.post("/imports/plan", path="/etc/passwd"),
            api.post("/imports/plan", text="{}"),
        ]
        said += [api.post("/imports", text="{}", digest="0" * 64)]
        assert [one["code"] for one in said] == ["elsewhere"] * 7


def test_a_viewer_does_not_even_see_them(tmp_path: Path) -> None:
    with running(tmp_path, gateway='operators = "key"') as console:
        viewer = signed_in(console)
        assert viewer.get("/hosts")["code"] == "role"
        assert viewer.post("/hosts/cursor/connect", digest="0" * 64)["code"] == "role"
        assert viewer.post("/imports/plan", path="/etc/passwd")["code"] == "role"
