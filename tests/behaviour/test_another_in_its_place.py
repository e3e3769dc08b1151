"""What a server had or gave out is led to nobody else: while it is stopped, switched off or broken, and when another takes its id."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Target
from gatewright.servers.names import wrap_uri
from tests.behaviour.gateway import ROOT, Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.test_task_handles import keys
from tests.behaviour.test_task_owners import VERBS, begun

TODAY, LINKED = "notes://today", "memo://named"
WAYS = ("stopped", "off", "broken", "another")


def notes(**more: Any) -> dict[str, Any]:
    made = server("linking", "notes", "notes", TODAY, "--template", "notes://day/{n}")
    return made | more


def content(first: dict[str, Any], *evil: str) -> dict[str, Any]:
    return config(first, server("linking", "evil", "evil", *evil), gateway={"anonymous": "deny"})


def leave(gateway: Gateway, way: str, *evil: str) -> None:
    """The server goes, in one of the ways in which it can."""
    if way == "stopped":
        gateway.reload(content(notes(), *evil))
        gateway.cli("server", "stop", "notes")
        return
    gone: dict[str, dict[str, Any]] = {
        "off": {"enabled": False},
        "broken": {"command": "/bin/false"},
        "another": {"args": [*notes()["args"][:1], "other"]},
    }
    gateway.reload(content(notes(**gone[way]), *evil))


def candidates(refused: RpcError) -> list[str]:
    """As what a URI of several can be read."""
    return refused.message.partition("; read it as ")[2].split(" or ")


async def answered(client: Host, uri: str) -> str:
    """Who answers for a URI, in every way of asking; the code of the refusal where nobody does."""
    said = set()
    ref = {"type": "ref/resource", "uri": uri}
    for method, params in (
        ("resources/read", {"uri": uri}),
        ("resources/subscribe", {"uri": uri}),
        ("completion/complete", {"ref": ref, "argument": {"name": "n", "value": ""}}),
    ):
        try:
            found = await client.request(method, params)
            said.add(str(found.get("contents", [{"text": "granted"}])[0]["text"]))
        except RpcError as problem:
            said.add("refused" if problem.code != -32601 else "asked a server")
    return " and ".join(sorted(said))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lists", [False, True])
async def test_no_neighbour_answers_for_what_a_server_has_that_is_away(
    tmp_path: Path, way: str, lists: bool
) -> None:
    evil = (TODAY, "--template", "notes://day/{n}") if lists else ()
    with running(tmp_path, content(notes())) as gateway:
        (mine,) = keys(gateway.folder, "ann")
        async with host(gateway, headers=mine) as ann:
            await ann.call("notes__link", uris=[LINKED])
            assert (await ann.request("resources/read", {"uri": TODAY}))["contents"]
            leave(gateway, way, *evil)
            if (
                way == "another"
            ):  # what has its id now lists nothing of it: then it is whose it is said to be
                assert await answered(ann, LINKED) == "refused"
                # Named anew it is contested with what was named before, and the refusal says what it is called now.
                await ann.call("notes__link", uris=[LINKED])
                with pytest.raises(RpcError, match="several servers have or had") as caught:
                    await ann.request("resources/read", {"uri": LINKED})
                (now,) = candidates(caught.value)
                assert f"granted and other of {LINKED}" in await answered(ann, now)
                return
            for uri in (TODAY, "notes://day/7", LINKED):
                assert await answered(ann, uri) == "refused"
            listed = (await ann.request("resources/list"))["resources"]
            shown = [wrap_uri(Target("evil", TODAY))] if lists else []
            assert [one["uri"] for one in listed] == shown
            with pytest.raises(
                RpcError, match="several servers" if lists else "server notes "
            ) as caught:
                await ann.request("resources/read", {"uri": TODAY})
            if lists:
                # What is switched off cannot be read in qualified form either.
                offered = ["evil"] if way == "off" else ["evil", "notes"]
                names = [wrap_uri(Target(one, TODAY)) for one in offered]
                assert sorted(candidates(caught.value)) == names
            heard = await ann.call("evil__heard")
            assert "notes://" not in str(heard)
            assert LINKED not in str(heard)


@pytest.fixture(scope="module")
def sites() -> Iterator[list[str]]:
    """Two servers over HTTP that number their tasks alike."""
    script = str(ROOT / "tests" / "tool_servers" / "worker.py")
    with ExitStack() as stack:
        urls = []
        for _ in range(2):
            process = subprocess.Popen(
                [sys.executable, script, "--http", "0"], stdout=subprocess.PIPE
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            assert process.stdout is not None
            stack.callback(process.stdout.close)
            word, url = process.stdout.readline().decode().split()
            assert word == "ready"
            urls.append(url)
        yield urls


def at(url: str, **more: Any) -> dict[str, Any]:
    return config({"id": "x", "url": url, **more}, gateway={"anonymous": "deny"})


@pytest.mark.parametrize("while_it_runs", [True, False])
@pytest.mark.parametrize("what", ["address", "who we are"])
async def test_a_task_leads_to_no_other_server_that_has_its_id(
    tmp_path: Path, sites: list[str], while_it_runs: bool, what: str
) -> None:
    """Both number their tasks alike, so the other one would know one of this name."""
    first, second = sites
    now = at(second) if what == "address" else at(first, headers={"X-Account": "another"})

    async def asked(gateway: Gateway, mine: dict[str, str], his: dict[str, str], task: str) -> None:
        async with host(gateway, headers=his) as bob, host(gateway, headers=mine) as ann:
            await begun(bob, "x")
            for verb in VERBS:
                with pytest.raises(RpcError, match="there is no such task"):
                    await ann.request(f"tasks/{verb}", {"taskId": task})
            assert (await ann.request("tasks/list"))["tasks"] == []
            assert await begun(ann, "x") != task

    with running(tmp_path, at(first)) as gateway:
        mine, his = keys(gateway.folder, "ann", "bob")
        async with host(gateway, headers=mine) as ann:
            task = await begun(ann, "x")
            assert (await ann.request("tasks/get", {"taskId": task}))["taskId"] == task
        if while_it_runs:
            gateway.reload(now)
            await asked(gateway, mine, his, task)
    if not while_it_runs:
        with running(tmp_path, now) as gateway:
            await asked(gateway, mine, his, task)
