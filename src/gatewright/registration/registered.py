"""`Registered`: server registered at run time, as stored; `server_of` builds its settings (judged script, sandbox)."""

from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import msgspec

from gatewright.call import Who
from gatewright.config import Origin, Problem, Server, Settings
from gatewright.config.check import Report
from gatewright.config.documents import Document
from gatewright.config.model import Mgp
from gatewright.config.servers import build_server
from gatewright.config.substitute import Sources, Undefined

__all__ = ["Registered", "Unusable", "runs_script", "server_of"]

_OURS = frozenset({"python", "python3"})
_ORIGIN = "registered at run time"


class Unusable(Exception):  # noqa: N818 - a verdict
    """The configuration could not have such a server."""


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """One server. Who registered it is what authentication said; `created_by` is what is shown."""

    id: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    extensions: tuple[str, ...] | None = None
    """None: it is plain MCP."""
    permissions: tuple[str, ...] = ()
    trust_level: Literal["standard", "trusted", "sandboxed"]
    lifetime: Literal["session", "persistent"]
    session: str | None = None
    """The session with which it ends."""
    kind: Literal["agent", "owner", "operator", "anonymous"]
    by: str
    """Kind and id of who registered it."""
    created_by: str
    justification: str
    at: float
    """Unix seconds."""
    code: str | None = None
    """The text of its script, which was judged and is what runs, whatever becomes of the file that was named."""
    digest: str = ""
    """SHA-256 of `code`, in hex."""

    @property
    def who(self) -> Who:
        """Who registered it."""
        return self.kind, self.by

    @property
    def by_operator(self) -> bool:
        """Whether an operator did."""
        return self.kind == "operator"


def runs_script(command: str) -> bool:
    """Whether a program is a Python interpreter by its name, so that its first argument is a script."""
    head, word, version = PurePosixPath(command).name.partition("python")
    return bool(word) and not head and (not version or version.replace(".", "").isdigit())


def server_of(one: Registered, settings: Settings, problem: str = "") -> Server:
    """The server as the configuration would have it; `problem` keeps it down. Raises `Unusable`."""
    folder = (settings.files[0] if settings.files else Path(_ORIGIN)).absolute().parent
    document = Document(folder / _ORIGIN, {"servers": [_table(one, settings)]}, {})
    report = Report(document)
    table = document.data["servers"][0]
    built = build_server(table, ("servers", 0), report, _no_sources(settings.storage.path))
    if built is None:
        raise Unusable("; ".join(f"{found.key}: {found.what}" for found in report.errors))
    origin = Origin(Path(_ORIGIN))
    down = Problem(origin, f"servers.{one.id}", problem, "see docs/registration.md")
    return msgspec.structs.replace(
        built,
        args=built.args if one.code is None else _args(one, one.code),
        mgp=_mgp(one, built.mgp, settings),
        created_by=one.created_by,
        registered_by=None if one.by_operator else one.who,
        registered_at=0.0 if one.by_operator else one.at,
        origin=origin,
        problem=down if problem else built.problem,
    )


def _args(one: Registered, code: str) -> tuple[str, ...]:
    """The text that was judged runs, and no file that somebody could change. Isolated mode: neither variables nor files where
    it is started say what it imports. In UTF-8, as it was judged: in the locale that a variable names a `\\` may be half a character."""
    # With a line end nobody takes it for the name of a file.
    return "-I", "-Xutf8", "-c", code if code.endswith("\n") else f"{code}\n", *one.args[1:]


def _mgp(one: Registered, said: Mgp | None, settings: Settings) -> Mgp | None:
    """What an agent names, its server is asked for: nobody gave it. Nor is everything approved that it declares."""
    if said is None or one.by_operator:
        return said
    policy = settings.permissions.policy
    return msgspec.structs.replace(
        said,
        permissions_required=(),
        permissions_asked=one.permissions,
        permission_policy="interactive" if policy == "auto_approve" else policy,
    )


def _table(one: Registered, settings: Settings) -> dict[str, Any]:
    """Its `[[servers]]` table, but for what no table says."""
    said = settings.registration
    table: dict[str, Any] = {
        "id": one.id,
        "transport": "stdio",
        "command": one.command,
        "args": list(one.args),
        "env": dict(one.env),
        "default_policy": "opt-in",
    }
    if one.code is not None:
        table |= {"command": sys.executable if one.command in _OURS else one.command, "args": []}
    if not one.by_operator:
        table["call_timeout_s"] = said.call_timeout_s
    if one.trust_level == "sandboxed":
        table["isolation"] = "strict"
        table["sandbox"] = {"memory_bytes": said.memory_bytes, "cpu_s": said.cpu_s}
    if one.extensions is not None or one.trust_level != "standard" or one.permissions:
        table["mgp"] = {
            "extensions": list(one.extensions or ()),
            "permissions_required": list(one.permissions),
            "trust_level": one.trust_level,
        }
    return table


def _no_sources(state: Path) -> Sources:
    """Nothing is replaced in what was registered: neither variables, nor secrets, nor files."""

    def secrets() -> Any:
        raise Undefined("secrets are not replaced here", "write the value")

    return Sources({}, secrets, store=state)
