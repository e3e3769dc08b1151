"""What stands in the place of a feature: each refuses what needs it, by name, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Call, Refusal, Tool
from gatewright.config import SettingsError
from gatewright.in_force import InForce
from gatewright.missing import WITHOUT, Missing, absent, check_asked, closed
from gatewright.servers.supervisor_dependencies import NOTHING
from tests.feature_parts import settings
from tests.gate_parts import Mute, a_call, a_tool, a_tool_call

SERVER = '[[servers]]\nid = "srv"\ncommand = "true"\n'
PLAIN = a_tool()
SHAPED = a_tool(schema={"type": "object"})


def refused(name: str, call: Call, folder: Path, text: str = SERVER) -> bool:
    gate = Missing("here", WITHOUT[name], settings(folder, text))
    found = gate(call, Mute())
    since = gate.since(call)
    assert (since is None) == isinstance(found, Call)
    if isinstance(found, Refusal):
        assert (found.gate, found.details["feature"]) == ("here", name)
        assert f"the feature {name} is not part of this gateway" in found.message
    return isinstance(found, Refusal)


@pytest.mark.parametrize(
    ("name", "tool", "needs"),
    [
        ("approvals", PLAIN, False),
        ("approvals", a_tool(risk_level="dangerous"), True),
        ("approvals", a_tool(confirmation_required=True), True),
        ("approvals", a_tool(hints=("open_world",)), True),
        ("access", PLAIN, True),
        ("pins", PLAIN, True),
        ("pins", a_tool(server="mgp"), False),
        ("schemas", PLAIN, False),
        ("schemas", SHAPED, True),
        ("validators", PLAIN, False),
        ("validators", a_tool(validator="sandbox"), True),
        ("flow", PLAIN, False),
        ("flow", a_tool(flow=("outbound",)), True),
        ("limits", PLAIN, False),
        ("tasks", PLAIN, False),
        ("telemetry", PLAIN, False),
    ],
)
def test_a_tool_that_needs_a_feature_is_refused_and_hidden_without_it(
    name: str, tool: Tool, needs: bool, tmp_path: Path
) -> None:
    assert refused(name, a_tool_call(tool), tmp_path) == needs
    held = WITHOUT[name].held(settings(tmp_path, SERVER), tool)
    assert bool(held) == (needs and name != "access")  # whose sight nobody has


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pins", SERVER + 'pin = "off"\n'),
        ("schemas", SERVER + 'schema = "off"\n'),
        ("flow", SERVER + '[flow]\nthen = "off"\n'),
        ("redaction", SERVER + '[redaction]\nlevel = "off"\n'),
    ],
)
def test_what_is_switched_off_is_not_missed(name: str, text: str, tmp_path: Path) -> None:
    call = a_tool_call(replace(SHAPED, security=replace(SHAPED.security, flow=("outbound",))))
    assert refused(name, call, tmp_path)
    assert not refused(name, call, tmp_path, text)
    check_asked(settings(tmp_path, text), [WITHOUT[name]])


@pytest.mark.parametrize("more", ['redaction = "secrets"\n', 'hidden = "remove"\n'])
def test_one_server_is_enough_to_need_redaction(more: str, tmp_path: Path) -> None:
    text = f'[redaction]\nlevel = "off"\n{SERVER}{more}'
    assert refused("redaction", a_call(), tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "[limits]\ncalls_per_minute = 5\n",
        "[limits.calls.caller]\nper_hour = 5\n",
        f"{SERVER}result_bytes = 1000\n",
        f"{SERVER}[servers.tools.echo]\ncalls = {{ per_minute = 5 }}\n",
    ],
)
def test_no_call_passes_uncounted_where_a_limit_is_written(text: str, tmp_path: Path) -> None:
    """Not even where nobody knows in which line: the gateway has not started then."""
    assert refused("limits", a_call(), tmp_path, text)
    with pytest.raises(SettingsError):
        check_asked(settings(tmp_path, text), [WITHOUT["limits"]])


def test_a_call_that_would_send_out_what_was_read_needs_a_person(tmp_path: Path) -> None:
    call = a_tool_call(PLAIN, facts={"flow": {}})
    assert refused("approvals", call, tmp_path)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("limits", a_call(door="groundhog")),
        ("discovery", replace(a_call("list", ""), method="tools/list", params={"query": "x"})),
        ("mgp", a_call("method", "", method="tools/validate")),
        ("groundhog", a_call("method", "", method="tools/register")),
    ],
)
def test_what_only_a_feature_answers_is_refused_by_its_name(
    name: str, call: Call, tmp_path: Path
) -> None:
    assert refused(name, call, tmp_path)
    assert not refused(name, a_call("list", "", method="prompts/list"), tmp_path)


def test_the_absent_are_those_that_are_not_there() -> None:
    assert [one.name for one in absent(set(WITHOUT) - {"flow"})] == ["flow"]


def test_an_error_names_the_key_its_place_and_the_feature(tmp_path: Path) -> None:
    said = settings(tmp_path, SERVER + 'pin = "approve"\n')
    with pytest.raises(SettingsError) as caught:
        check_asked(said, list(WITHOUT.values()))
    (problem,) = caught.value.problems
    assert (problem.key, problem.origin.line) == ("servers.srv.pin", 4)
    assert "the feature pins" in problem.what


async def test_servers_get_nothing_in_the_place_of_what_is_missing(tmp_path: Path) -> None:
    missing = [WITHOUT["access"], WITHOUT["redaction"]]
    side = closed(NOTHING, missing, InForce(settings(tmp_path)))
    said = "srv", "notifications/message", {"data": "x"}
    assert side.clean(*said) is None
    plain = InForce(settings(tmp_path, '[redaction]\nlevel = "off"\n'))
    assert closed(NOTHING, missing, plain).clean(*said) == {"data": "x"}
    permits: Any = side.permits
    assert {one.value for one in permits.declared("srv", ["camera"]).values()} == {"denied"}
    assert {one.value for one in permits.asked("srv", ["camera"]).values()} == {"denied"}
    assert (permits.of("srv"), permits.named("srv", "1")) == ({}, None)
    assert not permits.turn().done()
