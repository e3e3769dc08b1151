from __future__ import annotations

import json
import subprocess
import sys

import pytest

import gatewright.sdk

# What a tool author may not be made to load: the web stack, the parsers, models that nobody used.
HEAVY = [
    "aiohttp",
    "asyncio",
    "jsonschema_rs",
    "msgspec",
    "pydantic",
    "sqlglot",
    "tree_sitter",
    "uvicorn",
]
GATEWAY = [
    "access",
    "app",
    "approvals",
    "audit",
    "call",
    "cli",
    "config",
    "dialects",
    "identity",
    "kernel",
    "limits",
    "pipeline",
    "servers",
    "storage",
]
PROVIDERS = ["anthropic", "openai", "google.genai", "cohere", "mistralai"]

PROGRAM = """
import json, sys
from gatewright.sdk import mcp_tool, Registry, Signature, InputField

@mcp_tool(name="add")
def add(a: int, b: int = 2) -> int:
    return a + b

print(json.dumps(sorted(sys.modules)))
"""


def loaded() -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120
    )
    found: list[str] = json.loads(run.stdout)
    return found


def test_declaring_a_tool_loads_nothing_heavy_and_nothing_of_the_gateway() -> None:
    """CDM-fr-3: no provider of language models either."""
    found = loaded()
    assert "gatewright.sdk.registry" in found
    unwanted = [*HEAVY, *PROVIDERS, *(f"gatewright.{one}" for one in GATEWAY)]
    assert [one for one in unwanted if one in found] == []


@pytest.mark.parametrize("name", gatewright.sdk.__all__)
def test_every_public_name_loads_and_is_documented(name: str) -> None:
    found = getattr(gatewright.sdk, name)
    assert getattr(found, "__doc__", None), name


def test_the_list_of_names_is_complete_and_others_are_refused() -> None:
    assert dir(gatewright.sdk) == sorted(gatewright.sdk.__all__)
    with pytest.raises(AttributeError, match="has no 'nothing'"):
        _ = gatewright.sdk.nothing
