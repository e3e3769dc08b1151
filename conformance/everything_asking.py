"""Tools of the conformance server that need an answer from the client before they can finish.

One question has two spellings. In the handshake era the server sends a request of its own while
the call runs; from 2026-07-28 on it returns `input_required` and the client calls again with the
answers. `_ask` hides the difference, so every tool below works in both eras, and a gateway between
two eras can be tried on the same names.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from everything_content import text
from everything_data import DEFAULTS, ENUMS
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

__all__ = ["ASKING", "Context", "Reply", "done", "is_modern", "prompt_with_input"]

Context = ServerRequestContext[Any, Any]
Question = types.ElicitRequest | types.CreateMessageRequest | types.ListRootsRequest
Answer = types.ElicitResult | types.CreateMessageResult | types.ListRootsResult
Params = types.CallToolRequestParams | types.GetPromptRequestParams
Reply = types.CallToolResult | types.InputRequiredResult

_ANSWER_TYPES: dict[str, type[Any]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}


def is_modern(ctx: Context) -> bool:
    """Whether this request came in the stateless era."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _elicit(
    message: str, properties: dict[str, Any], required: list[str] | None = None
) -> Question:
    """A form for the user."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required is not None:
        schema["required"] = required
    form = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.ElicitRequest(params=form)


def _sample(prompt: str, max_tokens: int) -> Question:
    """A question for the client's model."""
    said = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[said], max_tokens=max_tokens)
    )


def _roots() -> Question:
    """A question for the client's roots."""
    return types.ListRootsRequest()


async def _ask(
    ctx: Context, params: Params, questions: Mapping[str, Question], state: str | None = None
) -> dict[str, Any] | types.InputRequiredResult:
    """Answers by key, or the `input_required` result that the caller has to return as it is.

    A modern retry that misses an answer is asked again; answers to questions that nobody asked
    are ignored.
    """
    if not is_modern(ctx):
        related = ServerMessageMetadata(related_request_id=ctx.request_id)
        return {
            key: await ctx.session.send_request(
                question, _ANSWER_TYPES[question.method], metadata=related
            )
            for key, question in questions.items()
        }
    given = params.input_responses or {}
    if all(isinstance(given.get(key), _ANSWER_TYPES[q.method]) for key, q in questions.items()):
        return {key: given[key] for key in questions}
    return types.InputRequiredResult(input_requests=dict(questions), request_state=state)


def done(words: str) -> types.CallToolResult:
    """A finished call with one line of text."""
    return types.CallToolResult(content=[text(words)])


def _form(answer: types.ElicitResult) -> str:
    content = json.dumps(answer.content or {}, sort_keys=True)
    return f"action={answer.action}, content={content}"


async def _plain_sampling(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    prompt = str((params.arguments or {}).get("prompt", ""))
    got = await _ask(ctx, params, {"completion": _sample(prompt, 100)})
    if isinstance(got, types.InputRequiredResult):
        return got
    content = got["completion"].content
    words = content.text if isinstance(content, types.TextContent) else repr(content)
    return done(f"LLM response: {words}")


async def _plain_elicitation(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    message = str((params.arguments or {}).get("message", ""))
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    got = await _ask(ctx, params, {"person": _elicit(message, fields, ["username", "email"])})
    if isinstance(got, types.InputRequiredResult):
        return got
    return done(f"User response: {_form(got['person'])}")


async def _defaults(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    got = await _ask(ctx, params, {"form": _elicit("Please look over the defaults", DEFAULTS)})
    if isinstance(got, types.InputRequiredResult):
        return got
    return done(f"Elicitation completed: {_form(got['form'])}")


async def _enums(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    got = await _ask(ctx, params, {"form": _elicit("Please choose", ENUMS)})
    if isinstance(got, types.InputRequiredResult):
        return got
    return done(f"Elicitation completed: {_form(got['form'])}")


def _name_form() -> Question:
    return _elicit("What is your name?", {"name": {"type": "string"}}, ["name"])


def _ok_form(message: str) -> Question:
    return _elicit(message, {"ok": {"type": "boolean"}}, ["ok"])


def _field(answer: types.ElicitResult, name: str) -> str:
    return str((answer.content or {}).get(name, ""))


async def _elicitation(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    got = await _ask(ctx, params, {"user_name": _name_form()})
    if isinstance(got, types.InputRequiredResult):
        return got
    return done(f"Hello, {_field(got['user_name'], 'name')}!")


async def _sampling(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    question = _sample("What is the capital of France?", 100)
    got = await _ask(ctx, params, {"capital_question": question})
    if isinstance(got, types.InputRequiredResult):
        return got
    return done(f"The model said: {got['capital_question'].content}")


async def _list_roots(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    got = await _ask(ctx, params, {"client_roots": _roots()})
    if isinstance(got, types.InputRequiredResult):
        return got
    return done("Roots: " + ", ".join(str(root.uri) for root in got["client_roots"].roots))


async def _request_state(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    got = await _ask(ctx, params, {"confirm": _ok_form("Please confirm")}, state="asked")
    if isinstance(got, types.InputRequiredResult):
        return got
    if is_modern(ctx) and params.request_state != "asked":
        raise MCPError(types.INVALID_PARAMS, "The request state of the first round is missing")
    return done("state-ok")


async def _multiple_inputs(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    questions = {
        "user_name": _name_form(),
        "greeting": _sample("Generate a greeting", 50),
        "client_roots": _roots(),
    }
    got = await _ask(ctx, params, questions, state="three-questions")
    if isinstance(got, types.InputRequiredResult):
        return got
    name = _field(got["user_name"], "name")
    return done(f"{name}: {len(got['client_roots'].roots)} roots, {got['greeting'].model}")


async def _multi_round(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    """Two rounds; the state carries the first answer, because nothing else remembers it."""
    step1 = _elicit("Step 1: What is your name?", {"name": {"type": "string"}}, ["name"])
    step2 = _elicit(
        "Step 2: What is your favorite color?", {"color": {"type": "string"}}, ["color"]
    )
    told = json.loads(params.request_state) if params.request_state else {"round": 1}
    if told["round"] == 1:
        got = await _ask(ctx, params, {"step1": step1}, state=json.dumps({"round": 1}))
        if isinstance(got, types.InputRequiredResult):
            return got
        told = {"round": 2, "name": _field(got["step1"], "name")}
    got = await _ask(ctx, params, {"step2": step2}, state=json.dumps(told))
    if isinstance(got, types.InputRequiredResult):
        return got
    return done(f"{told['name']} likes {_field(got['step2'], 'color')}")


async def _tampered_state(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    """The sealing of the state, and its refusal, is done in front of this function."""
    got = await _ask(ctx, params, {"confirm": _ok_form("Please confirm")}, state="sealed")
    return got if isinstance(got, types.InputRequiredResult) else done("confirmed")


async def _capabilities(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    """Ask only what this client said it can answer."""
    can = ctx.session.client_capabilities or types.ClientCapabilities()
    questions: dict[str, Question] = {}
    if can.sampling is not None:
        questions["thought"] = _sample("Say a word", 10)
    if can.elicitation is not None:
        questions["word"] = _elicit("Say a word", {"word": {"type": "string"}}, ["word"])
    if not questions:
        return done("This client can answer no question")
    got = await _ask(ctx, params, questions)
    return got if isinstance(got, types.InputRequiredResult) else done(", ".join(sorted(got)))


async def _missing_capability(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    """Refuse, with the reserved code, a client that did not declare sampling."""
    can = ctx.session.client_capabilities or types.ClientCapabilities()
    if can.sampling is None:
        needed = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs the client's model", needed
        )
    return done("The client has a model")


async def _streaming_elicitation(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    got = await _ask(ctx, params, {"confirm": _ok_form("Go on?")})
    return got if isinstance(got, types.InputRequiredResult) else done("went on")


async def prompt_with_input(
    ctx: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    """`test_input_required_result_prompt`: the same dance for prompts/get."""
    form = _elicit(
        "What context should the prompt use?", {"context": {"type": "string"}}, ["context"]
    )
    got = await _ask(ctx, params, {"user_context": form})
    if isinstance(got, types.InputRequiredResult):
        return got
    words = f"Use this context: {_field(got['user_context'], 'context')}"
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text(words))])


_PREFIX = "test_input_required_result_"

ASKING: dict[str, Callable[[Context, types.CallToolRequestParams], Awaitable[Reply]]] = {
    "test_sampling": _plain_sampling,
    "test_elicitation": _plain_elicitation,
    "test_elicitation_sep1034_defaults": _defaults,
    "test_elicitation_sep1330_enums": _enums,
    "test_missing_capability": _missing_capability,
    "test_streaming_elicitation": _streaming_elicitation,
    _PREFIX + "elicitation": _elicitation,
    _PREFIX + "sampling": _sampling,
    _PREFIX + "list_roots": _list_roots,
    _PREFIX + "request_state": _request_state,
    _PREFIX + "multiple_inputs": _multiple_inputs,
    _PREFIX + "multi_round": _multi_round,
    _PREFIX + "tampered_state": _tampered_state,
    _PREFIX + "capabilities": _capabilities,
}
