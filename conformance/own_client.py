"""The client under test: that of the SDK, led through one scenario of the suite (`conformance/run.py --sdk --client`).

What is to be called, and what the user fills in, is the same as for the gateway's own way upstream (`client.py`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.client import BACK, ECHO, METADATA_URL, SECONDS, agree, filled, plan
from gatewright.oauth.client import Identity
from gatewright.sdk.client import Client, Options
from gatewright.sdk.errors import SdkError
from gatewright.servers.authorize import Browser, OAuth
from gatewright.servers.login_store import Logins

__all__ = ["main"]


def _user(question: dict[str, Any]) -> dict[str, Any]:
    """Accept a form as it is filled in beforehand."""
    return {"action": "accept", "content": filled(question.get("requestedSchema"))}


async def _rest(client: Client) -> None:
    """Each prompt and each resource once."""
    for prompt in await client.list_prompts():
        await client.get_prompt(prompt.name)
    for resource in await client.list_resources():
        await client.read_resource(resource.uri)


async def _run(url: str, scenario: str, context: Mapping[str, Any], folder: Path) -> bool:
    ours = Identity(
        client_id=context.get("client_id", ""),
        client_secret=context.get("client_secret", ""),
        issuer=context.get("issuer", ""),
        metadata_url=METADATA_URL,
    )
    login = OAuth("suite", url, ours, Logins(folder), browser=Browser(agree, BACK))
    options = Options(elicit=_user, authorizer=login, mgp=None, connect_s=SECONDS)
    good = True
    async with Client(url, options) as client:
        offered = await client.list_tools()
        calls = plan(scenario, context)
        if scenario == "json-schema-2020-12-preservation":
            calls = [(ECHO, {"schema": one.input_schema}) for one in offered if one.name != ECHO]
        for name, arguments in calls:
            if name not in [one.name for one in offered]:
                print(f"{name}: not offered", file=sys.stderr)
                good = False
                continue
            try:
                print(await client.call_tool(name, arguments))
            except SdkError as problem:
                print(repr(problem))
                good = False
        if scenario == "http-standard-headers":
            await _rest(client)
    return good


def main() -> int:
    """Run the scenario that the environment names; 0 when every call was answered."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with TemporaryDirectory() as folder:
        work = _run(sys.argv[-1], scenario, context, Path(folder))
        return 0 if asyncio.run(asyncio.wait_for(work, SECONDS)) else 1


if __name__ == "__main__":
    sys.exit(main())
