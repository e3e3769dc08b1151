"""Calls that the console makes for a person: who they are to the kernel, and what becomes of refusals."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gatewright.call import Caller, Failure, Refusal
from gatewright.console.kernel_calls import CallKeys, refused
from tests.console.asking import Api
from tests.console.in_process import within
from tests.console.running import DEMO, running
from tests.storage.parts import operators_in


class _Known:
    def verify(self, credential: str) -> Caller | str:
        return Caller("ann", "operator") if credential == "gwk_ann" else "unknown"


def test_a_key_of_a_call_ends_with_it_and_opens_nothing_after() -> None:
    keys = CallKeys()
    both = keys.over(_Known())
    with keys.of(Caller("local", "operator")) as credential:
        assert both.verify(credential) == Caller("local", "operator")
    assert both.verify(credential) == "unknown"
    assert both.verify("gwk_ann") == Caller("ann", "operator")
    assert CallKeys().verify("gwk_ann") == "unknown"


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Refusal("access_denied", "no"), 403),
        (Failure("not_found", "there is no server 'x'"), 404),
        (Failure("internal"), 500),
    ],
)
def test_what_is_not_answered_is_an_error_of_the_api(
    outcome: Refusal | Failure, status: int
) -> None:
    found = refused(outcome)
    assert (found.status, found.code, bool(found.message)) == (status, outcome.reason, True)


def test_the_record_says_that_it_was_made_in_the_console(tmp_path: Path) -> None:
    with running(tmp_path) as console:
        assert Api(console).post("/servers/nothing/start")["status"] == 404
        shown = console.command("audit", "query", "--json").stdout
        assert '"door":"console"' in shown
        assert "gatewright/server/start" in shown


async def test_a_tried_call_waits_for_an_operator_at_once(tmp_path: Path) -> None:
    async with within(tmp_path, DEMO) as console:
        operators_in(console.parts.ground.database, "bob")
        ann, bob = await console.person("operator", "ann"), await console.person("operator", "bob")
        tried = {"server": "demo", "tool": "write_note", "arguments": '{"name": "x", "text": "y"}'}
        call = asyncio.create_task(ann.api("POST", "/tools/try", tried))
        async with asyncio.timeout(5):
            while not (waiting := (await bob.api("GET", "/approvals")).json()["approvals"]):
                assert not call.done(), call.result().text
                await asyncio.sleep(0.02)
        assert [one["agent"] for one in waiting] == ["ann"]
        agreed = {"digest": waiting[0]["digest"]}
        found = await bob.api("POST", f"/approvals/{waiting[0]['id']}/approve", agreed)
        assert found.status == 200, found.text
        assert (await call).json()["ended"] == "answered"
