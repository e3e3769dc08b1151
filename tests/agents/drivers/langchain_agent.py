"""A LangChain agent whose model is a script: python langchain_agent.py URL

Prints one line of JSON: the tools it was shown, what the tools said, and the last word of its model.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from langchain.agents import create_agent  # type: ignore[import-not-found]
from langchain_core.language_models.fake_chat_models import (  # type: ignore[import-not-found]
    FakeMessagesListChatModel,
)
from langchain_core.messages import AIMessage, ToolMessage  # type: ignore[import-not-found]
from langchain_mcp_adapters.client import MultiServerMCPClient  # type: ignore[import-not-found]

SCRIPT = [("shop__total", {"prices": [2, 3.5]}), ("shop__total", {"prices": []})]


class _Model(FakeMessagesListChatModel):  # type: ignore[misc]
    """Says what the script says, whatever tools it is given."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def _script() -> _Model:
    calls = [
        AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c{number}"}])
        for number, (name, args) in enumerate(SCRIPT)
    ]
    return _Model(responses=[*calls, AIMessage("That is 5.5.")])


async def main(url: str) -> None:
    """One conversation."""
    client = MultiServerMCPClient({"gateway": {"transport": "streamable_http", "url": url}})
    tools = await client.get_tools()
    for tool in tools:
        tool.handle_tool_error = True
    agent = create_agent(_script(), tools)
    found = await agent.ainvoke({"messages": [("user", "What is 2 and 3.5?")]})
    said = [one.text for one in found["messages"] if isinstance(one, ToolMessage)]
    shown = {"tools": [one.name for one in tools], "said": said}
    sys.stdout.write(json.dumps({**shown, "last": found["messages"][-1].text}) + "\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
