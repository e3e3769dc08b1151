"""A configuration in a folder, a call to register something, and what is registered, for tests of one part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gatewright.call import Call, Caller, Client, Failure, Mgp
from gatewright.config import Settings, load
from gatewright.registration.registered import Registered
from gatewright.registration.request import Wanted, read_wanted

__all__ = ["AGENT", "OPERATOR", "calling", "registered", "settings", "wanted"]

OPERATOR = Caller("root", "operator")
AGENT = Caller("ann")


def settings(folder: Path, text: str = "") -> Settings:
    (folder / "mgp.toml").write_text(f'[storage]\npath = "{folder}/state"\n{text}')
    return load(folder / "mgp.toml", environ={"HOME": str(folder)})


def calling(caller: Caller = AGENT, session: str | None = "s1", **params: Any) -> Call:
    return Call(
        id="c",
        door="http",
        kind="method",
        method="mgp/discovery/register",
        name="",
        params=params,
        caller=caller,
        client=Client("2025-11-25", mgp=Mgp("0.2.0", ("discovery",))),
        trace_id="0" * 32,
        session=session,
        facts={},
    )


def wanted(**more: Any) -> Wanted:
    asked = {"id": "dynamic.x", "command": "python", "args": ["x.py"], "justification": "why"}
    found = read_wanted({**asked, **more})
    assert not isinstance(found, Failure), found.message
    return found


def registered(**more: Any) -> Registered:
    said: dict[str, Any] = {
        "id": "dynamic.x",
        "command": "python",
        "args": ("x.py",),
        "trust_level": "sandboxed",
        "lifetime": "persistent",
        "kind": "agent",
        "by": "ann",
        "created_by": "ann",
        "justification": "why",
        "at": 1.0,
        "code": "print(1)",
        "digest": "d",
    }
    return Registered(**{**said, **more})
