"""The client under test: the gateway's own upstream side, led through one scenario of the suite.

The suite starts this program with the URL of its server as last argument and says in the environment
which scenario it is. Nothing of the protocol is done here: servers, links, the handshake, the
catalogue and the authorizer are those of the gateway. Here are only the two people at its ends: the
host that calls tools and answers questions, and the user who agrees to a login.

The exit status is 0 when every call was answered; some scenarios want to see that one is not.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from gatewright.call import (
    ANONYMOUS,
    Answer,
    Back,
    Call,
    CannotAsk,
    Client,
    Event,
    Kind,
    Outcome,
    Question,
)
from gatewright.mcp.wire.versions import LATEST_LEGACY
from gatewright.oauth.client import Identity
from gatewright.servers.authorize import Browser, OAuth
from gatewright.servers.dispatch import Dispatch
from gatewright.servers.login_store import Logins
from gatewright.servers.spec import Auth, ServerSpec
from gatewright.servers.supervisor import Supervisor

__all__ = ["BACK", "ECHO", "METADATA_URL", "SECONDS", "Host", "agree", "filled", "main", "plan"]

SERVER = "suite"
ECHO = "json_schema_echo"
SECONDS = 100.0
BACK = "http://localhost:8425/callback"
METADATA_URL = "https://conformance-test.local/client-metadata.json"
HOST = Client(LATEST_LEGACY, {"elicitation": {"form": {}}}, {"name": "conformance", "version": "1"})

Calls = list[tuple[str, dict[str, Any]]]

_CALLS: Mapping[str, Calls] = {
    "tools_call": [("add_numbers", {"a": 2, "b": 3})],
    "elicitation-sep1034-client-defaults": [("test_client_elicitation_defaults", {})],
    "sse-retry": [("test_reconnection", {})],
    "http-standard-headers": [("test_headers", {})],
    "http-invalid-tool-headers": [("valid_tool", {"region": "eu", "input": "x"})],
    "sep-2322-client-request-state": [
        ("test_mrtr_echo_state", {}),
        ("test_mrtr_no_state", {}),
        ("test_mrtr_unrelated", {}),
        ("test_mrtr_no_result_type", {}),
    ],
}
_NUMBERS = itertools.count(1)


def plan(scenario: str, context: Mapping[str, Any]) -> Calls:
    """The tools to call, with their arguments."""
    asked = context.get("toolCalls")
    if isinstance(asked, list):
        return [(one["name"], one.get("arguments") or {}) for one in asked]
    if scenario.startswith("auth/"):
        return [("test-tool", {})]
    return _CALLS.get(scenario, [])


def filled(schema: Any) -> dict[str, Any]:
    """A form with every default in place, and the least there is where a required field has none."""
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    required = schema.get("required", []) if isinstance(schema, dict) else []
    least = {"boolean": True, "integer": 1, "number": 1, "array": []}
    return {
        name: one["default"] if "default" in one else least.get(one.get("type"), "text")
        for name, one in properties.items()
        if "default" in one or name in required
    }


class Host:
    """The caller's side of a call: agrees to every form as it is filled in beforehand."""

    def emit(self, event: Event) -> None:
        """Nobody looks at progress here."""

    async def ask(self, question: Question) -> dict[str, Any]:
        """Accept a form; nothing else can be asked."""
        if question.method != "elicitation/create":
            raise CannotAsk(f"this host does not answer {question.method}")
        return {
            "action": "accept",
            "content": filled((question.params or {}).get("requestedSchema")),
        }


async def agree(url: str) -> str:
    """The user: opens the URL, agrees, and does not go where that leads."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, allow_redirects=False) as answer,
    ):
        return answer.headers["Location"]


def _call(kind: Kind, method: str, params: dict[str, Any], **more: Any) -> Call:
    number = next(_NUMBERS)
    return Call(
        id=f"call-{number}",
        door="conformance",
        kind=kind,
        method=method,
        name=str(params.get("name", params.get("uri", ""))),
        params=params,
        caller=ANONYMOUS,
        client=HOST,
        trace_id=f"trace-{number}",
        session="conformance",
        **more,
    )


def _echoes(supervisor: Supervisor) -> Calls:
    """The schemas of the other tools, for a tool that compares what is left of them."""
    items = supervisor.catalogue.view("").items("tools/list")
    tools = [item.tool for item in items if item.tool is not None]
    return [(ECHO, {"schema": one.schema}) for one in tools if one.target.name != ECHO]


async def _tools(supervisor: Supervisor, calls: Calls, back: Back) -> list[Outcome]:
    found: list[Outcome] = []
    for name, arguments in calls:
        tool = supervisor.catalogue.tool("", f"{SERVER}/{name}")
        if tool is None:
            print(f"{name}: not offered", file=sys.stderr)
            continue
        params = {"name": name, "arguments": arguments}
        call = _call("tool", "tools/call", params, target=tool.target, tool=tool)
        found.append(await Dispatch(supervisor.fleet, supervisor.tasks)(call, back))
    return found


async def _rest(supervisor: Supervisor, back: Back) -> list[Outcome]:
    """Each prompt and each resource once."""
    view = supervisor.catalogue.view("")
    found: list[Outcome] = []
    for item in view.items("prompts/list"):
        name = json.loads(item.text(mgp=False))["name"]
        call = _call("prompt", "prompts/get", {"name": name}, target=view.prompt(name))
        found.append(await Dispatch(supervisor.fleet, supervisor.tasks)(call, back))
    for item in view.items("resources/list"):
        uri = json.loads(item.text(mgp=False))["uri"]
        call = _call("resource", "resources/read", {"uri": uri}, target=view.owners(uri)[0])
        found.append(await Dispatch(supervisor.fleet, supervisor.tasks)(call, back))
    return found


async def _run(url: str, scenario: str, context: Mapping[str, Any], folder: Path) -> bool:
    ours = Identity(
        client_id=context.get("client_id", ""),
        client_secret=context.get("client_secret", ""),
        issuer=context.get("issuer", ""),
        metadata_url=METADATA_URL,
    )
    spec = ServerSpec(id=SERVER, transport="http", url=url, auth=Auth(identity=ours))
    authorizer = OAuth(spec.id, url, ours, Logins(folder), browser=Browser(agree, BACK))
    supervisor = Supervisor(
        [spec],
        info={"name": "gatewright", "version": "0"},
        authorizers={spec.id: authorizer},
        startup_wait_s=SECONDS,
    )
    supervisor.start()
    try:
        await supervisor.settled()
        schemas = scenario == "json-schema-2020-12-preservation"
        calls = _echoes(supervisor) if schemas else plan(scenario, context)
        outcomes = await _tools(supervisor, calls, Host())
        if scenario == "http-standard-headers":
            outcomes += await _rest(supervisor, Host())
        for one in outcomes:
            print(one)
        for status in supervisor.status():
            print(status)
        answered = [one for one in outcomes if isinstance(one, Answer)]
        return supervisor.states[spec.id] == "connected" and len(answered) >= len(calls)
    finally:
        await supervisor.close(1.0)


def main() -> int:
    """Run the scenario that the environment names; 0 when every call was answered."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with TemporaryDirectory() as folder:
        good = asyncio.run(
            asyncio.wait_for(_run(sys.argv[-1], scenario, context, Path(folder)), SECONDS)
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
