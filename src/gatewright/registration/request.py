"""Reads the params of `mgp/discovery/register` and `deregister` (MGP §15.4, §15.5) within bounds; says what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from gatewright.call import Failure
from gatewright.config.substitute import hides
from gatewright.config.variable_risks import is_ours, loads_code, moves_traffic
from gatewright.mcp.wire.permissions import declared_permissions

__all__ = ["Ending", "Wanted", "read_ending", "read_wanted"]

_Text = Annotated[str, Meta(max_length=4096)]
_Name = Annotated[str, Meta(min_length=1, max_length=128)]
_Reason = Annotated[str, Meta(max_length=1000)]
_Params = TypeVar("_Params", bound=msgspec.Struct)


class _Mgp(msgspec.Struct, frozen=True):
    extensions: Annotated[tuple[_Name, ...], Meta(max_length=32)] = ()
    permissions_required: Annotated[tuple[_Name, ...], Meta(max_length=32)] = ()
    trust_level: Literal["standard", "trusted", "sandboxed"] | None = None


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A server that somebody wants to register. Its id is held against the rule of the configuration later."""

    id: _Name
    command: Annotated[str, Meta(min_length=1, max_length=4096)]
    args: Annotated[tuple[_Text, ...], Meta(max_length=64)] = ()
    transport: Literal["stdio"] = "stdio"
    env: Annotated[dict[_Name, _Text], Meta(max_length=32)] = {}
    mgp: _Mgp | None = None
    created_by: Annotated[str, Meta(max_length=128)] = ""
    """What is said of it; who it was is known from authentication."""
    justification: _Reason
    lifetime: Literal["session", "persistent"] | None = None

    @property
    def trust_level(self) -> Literal["standard", "trusted", "sandboxed"] | None:
        """The trust level that is asked for, if any."""
        return None if self.mgp is None else self.mgp.trust_level


class Ending(msgspec.Struct, frozen=True):
    """A server that somebody wants to be rid of."""

    id: _Name
    reason: _Reason = ""


def read_wanted(params: Mapping[str, Any]) -> Wanted | Failure:
    """What a registration asks for, with permissions by their canonical names."""
    found = _read(params, Wanted)
    if isinstance(found, Failure):
        return found
    flaw = _flaw_of(found)
    if flaw is not None or found.mgp is None:
        return flaw or found
    try:
        needs = declared_permissions(list(found.mgp.permissions_required))
    except ValueError as problem:
        return _wrong("mgp.permissions_required", str(problem))
    mgp = msgspec.structs.replace(found.mgp, permissions_required=needs)
    return msgspec.structs.replace(found, mgp=mgp)


def _flaw_of(found: Wanted) -> Failure | None:
    if not found.justification.strip():
        return _wrong("justification", "it says why the server is needed, and is not empty")
    for member, text in _texts(found):
        if "\0" in text:
            return _wrong(member, "a NUL character cannot be passed to a program")
        if hides(text):
            # A secret or a file of the operator's would go to whatever was registered.
            return _wrong(member, "${…} is not replaced in what is registered; write the value")
    for name in found.env:
        if loads_code(name) or moves_traffic(name) or is_ours(name):
            return _wrong(f"env.{name[:64]}", "this variable decides what is run or reached")
    return None


def read_ending(params: Mapping[str, Any]) -> Ending | Failure:
    """Which server is to end, and why."""
    return _read(params, Ending)


def _texts(found: Wanted) -> list[tuple[str, str]]:
    named = [("id", found.id), ("command", found.command), ("created_by", found.created_by)]
    named += [("args", one) for one in found.args]
    named += [("env", one) for pair in found.env.items() for one in pair]
    return named


def _read(params: Mapping[str, Any], kind: type[_Params]) -> _Params | Failure:
    try:
        return msgspec.convert(params, kind)
    except msgspec.ValidationError as problem:
        return Failure("invalid_params", f"params: {problem}")


def _wrong(member: str, what: str) -> Failure:
    return Failure("invalid_params", f"params.{member}: {what}", {"field": member})
