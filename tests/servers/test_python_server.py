"""Python modules as servers of this process, through the supervisor like any others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Answer, Failure
from gatewright.mcp.wire import jsonrpc
from gatewright.servers import python_server
from gatewright.servers.spec import ServerSpec
from gatewright.transport.base import Limits
from tests.servers.rig import ask, result, running, text

MODULE = """
from gatewright.sdk import mcp_tool

@mcp_tool
def double(n: int) -> int:
    return 2 * n

@mcp_tool(destructive=True)
def wipe() -> str:
    return "wiped"
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name.startswith("pyserver_"):
            del sys.modules[name]


def write(home: Path, name: str, module: str = MODULE) -> Path:
    folder = home / name
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "mcp_tools.py").write_text(module)
    return folder


def spec(home: Path, where: str, **more: Any) -> ServerSpec:
    return ServerSpec(id="mine", transport="python", python=where, cwd=str(home), **more)


async def test_a_package_beside_the_configuration_is_a_server(home: Path) -> None:
    """CDM-api-3, GGEN-core-7: one of several sources of tools."""
    write(home, "pyserver_a")
    async with running(spec(home, "pyserver_a")) as supervisor:
        done = await ask(supervisor, "mine/pyserver_a_double", {"n": 4})
        assert result(done)["structuredContent"] == {"result": 8}
        status = supervisor._servers["mine"].status()
        assert (status.transport, status.state, status.tools) == ("python", "connected", 2)
        shelf = {one.target.name: one.security for one in supervisor.catalogue.shelf("mine").tools}
        assert shelf["pyserver_a_wipe"].risk_level == "dangerous"


async def test_the_trust_gateway_is_the_operators(home: Path) -> None:
    """CDM-con-8, CDM-con-10: the setting promotes, and only trusted is enough."""
    write(home, "pyserver_b")
    for state, wanted in (("untrusted", False), ("verified", False), ("trusted", True)):
        one = spec(home, "./", trust_gateway=state)
        async with running(one) as supervisor:
            done = await ask(supervisor, "mine/pyserver_b_wipe", {})
        if wanted:
            assert isinstance(done, Answer)
            assert text(done) == "wiped"
        else:
            assert isinstance(done, Failure)
            assert (done.reason, done.details["trust_state"]) == ("destructive_gate", state.upper())


async def test_the_time_limit_of_the_server_is_that_of_its_tools(home: Path) -> None:
    """GGEN-to-1"""
    waits = "import asyncio\nfrom gatewright.sdk import mcp_tool\n"
    waits += "@mcp_tool\nasync def forever() -> None:\n    await asyncio.Event().wait()\n"
    write(home, "pyserver_c", waits)
    async with running(spec(home, "pyserver_c", call_s=0.2)) as supervisor:
        done = await ask(supervisor, "mine/pyserver_c_forever", {})
    said = done.message if isinstance(done, Failure) else text(done)
    assert "0.2 s" in said or "in time" in said  # whichever of the two clocks is first


# A thread that is ended while it reads a module leaves that file to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_server_without_tools_is_down_with_the_reason(home: Path) -> None:
    """CDM-con-4"""
    write(home, "pyserver_d", "raise OSError('no disk')\n")
    async with running(spec(home, "pyserver_d")) as supervisor:
        status = supervisor._servers["mine"].status()
        assert status.state != "connected"
        assert "pyserver_d.mcp_tools: OSError: no disk" in status.reason


async def test_new_modules_are_looked_for_while_the_connection_lasts(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CDM-api-3: the search belongs to the connection and ends with it."""
    write(home, "pyserver_e")
    async with running(spec(home, "pyserver_e")):
        assert len(python_server._looking) == 1
        task = next(iter(python_server._looking))
    await task
    assert not python_server._looking


async def test_a_tool_that_nobody_could_call_is_left_out_with_the_reason(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """CDM-con-4: found when the server starts, not when the first caller needs the tool."""
    broken = "from typing import Annotated\nfrom gatewright.sdk import Pattern, mcp_tool\n"
    broken += "@mcp_tool\ndef odd(a: Annotated[str, Pattern('(')]) -> str:\n    return a\n"
    write(home, "pyserver_f", MODULE + broken)
    async with running(spec(home, "pyserver_f")) as supervisor:
        assert supervisor._servers["mine"].status().tools == 2
    assert "left out: a schema of pyserver_f_odd cannot be compiled" in caplog.text


async def test_a_long_result_is_as_long_as_that_of_any_server(home: Path) -> None:
    """GGEN-p4-1: ten megabytes; what is longer than the operator allows ends the connection, as everywhere."""
    module = """
from gatewright.sdk import mcp_tool

@mcp_tool
def long(n: int) -> str:
    return "x" * n

@mcp_tool
def count(text: str) -> int:
    return len(text)
"""
    write(home, "pyserver_long", module)
    long = 10 * 1024 * 1024
    async with running(spec(home, "pyserver_long")) as supervisor:
        found = text(await ask(supervisor, "mine/pyserver_long_long", {"n": long}))
        assert len(found) == long
        done = await ask(supervisor, "mine/pyserver_long_count", {"text": "x" * long})
        assert result(done)["structuredContent"] == {"result": long}
    strict = spec(home, "pyserver_long", limits=Limits(frame_bytes=64 * 1024))
    async with running(strict) as supervisor:
        failed = await ask(supervisor, "mine/pyserver_long_long", {"n": long})
        assert isinstance(failed, Failure)
        assert "a message longer than 65536 bytes" in failed.message


def test_a_module_that_answers_was_asked_whatever_it_says_of_that() -> None:
    said = {"reason": "upstream_unavailable", "_mgp": {"details": {"sent": False, "where": "b"}}}
    error = jsonrpc.encode({"code": 5002, "message": "down", "data": said})
    assert python_server._reasoned(Failure("upstream_error", error=error)) == Failure(
        "upstream_unavailable", "down", {"where": "b"}
    )
