"""`top`: what the running gateway does, as one document, as a stream, as rows and as a live picture."""

import json
import signal
import subprocess
from collections.abc import Iterator
from math import inf
from typing import Any

import pytest

from gatewright.telemetry.commands import Look, frame
from tests import fork_server
from tests.cli.gateways import DEMO, Served, serving
from tests.cli.schemas import conform
from tests.cli.shell import DEADLINE_S, Shell

CONFIG = f"""\
{DEMO}[[servers]]
id = "absent"
command = "no-such-program-here"
[[grants]]
agent = "local"
server = "demo"
tool = "now"
permission = "deny"
"""


@pytest.fixture
def gateway(shell: Shell) -> Iterator[Served]:
    """A gateway that answered two calls and refused one."""
    shell.write("mgp.toml", CONFIG)
    with serving(shell) as served:
        codes = [
            shell.run("tool", "call", "demo__echo", "text=a").code,
            shell.run("tool", "call", "demo__add", "a=1", "b=2").code,
            shell.run("tool", "call", "demo__now").code,
        ]
        assert codes[:2] == [0, 0]
        assert codes[2] != 0
        yield served


def test_one_look_tells_of_everything_since_the_start(shell: Shell, gateway: Served) -> None:
    done = shell.run("top", "--once", "--json")
    assert done.code == 0
    found = done.document
    assert (found["url"], found["seconds"], found["calls_per_s"]) == (gateway.url, None, None)
    assert (found["calls"]["success"], found["calls"]["denied"]) == (2, 1)
    assert found["latency_ms"]["p50"] > 0
    assert [(one["id"], one["tools"]) for one in found["servers"]] == [("demo", 7), ("absent", 0)]
    assert "not on PATH" in found["servers"][1]["reason"]
    assert found["audit_ok"] is True


def test_what_waits_for_a_person_is_counted(shell: Shell) -> None:
    shell.write(
        "mgp.toml",
        f'{DEMO}[servers.tools.now]\nrisk_level = "dangerous"\n'
        '[approvals]\napprover = "operator"\nhold_s = 0\n',
    )
    with serving(shell):
        assert shell.run("tool", "call", "demo__now").code == 7
        assert shell.run("top", "--once", "--json").document["waiting"] == 1


def test_a_stream_is_one_document_a_look_with_the_difference(shell: Shell, gateway: Served) -> None:
    arguments = ("top", "--json", "--interval", "0.2")
    process = fork_server.Popen(
        shell.command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=shell.environ(),
        cwd=shell.folder,
    )
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert shell.run("tool", "call", "demo__echo", "text=b").code == 0
    seen: list[dict[str, Any]] = []
    while not any(one["calls"]["success"] for one in seen):
        seen.append(json.loads(process.stdout.readline()))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, err) == (130, "")
    assert first["seconds"] is None
    assert seen[-1]["calls"]["success"] == 1
    assert 0 < seen[-1]["calls_per_s"] <= 1 / seen[-1]["seconds"] + 1
    conform(arguments, "".join(json.dumps(one) + "\n" for one in [first, *seen]) + out)


def test_on_a_pipe_there_is_one_row_a_look(shell: Shell, gateway: Served) -> None:
    done = shell.run("top", "-n", "2", "-i", "0.1")
    assert done.code == 0
    first, second = done.rows
    assert (first[1], first[2], first[7], first[8]) == ("3", "1", "0", "1/2")
    assert (second[1], second[8]) == ("0.0", "1/2")


def test_on_a_terminal_there_is_a_live_picture(shell: Shell, gateway: Served) -> None:
    done = shell.run_at_terminal("top", "-n", "2", "-i", "0.1")
    assert done.code == 0
    assert "CALLS/S" in done.out
    assert "SERVER" in done.out
    assert "absent" in done.out
    assert "since its start" in done.out


def test_one_look_on_a_terminal_says_what_its_figures_are(shell: Shell, gateway: Served) -> None:
    done = shell.run_at_terminal("top", "--once")
    assert done.code == 0
    heading, figures = done.out.splitlines()[-2:]
    assert heading.split()[:4] == ["TIME", "CALLS", "DENIED", "FAILED"]
    assert figures.startswith("20")
    assert heading.index("CALLS") == len(figures.split("  ")[0]) + 2
    assert "TIME" not in shell.run("top", "--once").out


def test_without_a_gateway_there_is_nothing_to_look_at(shell: Shell) -> None:
    done = shell.run("top", "--once")
    assert (done.code, done.error["code"]) == (4, "gateway_unreachable")


def look(at: float, success: float, took: tuple[tuple[float, float], ...]) -> Look:
    return Look(at, {"success": success, "denied": 1.0}, 4.0, took, {"gatewright_audit_up": 0.0})


def test_figures_are_those_of_the_time_between_two_looks() -> None:
    before = look(10.0, 5.0, ((0.1, 5.0), (1.0, 5.0), (inf, 5.0)))
    after = look(12.0, 9.0, ((0.1, 5.0), (1.0, 8.0), (inf, 9.0)))
    found = frame("u", [], after, before)
    assert found["calls"] == {"denied": 0, "success": 4}
    assert (found["calls_per_s"], found["other"], found["audit_ok"]) == (2.0, 0, False)
    assert found["latency_ms"] == {"p50": 1000.0, "p95": 1000.0, "p99": 1000.0}


@pytest.mark.parametrize(
    "before",
    [
        look(10.0, 500.0, ((0.1, 3.0), (inf, 3.0))),
        look(10.0, 1.0, ((0.1, 3.0), (inf, 9.0))),
        Look(10.0, {"success": 1.0, "denied": 1.0}, 7.0, (), {}),
        Look(10.0, {"success": 1.0, "failure": 2.0}, 4.0, (), {}),
    ],
)
def test_after_a_restart_there_are_no_rates_and_the_figures_are_those_since_the_start(
    before: Look,
) -> None:
    """Another process counts from nothing: less what the former one counted they would be below it."""
    after = look(12.0, 2.0, ((0.1, 3.0), (inf, 3.0)))
    found, first = frame("u", [], after, before), frame("u", [], after, None)
    assert (found["seconds"], found["calls_per_s"]) == (None, None)
    assert found["calls"] == {"denied": 1, "success": 2}
    assert found | {"time": ""} == first | {"time": ""}
    assert frame("u", [], look(14.0, 4.0, after.took), after)["calls_per_s"] == 1.0


def test_no_call_has_no_latency() -> None:
    assert frame("u", [], look(1.0, 0.0, ()), None)["latency_ms"]["p50"] is None
