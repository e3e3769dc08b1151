"""`Handler`: answers an SDK server's requests: tools, prompts, resources, completion, custom methods; caches lists; passes on notifications."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from gatewright.call import Answer, Back, Call, Caller, CannotAsk, Failure, Outcome
from gatewright.mcp.protocol.ended_calls import marked
from gatewright.mcp.protocol.negotiate import SECURITY_META
from gatewright.mcp.server.streams import CANCEL, Streams
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.methods import NOTIFICATIONS
from gatewright.mcp.wire.versions import is_modern
from gatewright.sdk.context import Context
from gatewright.sdk.errors import SchemaError, SdkError, ToolError
from gatewright.sdk.registry import Registry
from gatewright.sdk.run_function import run_function, too_long
from gatewright.sdk.running_call import Running
from gatewright.sdk.server.answers import completion_of, contents_of, messages_of
from gatewright.sdk.server.resources_and_prompts import Cached, Offers, ResourceOffer
from gatewright.sdk.threads import Expired
from gatewright.sdk.tool import Tool, ToolSecurity

__all__ = ["Handler", "Method", "Notified"]

log = logging.getLogger("gatewright.sdk")

Method = Callable[[dict[str, Any], Context], Any]
"""A method of the author's own: takes `params` and the context, returns the result object."""

Notified = Callable[[str, dict[str, Any], Caller], None]
"""Takes a notification of a client: method, params, whose it is."""

_Way = Callable[[Call, Back], Awaitable[Outcome]]
_EMPTY = Answer(b"{}")


class Handler:
    """See the module's text. `methods` are the author's own, by name."""

    def __init__(
        self,
        registry: Registry,
        offers: Offers,
        methods: Mapping[str, Method],
        notified: Notified = lambda *_: None,
    ) -> None:
        """`notified` hears what clients say without waiting for an answer."""
        self._notified = notified
        self._registry = registry
        self._offers = offers
        self._methods = methods
        self._streams = Streams(time.monotonic, os.urandom)
        self._sent = self._streams.sent(self._ended)
        self._lists: dict[tuple[str, bool], bytes] = {}
        self._changes = 0
        self._ways: dict[str, _Way] = {
            "tools/call": self._tool,
            "tools/list": self._list,
            "prompts/list": self._list,
            "resources/list": self._list,
            "resources/templates/list": self._list,
            "prompts/get": self._prompt,
            "resources/read": self._resource,
            "resources/subscribe": self._subscription,
            "resources/unsubscribe": self._subscription,
            "completion/complete": self._complete,
            "logging/setLevel": self._nothing,
            CANCEL: self._streams.cancel,
        }

    async def handle(self, call: Call, back: Back) -> Outcome:
        """How the call ends. Never raises, except for the cancellation of its task."""
        return marked(call, await self._streams.around(call, back, self._sent))

    async def _ended(self, call: Call, back: Back) -> Outcome:
        way = self._ways.get(call.method, self._own)
        try:
            # The MCP server code leads notifications through here as well, for `on_notification`.
            if call.method.startswith(NOTIFICATIONS):
                self._notified(call.method, call.params, call.caller)
                return _EMPTY
            return await way(call, back)
        except SdkError as problem:
            # Whether something was sent is the word of a client that the author's function used, about another call than this one.
            details = {name: one for name, one in problem.details.items() if name != "sent"}
            return Failure(problem.reason, str(problem), details)
        except ToolError as problem:
            return Failure("tool_failed", str(problem))
        except Exception:
            log.exception("%s broke", call.method)
            return Failure("internal", "internal error; the details are in the server's log")

    def forget_lists(self) -> None:
        """What is offered has changed. From any thread."""
        self._changes += 1  # first: a list that is being made on the loop is not kept then
        self._lists.clear()

    # -- tools

    async def _tool(self, call: Call, back: Back) -> Outcome:
        arguments = call.params.get("arguments")
        tool = self._registry.get(call.name)
        if tool.context is None and not tool.yields:
            result = await self._registry.invoke(call.name, arguments)
        else:
            running = Running(asyncio.get_running_loop())
            context = _context(call, back, running, tool.version)
            try:
                result = await self._registry.invoke(call.name, arguments, context=context)
            except BaseException:
                # Seen by a plain function in its thread, as `Context.cancelled`.
                running.cancelled = True
                raise
            if result.is_error and isinstance(running.unanswered, CannotAsk):
                return _unanswered(running.unanswered)
        found = result.to_json()
        return Answer(jsonrpc.encode(found), result.is_error, own="_meta" not in found)

    # -- lists

    async def _list(self, call: Call, back: Back) -> Outcome:
        # Lists have one page, so no cursor was given out.
        if call.params.get("cursor") is not None:
            return Failure("invalid_params", "this cursor was not given out by this server")
        mgp = call.client.mgp
        shows = mgp is not None and "security" in mgp.extensions
        key = call.method, shows
        raw = self._lists.get(key)
        if raw is None:
            since = self._changes
            raw = jsonrpc.encode(self._listed(call.method, shows))
            if since == self._changes:
                self._lists[key] = raw
        return Answer(raw, own=True)

    def _listed(self, method: str, shows: bool) -> dict[str, Any]:
        offers = self._offers
        if method == "tools/list":
            return {"tools": [_shown(tool, shows) for tool in self._registry.list()]}
        if method == "prompts/list":
            return {"prompts": [one.definition for one in offers.prompts.values()]}
        if method == "resources/list":
            return {"resources": [one.definition for one in offers.resources.values()]}
        return {"resourceTemplates": [one.definition for one in offers.templates.values()]}

    # -- prompts and resources

    async def _prompt(self, call: Call, back: Back) -> Outcome:
        offer = self._offers.prompts.get(call.name)
        if offer is None:
            return Failure(
                "not_found", f"there is no prompt {call.name!r}; prompts/list names them"
            )
        given = call.params.get("arguments") or {}
        if not isinstance(given, dict) or not all(isinstance(one, str) for one in given.values()):
            raise SchemaError("the arguments of a prompt are texts by name")
        if missing := sorted(offer.required - given.keys()):
            raise SchemaError(f"prompt {call.name} also wants {', '.join(missing)}")
        if unknown := sorted(given.keys() - offer.known):
            raise SchemaError(f"prompt {call.name} knows no argument {', '.join(unknown)}")
        running = Running(asyncio.get_running_loop())
        try:
            found = await self._run(
                offer.function, offer.context, given, _context(call, back, running)
            )
        except ToolError:
            if isinstance(running.unanswered, CannotAsk):
                return _unanswered(running.unanswered)
            raise
        result: dict[str, Any] = {"messages": messages_of(call.name, found)}
        if "description" in offer.definition:
            result = {"description": offer.definition["description"], **result}
        return Answer(jsonrpc.encode(result), own=True)

    async def _resource(self, call: Call, back: Back) -> Outcome:
        uri = call.name
        kept = self._offers.cached(uri)
        if kept is None:
            found = self._offers.resource(uri)
            if found is None:
                text = f"there is no resource {uri!r}; resources/list names them"
                return Failure("not_found", text, {"uri": uri})
            kept = await self._read(*found, call, back)
        result: dict[str, Any] = {"contents": kept.contents}
        if is_modern(call.client.revision):
            result["ttlMs"] = self._offers.left_ms(kept)
        return Answer(jsonrpc.encode(result), own="ttlMs" not in result)

    async def _read(
        self, offer: ResourceOffer, variables: dict[str, str], call: Call, back: Back
    ) -> Cached:
        context = _context(call, back, Running(asyncio.get_running_loop()))
        since = self._offers.changes
        given = await self._run(offer.function, offer.context, variables, context)
        contents = contents_of(offer, call.name, given)
        if offer.context is None:  # what was read for one caller is not another's
            self._offers.keep(call.name, contents, offer.ttl_s, since)
        return self._offers.cached(call.name) or Cached(contents, 0.0)

    async def _run(
        self,
        function: Callable[..., Any],
        parameter: str | None,
        given: Mapping[str, Any],
        context: Context | None,
    ) -> Any:
        """Call a function of the author's, as tools are: where it belongs, and for its time. Raises `TimeoutError`."""
        limit_s = self._registry.limits.tool_s
        if context is not None:
            context = replace(context, deadline=time.monotonic() + limit_s)
        arguments = dict(given) if parameter is None else {**given, parameter: context}
        plain = function.func if isinstance(function, functools.partial) else function
        waits = inspect.iscoroutinefunction(plain)
        work = functools.partial(function, **arguments)
        running = None if context is None else context.running
        name = getattr(plain, "__name__", type(plain).__name__)
        try:
            return await run_function(name, work, waits, limit_s, running)
        except Expired:
            raise too_long(name, limit_s) from None
        except asyncio.CancelledError:
            if running is not None:  # seen by a plain function in its thread, as in `_tool`
                running.cancelled = True
            raise

    async def _subscription(self, call: Call, back: Back) -> Outcome:
        # The session remembers the subscription; here only whether there is such a resource.
        if self._offers.resource(call.name) is None:
            return Failure("not_found", f"there is no resource {call.name!r}", {"uri": call.name})
        return _EMPTY

    async def _complete(self, call: Call, back: Back) -> Outcome:
        ref, argument = call.params.get("ref"), call.params.get("argument")
        if not isinstance(ref, dict) or not isinstance(argument, dict):
            return Failure("invalid_params", "params.ref and params.argument must be objects")
        named = ref.get("name" if ref.get("type") == "ref/prompt" else "uri")
        if not isinstance(named, str):
            return Failure("invalid_params", "params.ref must have a name or a uri, a text")
        if named not in self._offers.prompts and self._template(named) is None:
            return Failure("invalid_params", "params.ref names no prompt and no resource template")
        proposes = self._offers.completions.get((str(named), str(argument.get("name"))))
        if proposes is None:
            return Answer(jsonrpc.encode(completion_of([])), own=True)
        settled = call.params.get("context")
        known = settled.get("arguments") if isinstance(settled, dict) else None
        given: dict[str, Any] = {"value": str(argument.get("value", ""))}
        if len(inspect.signature(proposes).parameters) > 1:
            given["settled"] = known if isinstance(known, dict) else {}
        found = await self._run(functools.partial(proposes, *given.values()), None, {}, None)
        return Answer(jsonrpc.encode(completion_of(found)), own=True)

    def _template(self, uri: Any) -> ResourceOffer | None:
        return self._offers.templates.get(uri) or self._offers.resources.get(uri)

    async def _nothing(self, call: Call, back: Back) -> Outcome:
        return _EMPTY

    async def _own(self, call: Call, back: Back) -> Outcome:
        method = self._methods.get(call.method)
        if method is None:
            return Failure("method_not_found", f"Method not found: {call.method}")
        context = _context(call, back, Running(asyncio.get_running_loop()))
        limit_s = self._registry.limits.tool_s
        context = replace(context, deadline=time.monotonic() + limit_s)
        found = await self._run(functools.partial(method, call.params, context), None, {}, context)
        return Answer(jsonrpc.encode(found))


def _context(call: Call, back: Back, running: Running, version: str = "") -> Context:
    return Context(
        tool=call.name,
        version=version,
        trace_id=call.trace_id,
        caller=call.caller.id,
        back=back,
        call=call,
        running=running,
    )


def _unanswered(no: CannotAsk) -> Failure:
    """A question that could not be put ends the call with the reason, as an error of the protocol."""
    error = {"code": no.code, "message": no.message}
    if no.data is not None:
        error["data"] = no.data
    return Failure("tool_failed", no.message, error=jsonrpc.encode(error))


def _shown(tool: Tool, shows: bool) -> dict[str, Any]:
    """A tool's definition; MGP's `security`, and its mirror in `_meta` (C-50), for those who negotiated it."""
    found = tool.definition()
    security = found.pop("security", None)
    if shows:
        said = security or (tool.effective_security or ToolSecurity()).to_json()
        meta = found.get("_meta")
        found["security"] = said
        found["_meta"] = {**(meta or {}), SECURITY_META: said}
    return found
