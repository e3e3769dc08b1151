"""SDK for tool authors: `@mcp_tool` turns a function into a typed, schema-checked MCP tool; with registry, server and client.

    from gatewright.sdk import mcp_tool

    @mcp_tool
    def add(a: int, b: int) -> int:
        \"\"\"Add two numbers.\"\"\"
        return a + b

Nothing of the gateway is imported. Names are loaded when they are used. To read: `tool`, `decorator` and `function_schema` (declaring),
`registry` and `dispatch` (calling), then `server`, `client` and `export`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gatewright.sdk.capabilities import server_capabilities
    from gatewright.sdk.client import Client, SyncClient
    from gatewright.sdk.constraints import (
        AllOf,
        AnyOf,
        Length,
        MaxLength,
        MaxValue,
        MinLength,
        MinValue,
        MultipleOf,
        Not,
        OneOf,
        Pattern,
    )
    from gatewright.sdk.content import Audio, Content, Image, Link, Resource, Text
    from gatewright.sdk.context import Context, Elicited
    from gatewright.sdk.decorator import mcp_tool, tool_from_function
    from gatewright.sdk.discovery import Discovery
    from gatewright.sdk.errors import (
        AccessError,
        InternalError,
        LimitError,
        RegistrationError,
        SchemaError,
        SdkError,
        SerializationError,
        TimeoutError,
        ToolError,
        ToolNotFoundError,
        TransportError,
        ValidationError,
    )
    from gatewright.sdk.limits import TimeLimits
    from gatewright.sdk.messages import MCPToolCall, MCPToolResult
    from gatewright.sdk.registry import (
        REGISTRY,
        Registry,
        get_tool_schema,
        list_registered_tools,
    )
    from gatewright.sdk.result import Result
    from gatewright.sdk.server import Server, serve
    from gatewright.sdk.signature import InputField, McpToolDefinition, OutputField, Signature
    from gatewright.sdk.tool import Tool, ToolSecurity
    from gatewright.sdk.trust import TrustGateway, TrustState

__all__ = [
    "REGISTRY",
    "AccessError",
    "AllOf",
    "AnyOf",
    "Audio",
    "Client",
    "Content",
    "Context",
    "Discovery",
    "Elicited",
    "Image",
    "InputField",
    "InternalError",
    "Length",
    "LimitError",
    "Link",
    "MCPToolCall",
    "MCPToolResult",
    "MaxLength",
    "MaxValue",
    "McpToolDefinition",
    "MinLength",
    "MinValue",
    "MultipleOf",
    "Not",
    "OneOf",
    "OutputField",
    "Pattern",
    "RegistrationError",
    "Registry",
    "Resource",
    "Result",
    "SchemaError",
    "SdkError",
    "SerializationError",
    "Server",
    "Signature",
    "SyncClient",
    "Text",
    "TimeLimits",
    "TimeoutError",
    "Tool",
    "ToolError",
    "ToolNotFoundError",
    "ToolSecurity",
    "TransportError",
    "TrustGateway",
    "TrustState",
    "ValidationError",
    "get_tool_schema",
    "list_registered_tools",
    "mcp_tool",
    "serve",
    "server_capabilities",
    "tool_from_function",
]

_HOMES = {
    "constraints": "AllOf AnyOf Length MaxLength MaxValue MinLength MinValue MultipleOf Not OneOf Pattern",
    "content": "Audio Content Image Link Resource Text",
    "client": "Client SyncClient",
    "context": "Context Elicited",
    "capabilities": "server_capabilities",
    "discovery": "Discovery",
    "messages": "MCPToolCall MCPToolResult",
    "decorator": "mcp_tool tool_from_function",
    "errors": "AccessError InternalError LimitError RegistrationError SchemaError SdkError SerializationError "
    "TimeoutError ToolError ToolNotFoundError TransportError ValidationError",
    "limits": "TimeLimits",
    "registry": "REGISTRY Registry get_tool_schema list_registered_tools",
    "result": "Result",
    "server": "Server serve",
    "signature": "InputField McpToolDefinition OutputField Signature",
    "tool": "Tool ToolSecurity",
    "trust": "TrustGateway TrustState",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a public name from its module, once."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__} has no {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
