"""What one person of the console may have at once, what each request may cost, and who sees where others signed in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
import pytest_asyncio

from gatewright.access.authority import Authority
from gatewright.console import access_table
from gatewright.console.access_table import AccessTable, Grid
from gatewright.console.audit_export import EXPORTS_EACH, AuditExport, AuditExports
from gatewright.console.operations import ApiError, Asking
from gatewright.console.people import Person
from gatewright.transport.slices import whole
from tests.console.in_process import Within, within
from tests.console.running import DEMO
from tests.costs import lines_run


@pytest_asyncio.fixture
async def console(tmp_path: Path) -> AsyncIterator[Within]:
    """Without any server."""
    async with within(tmp_path) as found:
        yield found


async def test_nothing_answers_before_the_guard_has_looked(console: Within) -> None:
    client = await console.person("operator")
    foreign = {"Host": "elsewhere.example"}
    for path in ("/inbox/", "/inbox", "/nowhere", "/static/", "/api/v1/nowhere", "/events/"):
        answer = await client.get(path, foreign)
        assert answer.status == 421, path
        assert "location" not in answer.headers
        assert answer.headers["content-security-policy"]
    assert (await client.get("/inbox/")).status == 404
    assert (await client.ask("POST", "/inbox", headers={"Origin": "null"})).status == 403


async def test_where_somebody_signed_in_is_for_operators_and_themselves(console: Within) -> None:
    people = {role: await console.person(role) for role in ("viewer", "approver", "operator")}
    auditor = await console.person("auditor")
    for name, client in {**people, "auditor": auditor}.items():
        listed = {
            one["person"]: one for one in (await client.api("GET", "/sign-ins")).json()["signed_in"]
        }
        for person, one in listed.items():
            seen = name in (person, "operator")
            assert (one["address"] == "127.0.0.1") == seen, (name, person)
    await asyncio.sleep(0.1)
    asked = "/audit?kind=dev.gatewright.console.signed_in"
    for name, client in {**people, "auditor": auditor}.items():
        records = (await client.api("GET", asked)).json()["records"]
        assert len(records) == 4
        for one in records:
            seen = name in (one["actor"]["id"], "operator", "auditor")
            assert (one["details"]["address"] == "127.0.0.1") == seen, (name, one["actor"])
            opened = (await client.api("GET", f"/audit/{one['seq']}")).json()
            assert ("127.0.0.1" in msgspec.json.encode(opened).decode()) == seen, name
        page = (await client.get("/sessions")).text
        assert ("127.0.0.1" in page.partition('id="signed-in"')[2]) is True  # their own at least


async def test_one_person_exports_twice_at_a_time(console: Within) -> None:
    exports = AuditExports(console.parts.ground, console.clock)
    ann, bob = Person("ann", "auditor", "key"), Person("bob", "auditor", "key")
    running = [await exports.export(Asking(ann, given=AuditExport())) for _ in range(EXPORTS_EACH)]
    with pytest.raises(ApiError) as caught:
        await exports.export(Asking(ann, given=AuditExport()))
    assert caught.value.status == 503
    await exports.export(Asking(bob, given=AuditExport()))
    running[0].done()
    await exports.export(Asking(ann, given=AuditExport()))
    client = await console.person("auditor", "carl")
    for _ in range(EXPORTS_EACH + 1):  # each ends before the next one
        answer = await client.form("/audit/export", {"form": "csv", "csrf": client.csrf})
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
        assert answer.headers["content-disposition"] == 'attachment; filename="audit.csv"'
        assert answer.text.startswith("seq,")


async def test_the_checks_are_not_made_over_and_over(console: Within) -> None:
    client = await console.person("viewer")
    made = 0

    def findings() -> list[object]:
        nonlocal made
        made += 1
        return []

    health = next(one for one in console.screens if one.name == "health")
    checks = vars(health)["_checks"]
    vars(checks)["_examination"] = SimpleNamespace(findings=findings)
    for _ in range(20):
        assert (await client.api("POST", "/health/look")).status == 200
        await asyncio.sleep(0.02)
    assert made == 1
    console.ahead += 4
    await client.api("POST", "/health/look")
    await asyncio.sleep(0.05)
    assert made == 2


async def test_a_part_of_the_grid_costs_as_much_however_many_grants_there_are(
    tmp_path: Path,
) -> None:
    async def lines(number: int) -> int:
        folder = tmp_path / str(number)
        folder.mkdir()
        more = "".join(
            f'[[grants]]\nagent = "agent-{n}"\nserver = "demo"\ntool = "t{n}"\n'
            for n in range(number)
        )
        async with within(folder, DEMO + more) as console:
            authority = console.parts.ground.of(Authority)
            assert authority is not None
            table = AccessTable(console.parts.ground, authority, console.clock)

            def grid() -> Grid:
                part = table.grid(agent="", server="", text="")
                return whole(part)

            assert len(grid().agents) == 25
            return lines_run(access_table, grid)

    few, many = await lines(50), await lines(400)
    assert many - few <= 350 * 12  # once through the grants, and not once for each cell


async def test_many_sessions_and_streams_are_found_without_looking_through_all(
    console: Within,
) -> None:
    sessions = console.sessions
    for number in range(900):
        sessions.open(Person(f"p{number}", "viewer", "url"), address="", user_agent="")
    _, session = sessions.open(Person("ann", "viewer", "url"), address="", user_agent="")
    compared = 0

    class Asked(dict[str, str]):
        def __contains__(self, key: object) -> bool:
            nonlocal compared
            compared += 1
            return super().__contains__(key)

    vars(sessions)["_keys"] = Asked(vars(sessions)["_keys"])
    assert sessions.holds(session)
    assert compared == 1
