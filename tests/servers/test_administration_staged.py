"""A server that is stopped while another process of it is being started: by a start, by a restart, or by a reload that changed it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.servers.server import Server
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import alive, ask, python, text, within
from tests.servers.test_administration import OPERATOR, Desk, desk, slow, until


def hanging(flag: Path) -> ServerSpec:
    """A server that is as others until there is a flag; what is started after that tells its process id and never says hello."""
    real = python("living", id="a", connect_s=60.0, call_s=15.0)
    run = f'test -e "{flag}" && {{ echo $$ >&2; exec cat >/dev/null; }}; exec "$0" "$@"'
    return replace(real, command="sh", args=("-c", run, real.command, *real.args))


def hung(supervisor: Supervisor) -> Server:
    """What is being started, once it runs."""
    (found,) = supervisor.staged
    return found


async def starting(found: Desk, verb: str) -> tuple[asyncio.Task[Any], int]:
    """A start or restart that waits for a hello, and the process that does not say it."""
    asked = asyncio.ensure_future(found.ask(verb, server="a"))
    await until(lambda: found.supervisor.staged and hung(found.supervisor).stderr.lines)
    return asked, int(hung(found.supervisor).stderr.lines[0])


@pytest.mark.parametrize("verb", ["stop", "drain"])
async def test_a_server_that_is_being_restarted_is_stopped_with_what_was_to_replace_it(
    tmp_path: Path, verb: str
) -> None:
    """The new process was switched in, took calls while the former one ended, and lived on behind the calls of all servers."""
    async with desk(hanging(tmp_path / "flag")) as found:
        found.over = (asyncio.get_running_loop().create_future(),)
        before = int(text(await ask(found.supervisor, "a__pid")))
        call = await slow(found.supervisor, "a", 1.0)
        (tmp_path / "flag").write_text("")
        asked, after = await starting(found, "restart")
        if verb == "stop":
            assert (await found.ask("stop", server="a"))["status"] == "disconnected"
        else:
            await within(found.all.shut_down(OPERATOR, "a", "operator_request", 10.0))
            await until(lambda: not found.all._settling)
        assert (alive(before), alive(after)) == (False, False)
        assert text(await within(call)) == "done"
        assert (await within(asked))["status"] != "connecting"
        assert found.supervisor.states["a"] == "disconnected"


async def test_a_server_that_hangs_as_it_is_started_is_stopped_whatever_calls_of_others_run(
    tmp_path: Path,
) -> None:
    """It was said to be disconnected, and was started again and again until no call of any server was left."""
    async with desk(hanging(tmp_path / "flag"), python("living", id="b")) as found:
        await found.ask("stop", server="a")
        found.over = (asyncio.get_running_loop().create_future(),)
        (tmp_path / "flag").write_text("")
        asked, pid = await starting(found, "start")
        assert (await found.ask("stop", server="a"))["status"] == "disconnected"
        assert not alive(pid)
        await within(asked)
        assert found.supervisor.status()[0].reason.startswith("stopped by")


async def test_a_server_that_is_started_once_more_after_that_is_there(tmp_path: Path) -> None:
    async with desk(hanging(tmp_path / "flag")) as found:
        await found.ask("stop", server="a")
        (tmp_path / "flag").write_text("")
        first, pid = await starting(found, "start")
        stop = asyncio.ensure_future(found.ask("stop", server="a"))
        await until(lambda: "a" in found.stopped)
        await until(lambda: not alive(pid))
        (tmp_path / "flag").unlink()
        assert (await found.ask("start", server="a"))["status"] == "connected"
        await within(asyncio.gather(first, stop))
        assert found.supervisor.states["a"] == "connected"
        assert int(text(await ask(found.supervisor, "a__pid"))) != pid
