"""A gateway that is made without one of its features: it starts, serves, says what is missing, and lets nothing pass for that."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from gatewright.app.features import FEATURES
from gatewright.app.gateway import Gateway
from gatewright.call import Answer, Call, Caller, Client, Outcome, Refusal
from gatewright.config import Settings, SettingsError, load
from gatewright.missing import WITHOUT, Without
from gatewright.transport.http_server import serve
from tests.gate_parts import Mute

SCRIPT = Path(__file__).parents[1] / "tool_servers" / "mgp_server.py"
NAMES = [one.name for one in FEATURES]


class Case(NamedTuple):
    """What must not pass without a feature: a call, where the configuration says `refused` of the server; and what `passes`."""

    refused: str = ""
    call: tuple[str, str, dict[str, Any]] = ("tool", "s__hello", {})
    door: str = "http"
    passes: str | None = ""
    arguments: tuple[str, ...] = ()


RULE = "[servers.tools.hello]\n"
CASES = {
    "limits": Case(door="groundhog"),
    "approvals": Case(refused=f'{RULE}risk_level = "dangerous"\n'),
    "access": Case(passes=None),
    "pins": Case(passes='pin = "off"\n'),
    "redaction": Case(passes='[redaction]\nlevel = "off"\n'),
    "schemas": Case(passes='schema = "off"\n'),
    "validators": Case(arguments=("--validator", "sandbox")),
    "flow": Case(refused=f'{RULE}flow = ["outbound"]\n'),
    "discovery": Case(call=("list", "tools/list", {"query": "hello"})),
    "registration": Case(call=("method", "mgp/discovery/register", {"id": "x"})),
    "streaming": Case(call=("method", "mgp/stream/cancel", {"request_id": 1})),
    "lifecycle": Case(call=("method", "mgp/health/ping", {})),
    "mgp": Case(call=("method", "gatewright/policy/explain", {"agent": "a", "tool": "t"})),
    "events": Case(call=("method", "mgp/events/subscribe", {"channels": ["tool.*"]})),
    "groundhog": Case(call=("method", "tools/register", {"name": "x"})),
}
"""The others let nothing pass by themselves: without them something is not served."""

ASKED = {
    "limits": "[limits]\ncalls_per_minute = 5\n",
    "approvals": '[approvals]\napprover = "operator"\n',
    "access": '[[grants]]\nagent = "ann"\nserver = "s"\n[[servers]]\nid = "s"\ncommand = "true"\n',
    "pins": '[[servers]]\nid = "s"\ncommand = "true"\npin = "approve"\n',
    "redaction": '[redaction]\nlevel = "personal"\n',
    "schemas": '[[servers]]\nid = "s"\ncommand = "true"\nschema = "enforce"\n',
    "validators": f'[[servers]]\nid = "s"\ncommand = "true"\n{RULE}validator = "sandbox"\n',
    "flow": '[flow]\nthen = "refuse"\n',
    "discovery": '[discovery]\nexpose = "discover"\n',
    "registration": '[registration]\ncommands = ["node"]\n',
    "telemetry": '[telemetry]\nendpoint = "http://127.0.0.1:4318"\n',
    "console": "[console]\nport = 0\n",
    "sinks": '[[audit.sinks]]\nname = "f"\ntype = "file"\npath = "x.jsonl"\n',
    "rooms": "[rooms]\n",
    "groundhog": '[mcp.protocol]\nversion = "1.0"\n',
}


def settings(folder: Path, text: str) -> Settings:
    (folder / "mgp.toml").write_text(f'[storage]\npath = "{folder}/state"\n{text}')
    return load(folder / "mgp.toml", environ={"HOME": str(folder)})


def with_server(case: Case, more: str) -> str:
    """A configuration with one server."""
    args = ", ".join(f'"{one}"' for one in (SCRIPT, *case.arguments))
    table = f'[[servers]]\nid = "s"\ncommand = "{sys.executable}"\nargs = [{args}]\n'
    mgp = '[servers.mgp]\nextensions = ["security"]\n'
    return f"{more}{table}{mgp}" if more.startswith("[redaction]") else f"{table}{more}{mgp}"


@asynccontextmanager
async def gateway(without: str, said: Settings) -> AsyncIterator[Gateway]:
    async with Gateway(said, features=[one for one in FEATURES if one.name != without]) as found:
        await found.supervisor.settled()
        yield found


async def asked(found: Gateway, case: Case) -> Outcome:
    """What comes of the call, of an operator."""
    kind, name, params = case.call
    tool = kind == "tool"
    made = Call(
        id="c",
        door=case.door,
        kind=kind,  # type: ignore[arg-type]
        method="tools/call" if tool else name,
        name=name if tool else "",
        params={"name": name, "arguments": {}} if tool else params,
        caller=Caller("local", "operator"),
        client=Client("2025-11-25"),
        trace_id="0" * 32,
        facts={},
        credential=found._tokens["operator"],
    )
    return await found.kernel.handle(made, Mute())


def test_every_feature_of_the_list_has_a_word_for_its_absence() -> None:
    assert sorted(WITHOUT) == sorted(NAMES)


async def test_every_feature_that_can_refuse_or_be_configured_is_tried_without(
    tmp_path: Path,
) -> None:
    """A case shows that what its gates refuse is refused without it; a configuration that asks for it is an error of that key. Gates
    that are idle until a key asks for them need no case: that error stands before the first call."""
    async with gateway("", settings(tmp_path, "")) as found:
        idle = {name for name, one in found.now.gates.items() if getattr(one, "idle", False)}
    nothing = Without(name="", does="")
    asleep = {
        name
        for name, one in WITHOUT.items()
        if one.keys
        and idle.issuperset(one.gates)
        and (one.tools, one.calls) == (nothing.tools, nothing.calls)
    }
    assert {name for name, one in WITHOUT.items() if one.gates} - asleep <= set(CASES)
    assert {name for name, one in WITHOUT.items() if one.keys} <= set(ASKED)


@pytest.mark.parametrize("name", NAMES)
async def test_without_it_the_gateway_starts_and_serves_and_says_what_is_missing(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    case = CASES.get(name, Case())
    said = settings(tmp_path, with_server(case, case.refused))
    with caplog.at_level(logging.WARNING):
        async with gateway(name, said) as found:
            outcome = await asked(found, case)
            missing = [one.name for one in found.missing]
    assert f"the feature {name} is not part of this gateway" in caplog.text
    assert missing == [name]
    if name not in CASES:
        assert isinstance(outcome, Answer)
        return
    assert isinstance(outcome, Refusal)
    assert f"the feature {name} is not part of this gateway" in outcome.message
    assert outcome.details["feature"] == name


@pytest.mark.parametrize("name", [one for one, case in CASES.items() if case.passes is not None])
async def test_what_needs_nothing_of_it_passes(name: str, tmp_path: Path) -> None:
    case = Case()
    said = settings(tmp_path, with_server(case, CASES[name].passes or ""))
    async with gateway(name, said) as found:
        assert isinstance(await asked(found, case), Answer)


@pytest.mark.parametrize("name", ["pins", "schemas", "access"])
async def test_no_list_shows_a_tool_that_may_not_be_called_for_it(
    name: str, tmp_path: Path
) -> None:
    said = settings(tmp_path, with_server(Case(), ""))
    async with gateway(name, said) as found:
        tool = found.supervisor.catalogue.tool("", "s__hello")
        assert tool is not None
        assert not found.supervisor.catalogue.sight.tool(Caller("local", "operator"), tool)


@pytest.mark.parametrize("name", sorted(ASKED))
async def test_what_the_configuration_asks_of_it_is_an_error_of_that_key(
    name: str, tmp_path: Path
) -> None:
    said = settings(tmp_path, ASKED[name])
    with pytest.raises(SettingsError, match=f"the feature {name} is not part of this gateway"):
        async with gateway(name, said):
            raise AssertionError("it started")


@pytest.mark.parametrize("name", NAMES)
async def test_health_names_what_is_missing_to_known_callers(name: str, tmp_path: Path) -> None:
    async with gateway(name, settings(tmp_path, "")) as found:
        server = await serve(found.app, host="127.0.0.1", port=0)
        headers = {"authorization": f"Bearer {found._tokens['operator']}"}
        async with aiohttp.ClientSession(headers=headers) as http:
            async with http.get(f"{server.url}/readyz") as answer:
                assert answer.status == (404 if name == "telemetry" else 200)
                if name != "telemetry":
                    assert (await answer.json())["missing"] == [name]
            async with http.get(f"{server.url}/docs") as answer:
                assert (answer.status == 404) == (name == "rest")
        found.app.farewell()
        await server.stop(1.0)


async def test_a_configuration_that_asks_for_it_is_not_taken_over(tmp_path: Path) -> None:
    async with gateway("flow", settings(tmp_path, "")) as found:
        with pytest.raises(SettingsError, match=r"flow\.then"):
            await found.adopt(settings(tmp_path, ASKED["flow"]))
        assert found.settings.flow.then == "ask"


async def test_without_any_feature_nothing_passes(tmp_path: Path) -> None:
    said = settings(tmp_path, with_server(Case(), ""))
    async with Gateway(said, features=[]) as found:
        await found.supervisor.settled()
        outcome = await asked(found, Case())
    assert isinstance(outcome, Refusal)
