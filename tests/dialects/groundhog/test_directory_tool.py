from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Call, Caller, Client, Failure, Outcome, Refusal
from gatewright.dialects.groundhog import directory_tool as module
from gatewright.dialects.groundhog.directory_tool import directory_tool, shipped_directory
from gatewright.dialects.groundhog.registration import Profile
from gatewright.dialects.groundhog.sandboxed_run import (
    PROCESSES,
    WAITING,
    WAITING_EACH,
    Isolation,
    Ran,
)
from tests.dialects.client import SECONDS

NOBODY: Any = None
MEMORY = 256 * 1024 * 1024


@pytest.fixture
def root(tmp_path: Path) -> str:
    (tmp_path / "a.txt").write_text("a")
    return str(tmp_path)


def call(**arguments: Any) -> Call:
    return Call(
        id="1",
        door="test",
        kind="tool",
        method="tools/call",
        name="directory_list",
        params={"arguments": arguments},
        caller=Caller("ann"),
        client=Client("2025-11-25"),
        trace_id="t",
        facts={},
    )


async def ran(root: str, profile: Profile, asked: Call) -> Outcome:
    run = shipped_directory([root], Isolation()).make(profile)
    outcome: Outcome = await run(asked.arguments, asked, NOBODY)
    return outcome


def names(outcome: Outcome) -> list[str]:
    assert isinstance(outcome, Answer), outcome
    return [one["name"] for one in json.loads(outcome.raw)["structuredContent"]["entries"]]


@pytest.mark.parametrize(
    "profile",
    [
        Profile(),
        Profile(seconds=60.0),
        Profile(memory=MEMORY),
        Profile(level="process", seconds=60.0, memory=MEMORY),
    ],
)
async def test_it_lists_the_same_under_every_profile(root: str, profile: Profile) -> None:
    """GRH-reg-6: memory can only be limited for a process, so then it is one."""
    asked = call(path=".")
    assert names(await ran(root, profile, asked)) == ["a.txt"]
    in_process = profile.level == "process" or profile.memory is not None
    assert ("memory_bytes" in asked.facts) is in_process


@pytest.mark.parametrize("profile", [Profile(), Profile(memory=MEMORY)])
async def test_a_path_outside_is_refused_in_the_words_of_the_specification(
    root: str, profile: Profile
) -> None:
    """GRH-msg-8."""
    refused = await ran(root, profile, call(path="/etc/passwd"))
    assert refused == Refusal(
        "path_not_allowed",
        "Access to the specified path is not permitted",
        {
            "requested_path": "/etc/passwd",
            "reason": "Path not in allowed list",
            "suggestion": "Request access to an allowed directory",
        },
        gate="roots",
    )


@pytest.mark.parametrize("profile", [Profile(), Profile(memory=MEMORY)])
async def test_what_cannot_be_listed_is_the_tools_own_failure(root: str, profile: Profile) -> None:
    outcome = await ran(root, profile, call(path="a.txt"))
    assert isinstance(outcome, Answer)
    assert outcome.tool_error
    assert b"not a directory" in outcome.raw


async def test_its_own_schema_holds_whatever_a_registration_says(root: str) -> None:
    """GRH-reg-3."""
    outcome = await ran(root, Profile(), call(path=7))
    assert isinstance(outcome, Failure)
    assert (outcome.reason, outcome.details["path"]) == ("invalid_args", "/path")


async def test_time_is_limited_in_this_process_and_in_one_of_its_own(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GRH-reg-6."""

    async def late(*given: Any, **more: Any) -> Ran:
        raise TimeoutError

    monkeypatch.setattr(module, "run_confined", late)
    outcome = await ran(root, Profile(seconds=2.0, memory=MEMORY), call(path="."))
    assert isinstance(outcome, Failure)
    assert (outcome.reason, outcome.details) == ("timeout", {"max_execution_time": 2.0})

    def slow(arguments: Any, roots: Any, *, stop: Any) -> Any:
        while not stop():
            pass
        return {}

    monkeypatch.setattr(module, "list_directory", slow)
    outcome = await ran(root, Profile(seconds=0.05), call(path="."))
    assert isinstance(outcome, Failure)
    assert outcome.reason == "timeout"


@pytest.mark.parametrize(
    ("said", "reason", "words"),
    [
        ({"no_memory": True}, "resource_exhausted", "more than 268435456 bytes"),
        ({"no_isolation": "mount: no"}, "internal", "mount: no"),
        ({"broken": True}, "internal", "ended before it answered"),
    ],
)
async def test_how_a_process_ended_is_told(
    root: str, monkeypatch: pytest.MonkeyPatch, said: dict[str, Any], reason: str, words: str
) -> None:
    """GRH-reg-6 and GRH-reg-7: without its isolation it does not run."""

    async def scripted(*given: Any, **more: Any) -> Ran:
        return Ran(said)

    monkeypatch.setattr(module, "run_confined", scripted)
    outcome = await ran(root, Profile(level="container", memory=MEMORY), call(path="."))
    assert isinstance(outcome, Failure)
    assert outcome.reason == reason
    assert words in outcome.message


async def test_so_many_processes_run_at_once_and_so_many_calls_wait(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GRH-reg-6: all registrations share the places, and one caller cannot take those of all who wait."""
    running: list[str] = []
    go = asyncio.Event()

    async def held(*given: Any, **more: Any) -> Ran:
        running.append("")
        await go.wait()
        return Ran({"result": {"entries": []}})

    monkeypatch.setattr(module, "run_confined", held)
    shipped = shipped_directory([root], Isolation())
    runs = [shipped.make(Profile(memory=MEMORY)), shipped.make(Profile(level="container"))]

    def begin(number: int, caller: str) -> asyncio.Task[Outcome]:
        asked = replace(call(path="."), caller=Caller(caller))
        return asyncio.ensure_future(runs[number % 2](asked.arguments, asked, NOBODY))

    most = PROCESSES + WAITING_EACH
    tasks = [begin(number, "ann") for number in range(most)]
    refused = await asyncio.wait_for(begin(0, "ann"), SECONDS)
    assert isinstance(refused, Refusal)
    assert refused.reason == "resource_exhausted"
    assert len(running) == PROCESSES
    tasks += [begin(0, f"c{number}") for number in range(WAITING - WAITING_EACH)]
    refused = await asyncio.wait_for(begin(0, "bob"), SECONDS)
    assert isinstance(refused, Refusal)
    tasks.pop().cancel()  # who gives up waiting makes room
    await asyncio.sleep(0)
    tasks.append(begin(0, "bob"))
    await asyncio.sleep(0)
    go.set()
    found = await asyncio.wait_for(asyncio.gather(*tasks), SECONDS)
    assert all(isinstance(one, Answer) for one in found)
    assert isinstance(await asyncio.wait_for(begin(0, "ann"), SECONDS), Answer)


def test_it_is_offered_without_a_registration(root: str) -> None:
    """GRH-msg-3."""
    found = directory_tool([root])
    assert (found.name, found.version, found.shipped) == ("directory_list", "1.0.0", True)
    assert found.definition["security"]["permissions_required"] == ["filesystem.read"]
