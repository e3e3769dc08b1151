"""The fixtures of `own_everything` that ask the client something. One function serves both eras: the SDK knows which it is."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from conformance.everything_data import DEFAULTS, ENUMS
from gatewright.sdk import Elicited, Server
from gatewright.sdk.server import Context

__all__ = ["offer_asking"]

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
OK = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
_PREFIX = "test_input_required_result_"


def _said(found: Elicited[Any]) -> str:
    return f"action={found.action}, content={json.dumps(found.content or {}, sort_keys=True)}"


def _plain(server: Server) -> None:
    @server.tool(description="Asks the model")
    async def test_sampling(prompt: str, context: Context) -> str:
        said = await context.sample(prompt, 100, key="completion")
        return f"LLM response: {said['content'].get('text', '')}"

    @server.tool(description="Asks the user")
    async def test_elicitation(message: str, context: Context) -> str:
        fields = {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        }
        form = {"type": "object", "properties": fields, "required": ["username", "email"]}
        found = await context.elicit(message, form, key="person")
        return f"User response: {_said(found)}"

    for name, fields in (("sep1034_defaults", DEFAULTS), ("sep1330_enums", ENUMS)):
        server.tool(name=f"test_elicitation_{name}", description="Shows a form")(_shows(fields))

    @server.tool(description="Needs the client's model")
    async def test_missing_capability(context: Context) -> str:
        if not context.can_ask("sampling/createMessage"):
            await context.sample("nobody will answer")
        return "The client has a model"

    @server.tool(description="Asks before it goes on")
    async def test_streaming_elicitation(context: Context) -> str:
        await context.elicit("Go on?", OK, key="confirm")
        return "went on"


def _shows(fields: dict[str, Any]) -> Any:
    async def show(context: Context) -> str:
        form = {"type": "object", "properties": fields}
        found = await context.elicit("Please look it over", form, key="form")
        return f"Elicitation completed: {_said(found)}"

    return show


def _rounds(server: Server) -> None:
    @server.tool(name=f"{_PREFIX}elicitation", description="Asks the user")
    async def elicitation(context: Context) -> str:
        found = await context.elicit("What is your name?", NAME, key="user_name")
        return f"Hello, {(found.content or {}).get('name')}!"

    @server.tool(name=f"{_PREFIX}sampling", description="Asks the model")
    async def sampling(context: Context) -> str:
        found = await context.sample("What is the capital of France?", 100, key="capital_question")
        return f"The model said: {found['content']}"

    @server.tool(name=f"{_PREFIX}list_roots", description="Asks for the roots")
    async def list_roots(context: Context) -> str:
        roots = await context.roots(key="client_roots")
        return "Roots: " + ", ".join(one["uri"] for one in roots)


def _states(server: Server) -> None:
    for name in ("request_state", "tampered_state"):
        server.tool(name=_PREFIX + name, description="Asks to confirm")(_confirms)

    @server.tool(name=f"{_PREFIX}multiple_inputs", description="Asks three things at once")
    async def multiple_inputs(context: Context) -> str:
        name, said, roots = await asyncio.gather(
            context.elicit("What is your name?", NAME, key="user_name"),
            context.sample("Generate a greeting", 50, key="greeting"),
            context.roots(key="client_roots"),
        )
        return f"{(name.content or {}).get('name')}: {len(roots)} roots, {said.get('model')}"

    @server.tool(name=f"{_PREFIX}multi_round", description="Asks one thing after the other")
    async def multi_round(context: Context) -> str:
        colors = {"type": "object", "properties": {"color": {"type": "string"}}}
        name = await context.elicit("Step 1: What is your name?", NAME, key="step1")
        color = await context.elicit("Step 2: What is your favorite color?", colors, key="step2")
        return f"{(name.content or {}).get('name')} likes {(color.content or {}).get('color')}"

    @server.tool(name=f"{_PREFIX}capabilities", description="Asks what can be answered")
    async def capabilities(context: Context) -> str:
        words = {"type": "object", "properties": {"word": {"type": "string"}}}
        questions: list[Any] = []
        if context.can_ask("sampling/createMessage"):
            questions.append(context.sample("Say a word", 10, key="thought"))
        if context.can_ask("elicitation/create"):
            questions.append(context.elicit("Say a word", words, key="word"))
        return f"{len(await asyncio.gather(*questions))} answers"


async def _confirms(context: Context) -> str:
    await context.elicit("Please confirm", OK, key="confirm")
    return "state-ok"


def _prompt(server: Server) -> None:
    @server.prompt(description="A prompt that needs an answer from the user first")
    async def test_input_required_result_prompt(context: Context) -> str:
        form = {"type": "object", "properties": {"context": {"type": "string"}}}
        found = await context.elicit("What context should it use?", form, key="user_context")
        return f"Use this context: {(found.content or {}).get('context')}"


def offer_asking(server: Server) -> None:
    """Add all of them."""
    _plain(server)
    _rounds(server)
    _states(server)
    _prompt(server)
