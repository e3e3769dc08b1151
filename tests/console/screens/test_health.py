"""Screen `health` by its API, with a whole gateway: what is to be done, the record verified, and the texts of fixes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.asking import Api
from tests.console.in_process import within
from tests.console.running import DEMO, eventually, running

BROKEN = """
[[servers]]
id = "broken"
command = "false"

[servers.mgp]
restart_policy = "never"
"""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with running(tmp_path_factory.mktemp("console"), DEMO + BROKEN) as console:
        yield Api(console)


def looked(api: Api) -> dict[str, Any]:
    eventually(lambda: api.get("/health")["looked"] is not None)
    found: dict[str, Any] = api.get("/health")
    return found


def test_what_is_to_be_done_stands_first_with_a_command(api: Api) -> None:
    things = looked(api)["things"]
    assert (things[0]["check"], things[0]["subject"]) == ("server", "broken")
    assert "server start broken" in things[0]["fix"]
    assert {"config", "gateway", "state", "store"} <= {one["check"] for one in things}
    levels = [one["level"] for one in things]
    assert levels == sorted(levels, key=["problem", "warning", "ok"].index)


def test_the_checks_are_made_anew_when_somebody_asks(api: Api) -> None:
    before = looked(api)["looked"]
    eventually(lambda: bool(api.post("/health/look")["looking"]))  # not again at once
    eventually(lambda: bool(api.get("/health")["looked"] > before))


def test_the_record_is_verified_in_the_background(api: Api) -> None:
    assert api.get("/health")["chain"] is None
    assert api.post("/health/verify")["verifying"]
    eventually(lambda: api.get("/health")["chain"] is not None)
    chain = api.get("/health")["chain"]
    assert (chain["last"] > 0, chain["problem"], len(chain["hash"])) == (True, "", 64)


async def test_who_has_the_record_looked_at_stays_in_the_list_that_they_see(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        viewer = await console.person("viewer")
        for act in ("look", "verify"):
            form = await viewer.form(f"/health/{act}", {"place": "?q=nothing+of+that&level=ok"})
            assert form.status == 200
            assert 'name="place" value="?q=nothing+of+that&amp;level=ok"' in form.text
            assert (await viewer.form(f"/health/{act}", {"place": "?level=none"})).status == 422
