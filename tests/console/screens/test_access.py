"""The access screen without a browser."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.console.in_process import within
from tests.console.running import DEMO


async def test_a_person_changes_a_cell_by_its_forms_and_a_viewer_sees_it(tmp_path: Path) -> None:
    async with within(tmp_path, DEMO) as console:
        operator, viewer = await console.person("operator"), await console.person("viewer")
        way = "/access?open_agent=%2A&open_server=demo&open_tool=echo"
        assert "Preview the change" in (await operator.get(way)).text
        assert "Preview the change" not in (await viewer.get(way)).text
        asked = "/access/cell?open_agent=%2A&open_server=demo&open_tool=echo"
        opened = (await viewer.api("GET", asked)).json()
        assert (opened["cell"]["word"], opened["cell"]["by"]) == ("allow", "server_grant")
        fields = {"agent": "*", "server": "demo", "tool": "echo", "do": "deny", "why": "<b>x"}
        fields["version"] = opened["version"]
        planned = await operator.form("/access/plan", fields)
        assert "may not use demo/echo" in planned.text
        assert "<b>x" not in planned.text
        place = {"place": "?find=ech&sort=tool&desc=true"}
        saved = await operator.form("/access/save", fields | place)
        location = saved.headers["location"] or ""
        assert parse_qs(urlsplit(location).query) == {
            **parse_qs(place["place"][1:]),
            "open_agent": ["*"],
            "open_server": ["demo"],
            "open_tool": ["echo"],
        }
        assert "Saved:" in (await operator.get("/access")).text
        assert "Saved:" not in (await viewer.get("/access")).text
        again = await operator.form("/access/save", fields)
        assert again.status == 409
        assert (await viewer.form("/access/undo", {})).status == 403
        other = await operator.form("/access/undo", {**place, "of": "0" * 32})
        assert (other.status, "another one by now" in other.text) == (409, True)
        undone = await operator.form("/access/undo", place)
        assert undone.headers["location"] == "/access?find=ech&sort=tool&desc=true"
        assert (await operator.form("/access/undo", {"place": "?desc=perhaps"})).status == 422
        grid = (await viewer.api("GET", "/access?find=echo")).json()
        assert [row[0]["word"] for row in grid["cells"]] == ["allow"]


async def test_what_is_held_back_is_marked_whoever_may_call_it(tmp_path: Path) -> None:
    """In the head of its column, and in a cell that is open."""
    held = DEMO.replace('id = "demo"\n', 'id = "demo"\npin = "approve"\n')
    for name, text, count in (("held", held, 8), ("seen", DEMO, 0)):
        (tmp_path / name).mkdir()
        async with within(tmp_path / name, text) as console:
            viewer = await console.person("viewer")
            grid = (await viewer.api("GET", "/access")).json()
            assert (len(grid["held"]), sum(grid["held"])) == (8, count)
            assert {row[0]["word"] for row in grid["cells"]} == {"allow"}
            way = "?open_agent=%2A&open_server=demo&open_tool=echo"
            opened = (await viewer.api("GET", f"/access/cell{way}")).json()
            assert bool(opened["held"]) == bool(count)
            page = (await viewer.get(f"/access{way}")).text
            assert page.count("> back: nobody sees or calls it</span></b>") == count
            assert ("Nobody sees or calls it until" in page) == bool(count)


async def test_a_cell_that_asks_says_which_gate_does_and_who_allowed_it(tmp_path: Path) -> None:
    async with within(tmp_path, DEMO) as console:
        viewer = await console.person("viewer")
        page = (
            await viewer.get("/access?open_agent=%2A&open_server=demo&open_tool=write_note")
        ).text
        said = " ".join(page.partition("needs approval</span>\n")[2].split())
        assert said.startswith("(gate confirm); allowed by a grant for the whole server")
        page = (await viewer.get("/access?open_agent=%2A&open_server=demo&open_tool=echo")).text
        assert "gate confirm)" not in page


async def test_what_would_be_written_is_shown_to_its_end(tmp_path: Path) -> None:
    async with within(tmp_path, DEMO) as console:
        operator = await console.person("operator")
        long = "y" * 300 + " and its end"
        fields = {"agent": "*", "server": "demo", "tool": "echo", "do": "deny", "why": long}
        planned = (await operator.form("/access/plan", fields)).text
        assert long in planned.partition("<form")[0]
