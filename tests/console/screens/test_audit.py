"""The audit screen without a browser: what it answers, to whom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.console.screens.audit import Audit
from tests.console.in_process import within
from tests.console.raw import Raw, signed_in
from tests.console.running import Console, eventually, running


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A gateway with a few calls in its record."""
    with running(tmp_path_factory.mktemp("console")) as found:
        found.command("tool", "call", "demo__read_note", "name=nothing")
        found.command("tool", "call", "demo__no_such_tool")
        yield found


@pytest.fixture(scope="module")
def operator(console: Console) -> Raw:
    """Somebody who is signed in."""
    return signed_in(console)


def test_a_search_is_answered_page_by_page(operator: Raw) -> None:
    found = operator.api("GET", "/audit?outcome=denied").json()
    assert [one["decision"]["reason"] for one in found["records"]] == ["tool_not_found"]
    assert (found["before"], found["unsearched"]) == (None, False)
    newest = operator.api("GET", "/audit").json()["records"][0]["seq"]
    behind = operator.api("GET", f"/audit?before={newest}").json()["records"]
    assert [one["seq"] for one in behind] == list(range(newest - 1, 0, -1))


def test_slices_count_what_the_search_finds(operator: Raw) -> None:
    found = operator.api("GET", "/audit/histogram?outcome=denied").json()
    assert {name: sum(one) for name, one in found["counts"].items()} == {"denied": 1}
    assert len(found["edges"]) == len(found["counts"]["denied"]) + 1


def test_a_record_is_opened_with_its_trace(operator: Raw) -> None:
    tried = operator.api("GET", "/audit?tool=read_note&kind=TOOL_EXECUTED").json()["records"][0]
    found = operator.api("GET", f"/audit/{tried['seq']}").json()
    assert (found["hash"], found["previous"], found["record"]) == ("holds", "holds", tried)
    assert found["line"].endswith(f'"hash":"{tried["hash"]}"}}')
    assert [one["trace_id"] for one in found["trace"]] == [tried["trace_id"]] * len(found["trace"])
    assert operator.api("GET", "/audit/999999").status == 404
    assert operator.api("GET", "/audit/x").status == 404


def test_what_is_typed_leads_to_its_url(operator: Raw) -> None:
    found = operator.get("/audit?agent=local&add=denied")
    assert (found.status, found.headers["location"]) == (303, "/audit?agent=local&outcome=denied")
    assert operator.get("/audit?since=soon").status == 422


def test_the_chain_is_verified_for_whoever_asks(operator: Raw) -> None:
    assert operator.api("POST", "/audit/verification").json()["state"] in ("running", "whole")
    eventually(lambda: operator.api("GET", "/audit/verification").json()["state"] == "whole")
    assert "chain intact" in operator.get("/audit").text


def test_an_export_is_in_the_record(operator: Raw) -> None:
    found = operator.get("/api/v1/audit/export?form=csv&tool=read_note")
    assert found.headers["content-disposition"] == 'attachment; filename="audit.csv"'
    assert found.text.startswith("seq,")
    (told,) = operator.api("GET", "/audit?kind=dev.gatewright.console.exported").json()["records"]
    assert told["details"]["query"] == "/audit?tool=read_note"


async def test_an_open_page_is_told_what_is_newer_and_reads_little_for_it(tmp_path: Path) -> None:
    """A few records are put into it; of thousands it says how many they are, and nothing is searched for that."""
    async with within(tmp_path) as console:
        viewer = await console.person("viewer")
        newest = (await viewer.api("GET", "/audit")).json()["newest"]
        search = vars(next(one for one in console.screens if isinstance(one, Audit)))["_search"]
        assert f'name="shown" value="{newest}"' in (await viewer.get("/audit")).text
        assert (await viewer.get(f"/audit/newer?shown={newest}")).text.strip() == ""
        write = console.parts.ground.audit.event
        write("dev.gatewright.performance")
        some = (await viewer.get(f"/audit/newer?shown={newest}&agent=ann")).text
        assert 'hx-get="/audit/list?agent=ann" hx-trigger="load"' in some
        assert 'hx-get="/audit/histogram?agent=ann" hx-trigger="load"' in some
        for _ in range(600):
            write("dev.gatewright.performance")
        read = vars(search)["_blocks"][0].last
        many = (await viewer.get(f"/audit/newer?shown={newest}&agent=ann")).text
        assert '<a href="/audit?agent=ann">Show 601 newer records</a>' in many
        assert "hx-get" not in many
        assert vars(search)["_blocks"][0].last == read


async def test_viewers_share_no_part_in_which_one_of_them_sees_more(tmp_path: Path) -> None:
    """Where each signed in is shown to them alone, however soon they ask after one another."""
    async with within(tmp_path) as console:
        people = {name: await console.person("viewer", name) for name in ("ann", "bob")}
        for _ in range(2):
            for name, client in people.items():
                shown = (await client.get("/audit/list?kind=dev.gatewright.console.signed_in")).text
                assert shown.count(f">{name}<") == 1
        answers = [
            (await client.get("/api/v1/audit?kind=dev.gatewright.console.signed_in")).json()
            for client in people.values()
        ]
        hidden = [
            [one["details"]["address"].startswith("not shown") for one in found["records"]]
            for found in answers
        ]
        assert sorted(map(sum, hidden)) == [1, 1]
        keys = [key for key in vars(console.site)["_shared"]._made if key[0] == "audit/list.html"]
        assert len(keys) == 2
