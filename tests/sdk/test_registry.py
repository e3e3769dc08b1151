from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from gatewright.sdk import (
    REGISTRY,
    RegistrationError,
    Registry,
    TimeLimits,
    TimeoutError,
    Tool,
    ToolNotFoundError,
    get_tool_schema,
    list_registered_tools,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
}


def tool(name: str = "add", **changes: Any) -> Tool:
    given: dict[str, Any] = {"description": "Adds.", "input_schema": SCHEMA, "function": abs}
    return Tool(**{"name": name, **given, **changes})


def test_register_get_list_and_invoke_work_without_any_server() -> None:
    """GGEN-p4-7, GGEN-p4-8, CDM-api-1, CDM-api-2, CDM-pai-1"""

    def double(a: int) -> int:
        return 2 * a

    registry = Registry()
    registry.register(tool(function=double))
    registry.register(tool("other"))
    assert (
        [one.name for one in registry.list()] == ["add", "other"] == [one.name for one in registry]
    )
    assert [one["name"] for one in registry.list_registered_tools()] == ["add", "other"]
    assert registry.get_tool_schema("add") == SCHEMA
    assert registry.invoke_sync("add", {"a": 4}).value == 8
    registry.unregister("add")
    assert (len(registry), "add" in registry, "other" in registry) == (1, False, True)


def test_registering_the_same_again_changes_nothing() -> None:
    """CDM-con-5"""
    registry, changes = Registry(), []
    registry.subscribe(lambda: changes.append(1))
    first = registry.register(tool())
    assert registry.register(tool()) is first
    assert (len(registry), len(changes)) == (1, 1)


def test_another_schema_under_the_same_name_is_refused_and_the_first_stays() -> None:
    """CDM-con-6, CDM-err-7, C-44"""
    registry = Registry()
    first = registry.register(tool())
    wider = {**SCHEMA, "properties": {**SCHEMA["properties"], "b": {}}}
    with pytest.raises(RegistrationError, match="registered already with another schema"):
        registry.register(tool(input_schema=wider))
    with pytest.raises(RegistrationError, match="other security metadata"):
        registry.register(tool(destructive=True))
    assert registry.list() == [first]


def test_one_name_from_two_modules_is_a_conflict() -> None:
    """CDM-err-7: names are unique across all modules."""
    registry = Registry()
    registry.register(tool(module="a.mcp_tools"))
    with pytest.raises(RegistrationError, match=r"by a\.mcp_tools, and now by b\.mcp_tools"):
        registry.register(tool(module="b.mcp_tools"))


def test_versions_stand_beside_each_other_and_the_newest_is_meant() -> None:
    """C-44"""
    registry = Registry()
    for version in ("1.10.0", "1.9.0", "2.0.0-rc.1"):
        registry.register(tool(version=version))
    assert registry.versions("add") == ["1.9.0", "1.10.0", "2.0.0-rc.1"]
    assert registry.get("add").version == "2.0.0-rc.1"
    assert registry.get("add", "1.9.0").version == "1.9.0"
    assert [one.version for one in registry.list()] == ["2.0.0-rc.1"]
    registry.unregister("add", "2.0.0-rc.1")
    assert registry.get("add").version == "1.10.0"
    assert registry.list_registered_tools()[0]["metadata"]["version"] == "1.10.0"
    with pytest.raises(
        ToolNotFoundError, match=r"add in version 3 \(there are 1\.9\.0, 1\.10\.0\)"
    ):
        registry.get("add", "3")
    registry.unregister("add")
    with pytest.raises(ToolNotFoundError):
        registry.unregister("add")


def test_an_unknown_name_says_where_the_names_are_and_which_is_near() -> None:
    """CDM-err-2, CDM-api-2"""
    registry = Registry()
    registry.register(tool("memory_put"))
    with pytest.raises(ToolNotFoundError) as caught:
        registry.get_tool_schema("memory_putt")
    words = "no tool is called memory_putt (did you mean memory_put?). list_registered_tools() says"
    assert str(caught.value).startswith(words)
    assert caught.value.details == {"tool_name": "memory_putt", "similar": ["memory_put"]}


def test_a_name_in_the_manner_of_the_upstream_project_is_accepted() -> None:
    """C-52"""
    registry = Registry()
    kept = registry.register(tool("memory_put"))
    assert registry.get("codomyrmex.memory_put") is kept
    with pytest.raises(ToolNotFoundError):
        registry.get("elsewhere.memory_put")


def test_a_held_lock_ends_in_an_error_and_reading_goes_on() -> None:
    """GGEN-to-4"""
    registry = Registry(limits=TimeLimits(lock_s=0.05))
    registry.register(tool())
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with registry._changing():
            held.set()
            leave.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(60)
    try:
        with pytest.raises(TimeoutError, match=r"busy with another change for 0.05 s") as caught:
            registry.register(tool("other"))
        assert caught.value.details == {"timeout_ms": 50}
        assert registry.get("add").name == "add"
        assert len(registry.list()) == 1
    finally:
        leave.set()
        holder.join(60)


def test_changes_are_told_to_whoever_listens() -> None:
    """CDM-mod-11: what makes a server send notifications/tools/list_changed."""
    registry, changes = Registry(), []
    end = registry.subscribe(lambda: changes.append(len(registry)))
    registry.register(tool())
    registry.unregister("add")
    end()
    registry.register(tool())
    assert changes == [1, 0]


def test_who_listens_twice_and_ends_one_of_them_twice_is_told_once() -> None:
    registry, changes = Registry(), []

    def listen() -> None:
        changes.append(len(registry))

    end = registry.subscribe(listen)
    registry.subscribe(listen)
    end()
    end()
    registry.register(tool())
    assert changes == [1]


def test_arguments_can_be_judged_without_running_the_tool() -> None:
    registry = Registry()
    registry.register(tool(function=lambda a: pytest.fail("it ran")))
    asyncio.run(registry.validate("add", {"a": 1}))
    with pytest.raises(Exception, match="required property"):
        asyncio.run(registry.validate("add", {}))


def test_a_validator_has_one_name_and_can_be_called() -> None:
    """GGEN-p4-3"""
    registry = Registry()
    registry.add_validator("v", lambda arguments: None)
    with pytest.raises(RegistrationError, match="there is a validator 'v' already"):
        registry.add_validator("v", lambda arguments: None)
    with pytest.raises(RegistrationError, match="cannot be called"):
        registry.add_validator("w", "no function")  # type: ignore[arg-type]


def test_threads_can_register_at_the_same_time() -> None:
    registry = Registry(limits=TimeLimits(lock_s=60))

    def register(start: int) -> None:
        for index in range(start, start + 50):
            registry.register(tool(f"t{index}"))

    threads = [threading.Thread(target=register, args=(one * 25,)) for one in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert len(registry) == 225


def test_the_functions_of_the_contract_read_the_registry_of_the_process() -> None:
    """CDM-api-1, CDM-api-2"""
    kept = REGISTRY.register(tool("tests_sdk_only_here"))
    try:
        assert kept.entry() in list_registered_tools()
        assert get_tool_schema("tests_sdk_only_here") == SCHEMA
    finally:
        REGISTRY.unregister("tests_sdk_only_here")


def test_an_unknown_name_is_told_in_part_and_compared_with_a_thousand() -> None:
    registry = Registry()
    registry.register(tool("search_files"))
    with pytest.raises(ToolNotFoundError) as raised:
        registry.get("x" * 1_000_000)
    assert len(str(raised.value)) + len(str(raised.value.details)) < 1000
    with pytest.raises(ToolNotFoundError, match="did you mean search_files"):
        registry.get("serach_files")
