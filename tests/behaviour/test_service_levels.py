"""The service levels of `model_context_protocol` in one process, as ratios and as what is counted; never as time.

How many milliseconds a machine takes is measured by `benchmarks/slo.py`. Here a product that does too much work fails on every machine:
copies, bytes and calls of functions are counted, and costs are held against those of the least that does the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gatewright.sdk import MCPToolCall, Registry, mcp_tool
from tests.costs import grows, least

REGISTERING, VALIDATING = 2_600, 30
"""Calls of functions for one tool, and for one message: three times as many as there are."""
VALIDATED, SCANNED = 10.0, 3.0
"""How many times what JSON takes to read the message, and what Python takes to import the modules."""


# -- in one process: registration, list, schema, validation


def _declared(registry: Registry, number: int) -> None:
    def look(query: str, limit: int = 5) -> dict[str, object]:
        """Look something up.

        Args:
            query: What to look for.
            limit: How many at most.
        """
        return {"query": query, "limit": limit}

    mcp_tool(registry=registry, name=f"tool_{number}")(look)


def _with(count: int) -> Registry:
    registry = Registry("levels")
    for number in range(count):
        _declared(registry, number)
    return registry


def _calls(work: Callable[[], object]) -> int:
    """How many functions are entered, those of the interpreter included."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def _allocated(work: Callable[[], object]) -> int:
    """The bytes that work has taken at most."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_a_tool_is_registered_by_so_much_work_however_many_there_are() -> None:
    """CDM-slo-1."""
    few, many = _with(10), _with(2_000)
    of_few, of_many = (_calls(lambda one=one: _declared(one, 9_999)) for one in (few, many))  # type: ignore[misc]
    assert of_many <= of_few * 1.1
    assert of_few < REGISTERING
    number = iter(range(10_000, 1_000_000))
    assert grows(lambda: _declared(few, next(number)), lambda: _declared(many, next(number)), 2) < 2


def test_a_list_of_a_thousand_tools_copies_none_of_them() -> None:
    """CDM-slo-2: one list of references, of a thousand tools as of ten; the entries are those that are kept."""
    few, many = _with(10), _with(1_000)
    few.list_registered_tools()
    assert _calls(many.list_registered_tools) == _calls(few.list_registered_tools) <= 10
    one, other = many.list_registered_tools(), many.list_registered_tools()
    assert len(one) == 1_000
    assert all(a is b for a, b in zip(one, other, strict=True))
    assert _allocated(many.list_registered_tools) < 1_000 * 8 + 1_000


def test_a_schema_is_found_and_not_made_however_many_tools_there_are() -> None:
    """CDM-slo-3."""
    few, many = _with(10), _with(1_000)
    found = many.get_tool_schema("tool_500")
    assert found is many.get_tool_schema("tool_500")
    assert found["required"] == ["query"]
    assert (
        _calls(lambda: many.get_tool_schema("tool_500"))
        == _calls(lambda: few.get_tool_schema("tool_5"))
        <= 10
    )
    assert _allocated(lambda: many.get_tool_schema("tool_999")) < 1_000


def _message(size: int) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "method": "tools/call",
        "id": 1,
        "params": {"name": "memory_put", "arguments": {"key": "a", "value": "b" * size}},
    }


def test_a_message_is_validated_by_few_calls_whatever_it_carries() -> None:
    """CDM-slo-7: what it carries is kept, and neither copied nor gone through; the whole costs so many times what JSON takes to be read."""
    small, large = _message(100), _message(1_000_000)
    MCPToolCall.model_validate(small)
    few = _calls(lambda: MCPToolCall.model_validate(small))
    assert _calls(lambda: MCPToolCall.model_validate(large)) == few < VALIDATING
    assert _allocated(lambda: MCPToolCall.model_validate(large)) < 20_000
    text = json.dumps(small)
    ours = grows(lambda: json.loads(text), lambda: MCPToolCall.model_validate(small), VALIDATED)
    assert ours <= VALIDATED


# -- a tree of modules

_MODULE = """
from pathlib import Path
from gatewright.sdk import mcp_tool

with open({log!r}, "a") as log:
    log.write(__name__ + "\\n")

@mcp_tool
def look(query: str, limit: int = 5) -> dict[str, object]:
    \"\"\"Look something up.\"\"\"
    return {{"query": query, "limit": limit}}
"""
_SCAN = """
import sys, time
from gatewright.sdk import Discovery
begun = time.process_time()
found = Discovery(sys.argv[1]).scan()
print(time.process_time() - begun, len(found.tools), len(found.problems))
"""
_IMPORT = """
import importlib.util, sys, time
from pathlib import Path
from gatewright.sdk import Registry, mcp_tool
from gatewright.sdk.decorator import collecting
begun, registry = time.process_time(), Registry()
with collecting(registry):
    for number, path in enumerate(sorted(Path(sys.argv[1]).rglob("mcp_tools.py"))):
        spec = importlib.util.spec_from_file_location(f"plain_{number}.mcp_tools", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
print(time.process_time() - begun, len(registry), 0)
"""
MODULES = 200


def test_a_cold_scan_imports_each_module_once_and_costs_little_more_than_that(
    tmp_path: Path,
) -> None:
    """CDM-slo-6: two hundred modules, in a process that has seen none of them; against plainly importing them in another."""
    tree, log = tmp_path / "tree", tmp_path / "log"
    for number in range(MODULES):
        package = tree / f"area_{number // 50}" / f"part_{number}"
        package.mkdir(parents=True)
        (package / "mcp_tools.py").write_text(_MODULE.format(log=str(log)), encoding="utf-8")

    def spent(program: str) -> float:
        log.write_text("")
        command = [sys.executable, "-B", "-c", program, str(tree)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        seconds, tools, problems = done.stdout.split()
        assert (int(tools), int(problems)) == (MODULES, 0)
        names = log.read_text().splitlines()
        assert len(names) == len(set(names)) == MODULES
        return float(seconds)

    assert least(lambda: spent(_SCAN) / spent(_IMPORT), SCANNED) <= SCANNED
