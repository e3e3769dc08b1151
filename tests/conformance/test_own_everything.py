"""The fixtures on the project's own SDK: that all of them are there. What they do the suites judge."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.own_everything import build
from gatewright.sdk.client import Client
from tests.sdk.client.scripted import within

FIXTURES = Path(__file__).resolve().parents[2] / "conformance"


async def test_every_fixture_of_the_other_server_is_here_as_well() -> None:
    texts = [(FIXTURES / f"everything_{name}.py").read_text() for name in ("server", "asking")]
    wanted = set(re.findall(r'^    "(test_\w+|json_schema\w+)": ', "".join(texts), re.MULTILINE))
    async with Client(build()) as client:
        tools = {one.name for one in await within(client.list_tools())}
        prompts = {one.name for one in await within(client.list_prompts())}
        resources = {one.uri for one in await within(client.list_resources())}
    assert len(wanted) > 15
    assert wanted <= tools
    assert "test_input_required_result_multi_round" in tools
    assert "test_input_required_result_prompt" in prompts
    assert "test://watched-resource" in resources
