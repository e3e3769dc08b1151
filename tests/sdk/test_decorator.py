from __future__ import annotations

import types
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from gatewright.sdk import REGISTRY, InputField, RegistrationError, Registry, Signature, mcp_tool
from gatewright.sdk.decorator import MARK, collecting, tool_from_function, tool_name


def put(key: str, value: str) -> str:
    """Keep a value."""
    return f"{key}={value}"


def function_of(module: str, name: str) -> Any:
    code = compile(f"def {name}() -> None: ...", "<made>", "exec")
    made = types.ModuleType(module)
    exec(code, vars(made))  # noqa: S102 - the module prefix comes from where a function was made
    return vars(made)[name]


@pytest.mark.parametrize(
    ("module", "name", "wanted"),
    [
        ("memory", "put", "memory_put"),
        ("memory", "memory_put", "memory_put"),
        ("codomyrmex.cerebrum.mcp_tools", "query_knowledge_base", "cerebrum_query_knowledge_base"),
        ("app.memory", "put", "memory_put"),
        ("__main__", "put", "put"),
        ("mcp_tools", "put", "put"),
        ("memory", "memory", "memory"),
    ],
)
def test_a_name_is_the_modules_prefix_and_the_functions_name(
    module: str, name: str, wanted: str
) -> None:
    """CDM-mod-8, C-52"""
    function = function_of(module, name)
    assert tool_name(function, module) == wanted
    assert tool_from_function(function).name == wanted
    assert tool_from_function(function).module == module


def test_prefix_and_name_can_be_said() -> None:
    assert tool_from_function(put, prefix="memory").name == "memory_put"
    assert tool_from_function(put, prefix="").name == "put"
    assert tool_from_function(put, name="store.put").name == "store.put"


def test_a_decorated_function_stays_a_function_and_is_registered() -> None:
    """CDM-con-2, CDM-mod-6"""
    registry = Registry()
    kept = mcp_tool(registry=registry, name="put", tags=["a"], category="memory", author="me")(put)
    assert kept is put
    assert put("a", "b") == "a=b"
    tool = registry.get("put")
    assert getattr(put, MARK) is tool
    assert (tool.tags, tool.category, tool.author) == (("a",), "memory", "me")
    assert tool.description == "Keep a value."
    assert registry.invoke_sync("put", {"key": "a", "value": "b"}).text == "a=b"


def test_without_options_the_registry_of_the_process_is_meant() -> None:
    @mcp_tool
    def only_for_this_test() -> None: ...

    try:
        assert "test_decorator_only_for_this_test" in REGISTRY
    finally:
        REGISTRY.unregister("test_decorator_only_for_this_test")


def test_what_is_collected_goes_nowhere_else() -> None:
    registry = Registry()
    with collecting(registry):

        @mcp_tool(name="collected")
        def collected() -> None: ...

    assert "collected" in registry
    assert "collected" not in REGISTRY


def test_a_signature_is_the_schema_and_the_words() -> None:
    signature = Signature("ToolTarget", "Keeps.", [InputField("key"), InputField("value")])
    tool = tool_from_function(put, signature=signature)
    assert (tool.name, tool.description) == ("ToolTarget", "Keeps.")
    assert tool.input_schema == signature.to_json_schema()


def test_an_explicit_schema_replaces_the_hints() -> None:
    """CDM-con-2"""
    schema = {"type": "object", "properties": {"key": {}, "value": {"const": "x"}}}
    assert tool_from_function(put, input_schema=schema).input_schema == schema
    out = {"type": "object", "properties": {"n": {}}}
    assert tool_from_function(put, output_schema=out).output_schema == out


@pytest.mark.parametrize("target", ["put", 7, dict, None])
def test_only_functions_can_be_decorated(target: Any) -> None:
    """CDM-err-7: a non-callable is refused, and the message says what was probably meant."""
    with pytest.raises(RegistrationError, match=r"is no function\. Put @mcp_tool over a def"):
        tool_from_function(target)


def test_a_text_as_first_argument_is_refused_like_any_other() -> None:
    """CDM-err-7"""
    with pytest.raises(RegistrationError, match=r"write @mcp_tool.name="):
        mcp_tool("put")  # type: ignore[call-overload]


def test_an_option_that_does_not_exist_is_named() -> None:
    with pytest.raises(
        RegistrationError, match=r"no option 'destructiv'\. Did you mean destructive"
    ):
        mcp_tool(registry=Registry(), destructiv=True)(put)  # type: ignore[call-overload]
    with pytest.raises(RegistrationError, match="There are author, cache_ttl"):
        tool_from_function(put, colour="red")  # type: ignore[call-arg]
    with pytest.raises(RegistrationError, match=r"Write tags=\['a'\]"):
        tool_from_function(put, tags="a")


def test_a_function_that_yields_is_a_tool_whose_result_is_one_text() -> None:
    def some() -> Iterator[str]:
        yield "1"

    async def later() -> AsyncIterator[str]:
        yield "1"

    for function, waits in ((some, False), (later, True)):
        tool = tool_from_function(function)
        assert (tool.yields, tool.waits, tool.output_schema) == (True, waits, None)
        with pytest.raises(RegistrationError, match="yields texts, which no output schema"):
            tool_from_function(function, output_schema={"type": "object"})
