"""An agent of the OpenAI Agents SDK whose model is a script: python openai_agent.py URL

Prints one line of JSON: the tools it was shown, what the tools said, and the last word of its model.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from agents import (  # type: ignore[import-not-found]
    Agent,
    Model,
    ModelResponse,
    Runner,
    Usage,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStreamableHttp  # type: ignore[import-not-found]
from openai.types.responses import (  # type: ignore[import-not-found]
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

SCRIPT = [("shop__total", {"prices": [2, 3.5]}), ("shop__total", {"prices": []})]


class _Model(Model):  # type: ignore[misc]
    """Says what the script says, and remembers which tools it was shown."""

    def __init__(self) -> None:
        self.turn = 0
        self.tools: list[str] = []

    async def get_response(self, *given: Any, **named: Any) -> Any:
        tools = named["tools"] if "tools" in named else given[3]
        self.tools = [one.name for one in tools]
        output: Any
        if self.turn < len(SCRIPT):
            name, arguments = SCRIPT[self.turn]
            output = ResponseFunctionToolCall(
                type="function_call",
                name=name,
                arguments=json.dumps(arguments),
                call_id=f"c{self.turn}",
            )
        else:
            text = ResponseOutputText(type="output_text", text="That is 5.5.", annotations=[])
            output = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
        self.turn += 1
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("the script is not streamed")


async def main(url: str) -> None:
    """One conversation."""
    set_tracing_disabled(True)
    model = _Model()
    async with MCPServerStreamableHttp(params={"url": url}, name="gateway") as server:
        agent = Agent(name="a", instructions="Add.", model=model, mcp_servers=[server])
        found = await Runner.run(agent, "What is 2 and 3.5?")
    said = [
        str(one["output"]["text"] if isinstance(one["output"], dict) else one["output"])
        for one in found.to_input_list()
        if one.get("type") == "function_call_output"
    ]
    sys.stdout.write(
        json.dumps({"tools": model.tools, "said": said, "last": found.final_output}) + "\n"
    )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
