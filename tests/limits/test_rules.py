"""What the configuration says about how often, as rules that count."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.call import Answer, Caller, Failure, Target
from gatewright.config import Settings, load
from gatewright.limits.rules import Meters, meters_of, size_of
from tests.gate_parts import a_call, a_tool, a_tool_call

TEXT = """\
[limits]
calls_per_minute = 5
[limits.calls]
key = { per_hour = 4 }
tool = { per_second = 3 }
[limits.calls.callers.bob]
per_day = 2
[limits.calls.keys.k9]
per_hour = 1
[limits.doors.stdio]
caller = { per_second = 1 }
[[servers]]
id = "s"
command = "x"
calls = { per_minute = 4 }
[servers.tools.one]
calls = { per_minute = 1 }
[servers.tools.two]
risk_level = "safe"
[servers.tools."*"]
calls = { per_minute = 2 }
[[servers]]
id = "t"
command = "x"
"""


def settings(folder: Path, text: str) -> Settings:
    (folder / "mgp.toml").write_text(text)
    return load(folder / "mgp.toml", environ={"HOME": str(folder)})


def made(folder: Path, text: str = TEXT, before: Meters | None = None) -> Meters:
    return meters_of(settings(folder, text), lambda: 10**15, before)


@pytest.mark.parametrize(
    ("door", "caller", "key", "passes"),
    [
        ("http", "ann", None, 5),
        ("http", "ann", "k1", 4),
        ("http", "ann", "k9", 1),
        ("http", "bob", None, 2),
        ("stdio", "ann", None, 1),
        ("groundhog", "ann", None, 5),
    ],
)
def test_the_strictest_limit_of_a_caller_holds(
    tmp_path: Path, door: str, caller: str, key: str | None, passes: int
) -> None:
    """C-39, GGEN-auth-9"""
    meter = made(tmp_path).callers
    assert [meter.take(door, caller, key) is None for _ in range(9)].count(True) == passes


@pytest.mark.parametrize(
    ("server", "tool", "passes"),
    [("s", "one", 1), ("s", "two", 2), ("s", "three", 2), ("s", None, 4), ("t", "one", 3)],
)
def test_a_tool_has_its_own_limit_or_that_of_all_tools(
    tmp_path: Path, server: str, tool: str | None, passes: int
) -> None:
    meter = made(tmp_path).targets
    assert [meter.take("http", server, tool) is None for _ in range(9)].count(True) == passes


def test_the_door_of_groundhog_has_the_limits_of_groundhog(tmp_path: Path) -> None:
    """GRH-rate-1, GRH-rate-3, GRH-rate-5; other doors have none unless they are written."""
    meters = made(tmp_path, "")
    take = meters.callers.take
    assert [take("groundhog", "ann", None) is None for _ in range(12)].count(True) == 10
    assert sum(take("groundhog", f"u{n}", None) is None for n in range(1000)) == 990
    take = meters.targets.take
    assert [take("groundhog", "s", "one") is None for _ in range(9)].count(True) == 5
    assert all(take("http", "s", "one") is None for _ in range(99))


def test_a_table_for_a_door_replaces_what_that_door_has_by_itself(tmp_path: Path) -> None:
    meters = made(tmp_path, "[limits.doors.groundhog]\ncaller = { per_minute = 20 }\n")
    taken = [meters.callers.take("groundhog", "ann", None) for _ in range(30)]
    assert taken.count(None) == 20


def test_other_settings_go_on_with_what_was_used(tmp_path: Path) -> None:
    first = made(tmp_path, "[limits.calls]\ntool = { per_minute = 3 }\n")
    assert [first.targets.take("http", "s", "one") for _ in range(5)].count(None) == 3
    then = made(tmp_path, "[limits.calls]\ntool = { per_minute = 5 }\n", first)
    assert [then.targets.take("http", "s", "one") for _ in range(5)].count(None) == 2


def test_a_call_that_comes_again_to_run_is_counted_once(tmp_path: Path) -> None:
    meters = made(tmp_path)
    call = a_call(caller=Caller("bob"), target=Target("s", "one"), tool=a_tool("one", "s"))

    def take() -> list[bool]:
        callers = meters.callers.take(call.door, call.caller.who, None)
        return [callers is None, meters.targets.take(call.door, "s", "one") is None]

    assert take() == [True, True]
    assert take()[1] is False  # one a minute
    meters.give_back(call)
    assert take() == [True, True]


def test_a_result_may_be_as_large_as_its_tool_or_server_says(tmp_path: Path) -> None:
    text = """
        [[servers]]
        id = "one"
        command = "x"
        result_bytes = 100
        [servers.tools.read]
        result_bytes = 10
        [servers.tools."*"]
        result_bytes = 50
    """
    size = size_of(settings(tmp_path, text))
    for server, tool, limit in (("one", "read", 10), ("one", "x", 50), ("two", "x", 2**20)):
        call = a_tool_call(a_tool(tool, server))
        assert isinstance(size.outcome(call, Answer(b"x" * limit)), Answer)
        if limit < 2**20:
            assert isinstance(size.outcome(call, Answer(b"x" * (limit + 1))), Failure)
