"""A PydanticAI agent whose model is a script: python pydantic_agent.py URL

Prints one line of JSON: the tools it was shown, what the tools said, and the last word of its model.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from pydantic_ai import Agent, models  # type: ignore[import-not-found]
from pydantic_ai.mcp import MCPToolset  # type: ignore[import-not-found]
from pydantic_ai.messages import (  # type: ignore[import-not-found]
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel  # type: ignore[import-not-found]

SCRIPT = [("shop__total", {"prices": [2, 3.5]}), ("shop__total", {"prices": []})]


async def main(url: str) -> None:
    """One conversation."""
    models.ALLOW_MODEL_REQUESTS = False
    shown: list[str] = []
    turns = iter(SCRIPT)

    def model(messages: list[Any], info: AgentInfo) -> ModelResponse:
        shown[:] = [one.name for one in info.function_tools]
        call = next(turns, None)
        if call is None:
            return ModelResponse(parts=[TextPart("That is 5.5.")])
        return ModelResponse(parts=[ToolCallPart(call[0], call[1])])

    agent = Agent(FunctionModel(model), toolsets=[MCPToolset(url)])
    found = await agent.run("What is 2 and 3.5?")
    said = [
        part.content if isinstance(part.content, str) else json.dumps(part.content)
        for message in found.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart | RetryPromptPart)
    ]
    sys.stdout.write(json.dumps({"tools": shown, "said": said, "last": found.output}) + "\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
