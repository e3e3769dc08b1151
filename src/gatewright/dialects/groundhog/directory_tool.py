"""Shipped tool `directory_list`: runs in a thread, or in a confined child process where a registration sets sandbox level or memory limit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.dialects.groundhog.directory import (
    DEFINITION,
    NotAllowed,
    Unlistable,
    list_directory,
)
from gatewright.dialects.groundhog.register import Shipped
from gatewright.dialects.groundhog.registration import Profile
from gatewright.dialects.groundhog.sandboxed_run import (
    Crowded,
    Isolation,
    Level,
    Places,
    Ran,
    run_confined,
)
from gatewright.dialects.groundhog.tool_registry import Registered
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.groundhog import META_TOOL
from gatewright.schemas.schema import compile_schema
from gatewright.servers.local import Function

__all__ = ["NAME", "VERSION", "directory_tool", "shipped_directory"]

NAME = "directory_list"
VERSION = "1.0.0"
_META = {
    META_TOOL: {
        "author": "Gatewright",
        "categories": ["filesystem", "utility"],
        "trust_level": "verified",
        "sandbox_level": "none",
    }
}
_FILES = ThreadPoolExecutor(4, thread_name_prefix="directory_list")
"""A mount that does not answer keeps a thread for as long as it likes."""
_LATER_MS = 1000
_own_schema = compile_schema(DEFINITION["inputSchema"])


def directory_tool(roots: Sequence[str]) -> Registered:
    """`directory_list` as it is offered without a registration."""
    return Registered(
        name=NAME,
        version=VERSION,
        definition={**DEFINITION, "_meta": _META},
        run=_directory(roots, Profile(), Places()),
        fingerprint="shipped",
        shipped=True,
    )


def shipped_directory(roots: Sequence[str], isolation: Isolation) -> Shipped:
    """`directory_list` for registrations. `roots` are absolute paths that may be listed."""

    places = Places()

    async def prove(level: Level) -> str:
        return await isolation.flaw(level, roots)

    return Shipped(
        {**DEFINITION, "_meta": _META}, lambda profile: _directory(roots, profile, places), prove
    )


def _directory(roots: Sequence[str], profile: Profile, places: Places) -> Function:
    async def run(arguments: dict[str, Any], call: Call, back: Back) -> Outcome:
        objection = _own_schema.objection(arguments)  # a registration may have a schema of its own
        if objection is not None:
            where = {"path": objection.path, "rule": objection.rule}
            return Failure("invalid_args", f"arguments{objection.path}: {objection.message}", where)
        try:
            return await _listed(arguments, roots, profile, places, call)
        except Crowded:
            text = f"too many calls of {NAME} wait for a process; make this one again later"
            return Refusal("resource_exhausted", text, retry_after_ms=_LATER_MS)
        except TimeoutError:
            return Failure(
                "timeout",
                f"{NAME} did not end within {profile.seconds:g} s",
                {"max_execution_time": profile.seconds},
            )

    return run


async def _listed(
    arguments: Mapping[str, Any],
    roots: Sequence[str],
    profile: Profile,
    places: Places,
    call: Call,
) -> Outcome:
    if profile.level == "none" and profile.memory is None:
        return await _here(arguments, roots, profile)
    # Memory can only be limited for a process.
    level: Level = "process" if profile.level == "none" else profile.level
    # Its time begins when it has its place: others' calls use up none of it.
    async with places.place(call.caller.who):
        ran = await run_confined(
            NAME, arguments, roots, level=level, seconds=profile.seconds, memory=profile.memory
        )
    call.facts["memory_bytes"] = ran.memory
    return _outcome(ran, arguments, profile)


async def _here(arguments: Mapping[str, Any], roots: Sequence[str], profile: Profile) -> Outcome:
    """In a thread of this process, which looks whether it is still wanted; not in one of the loop's, which all else waits for."""
    over = threading.Event()
    try:
        async with asyncio.timeout(profile.seconds):
            listing = partial(list_directory, arguments, roots, stop=over.is_set)
            found = await asyncio.get_running_loop().run_in_executor(_FILES, listing)
    except NotAllowed:
        return _not_allowed(arguments)
    except Unlistable as problem:
        return _unlistable(str(problem))
    finally:
        over.set()
    return _answer(found)


def _outcome(ran: Ran, arguments: Mapping[str, Any], profile: Profile) -> Outcome:
    said = ran.said
    if "result" in said:
        return _answer(said["result"])
    if "not_allowed" in said:
        return _not_allowed(arguments)
    if "unlistable" in said:
        return _unlistable(str(said["unlistable"]))
    if "no_memory" in said:
        limit = {"max_memory": profile.memory}
        text = f"{NAME} needs more than {profile.memory} bytes of memory"
        return Failure("resource_exhausted", text, limit)
    problem = said.get("no_isolation", "its process ended before it answered")
    return Failure("internal", f"{NAME} could not be run: {problem}")


def _answer(found: Any) -> Answer:
    text = jsonrpc.encode(found).decode()
    result = {"content": [{"type": "text", "text": text}], "structuredContent": found}
    return Answer(jsonrpc.encode(result))


def _not_allowed(arguments: Mapping[str, Any]) -> Refusal:
    return Refusal(
        "path_not_allowed",
        "Access to the specified path is not permitted",
        {
            "requested_path": arguments["path"],
            "reason": "Path not in allowed list",
            "suggestion": "Request access to an allowed directory",
        },
        gate="roots",
    )


def _unlistable(why: str) -> Answer:
    text = f"the directory cannot be listed: {why}"
    result = {"content": [{"type": "text", "text": text}], "isError": True}
    return Answer(jsonrpc.encode(result), True)
