"""Clients for MCP and MGP servers: `Client` (asyncio), `SyncClient` (threads), results, options and calls made by models.

Begin with `client`; its requests go through `calls` (retries) over a `connection`.
"""

from gatewright.mcp.protocol.recovery import Policy
from gatewright.sdk.client.blocking import SyncClient
from gatewright.sdk.client.client import Client
from gatewright.sdk.client.model_calls import ModelCall, ModelCalls, Outcome
from gatewright.sdk.client.options import Options
from gatewright.sdk.client.results import (
    Completion,
    Progress,
    PromptInfo,
    PromptResult,
    Raw,
    ResourceInfo,
    ResourceResult,
    ToolInfo,
    ToolResult,
)

__all__ = [
    "Client",
    "Completion",
    "ModelCall",
    "ModelCalls",
    "Options",
    "Outcome",
    "Policy",
    "Progress",
    "PromptInfo",
    "PromptResult",
    "Raw",
    "ResourceInfo",
    "ResourceResult",
    "SyncClient",
    "ToolInfo",
    "ToolResult",
]
