"""`CallHandlers` of an SDK client's call: passes progress and events to listeners; answers elicitation, callbacks, sampling and roots."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from gatewright.call import CannotAsk, Event, Question
from gatewright.mcp.protocol.callbacks import form_of, read_callback, response_of_form
from gatewright.mcp.wire.methods import CALLBACK
from gatewright.sdk.client.options import Answer, Options
from gatewright.sdk.client.results import Progress

__all__ = ["CallHandlers", "OnProgress", "answer_question"]

log = logging.getLogger("gatewright.sdk")

OnProgress = Callable[[Progress], None]
"""Takes progress. Runs on the client's event loop and must not block."""

_REFUSED = -32603


class CallHandlers:
    """The `Back` of one call."""

    __slots__ = ("_on_progress", "_options")

    def __init__(self, options: Options, on_progress: OnProgress | None = None) -> None:
        self._options = options
        self._on_progress = on_progress

    def emit(self, event: Event) -> None:
        """Hand one notification on. A listener that raises loses it, and nothing else."""
        try:
            if event.method == "notifications/progress" and self._on_progress is not None:
                self._on_progress(Progress(event.params))
            else:
                self._options.on_event(event.method, event.params)
        except Exception:
            log.exception("the listener for %s raised", event.method)

    async def ask(self, question: Question) -> dict[str, Any]:
        """Have a question of the server answered. Raises `CannotAsk`."""
        return await answer_question(self._options, question)


async def answer_question(options: Options, question: Question) -> dict[str, Any]:
    """The answer by whoever the options name for it. Raises `CannotAsk`, in words that the server is told."""
    params = question.params or {}
    if question.method == "roots/list" and options.roots is not None:
        return {"roots": [{"uri": uri} for uri in options.roots]}
    if question.method == CALLBACK and options.elicit is not None:
        return await _called_back(options, params)
    handlers = {"elicitation/create": options.elicit, "sampling/createMessage": options.sample}
    handler = handlers.get(question.method)
    if handler is None:
        raise CannotAsk(f"this client does not answer {question.method}")
    try:
        found = await _called(handler, params)
    except Exception as problem:
        log.exception("the handler for %s raised", question.method)
        raise CannotAsk(f"the client could not answer: {problem}", _REFUSED) from problem
    if not isinstance(found, dict):
        raise CannotAsk("the client's answer is no object", _REFUSED)
    return found


async def _called_back(options: Options, params: dict[str, Any]) -> dict[str, Any]:
    """An MGP callback, as the form that asks the same."""
    callback = read_callback({"callback_id": 0, **params})
    form = {"mode": "form", "message": callback.message, "requestedSchema": form_of(callback)}
    answer = await answer_question(options, Question("elicitation/create", form))
    said = response_of_form(callback, answer)
    if said is None:
        raise CannotAsk("the user gave no answer", _REFUSED)
    return {"response": said}


async def _called(handler: Answer, params: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(handler):
        return await handler(params)
    # A plain function may block. An object with an asynchronous `__call__` comes here as well; what it returns is awaited.
    found = await asyncio.to_thread(handler, params)
    return await found if inspect.isawaitable(found) else found
