"""What a tour through a guest shows, written down from what the guest offers.

Nothing here depends on which SDK the host or the guest is written with: that is what the tests are
about. What does depend on the two eras is said where it does.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, unquote

from tests.peers.peers import DRIVERS, Peer

__all__ = ["LEGACY", "MODERN", "STEPS", "WORDS", "form", "plainly", "visited"]

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
WORDS: dict[str, Any] = json.loads((DRIVERS / "guest.json").read_text("utf-8"))
STEPS = ("tools", "results", "questions", "work", "resources", "prompts", "changes", "cancelled")

ACCEPTED = {"action": "accept", "content": {"name": "Ada", "age": 36}}
SAMPLED = {
    "role": "assistant",
    "content": {"type": "text", "text": "word"},
    "model": "a-model",
    "stopReason": "endTurn",
}
ROOTS = {"roots": [{"uri": "file:///home/somebody", "name": "home"}]}


def visited(
    peer: Peer,
    server: str,
    *,
    legacy_only: bool,
    alone: bool = True,
    direct: bool = False,
    steps: Any = STEPS,
) -> dict[str, Any]:
    """What this peer sees of a guest called `server`. `legacy_only` says that the guest answers in the
    words of the handshake era; `alone` that the endpoint shows no other server, `direct` that no gateway stands between."""
    everything = {
        "tools": WORDS["tools"],
        "results": _results(),
        "questions": _questions("" if direct else server),
        "work": _work("" if direct else server),
        "resources": _resources(peer, server, legacy_only=legacy_only, alone=alone),
        "prompts": _prompts(),
        "changes": {
            "touched": True,
            "grown": True,
            "listed": True,
            "late": f"I am late_{peer.key}",
        },
        "cancelled": "cancelled",
    }
    found = {step: everything[step] for step in steps}
    return {"hello": _hello(peer), **found, "mgp": []}


def plainly(server: str, results: Any) -> Any:
    """Results with the URI that their guest gave an embedded resource: of several guests that name the same one, only the first is
    shown so to one caller."""
    wrapped = f"gatewright://{server}/"
    if isinstance(results, dict):
        return {name: plainly(server, one) for name, one in results.items()}
    if isinstance(results, list):
        return [plainly(server, one) for one in results]
    if isinstance(results, str) and results.startswith(wrapped):
        return unquote(results.removeprefix(wrapped))
    return results


def _hello(peer: Peer) -> dict[str, Any]:
    """Who pins a modern revision with the Python SDK asks no server what it is."""
    revision = MODERN if peer.modern else LEGACY
    if (peer.driver, peer.era) == ("sdk2", "modern"):
        return {"name": None, "revision": revision, "instructions": None, "offers": []}
    return {
        "name": "gatewright",
        "revision": revision,
        "instructions": WORDS["instructions"],
        "offers": ["completions", "logging", "prompts", "resources", "tools"],
    }


def _done(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def _results() -> dict[str, Any]:
    return {
        "add": _done("5", structuredContent={"sum": 5}),
        "show": WORDS["show"],
        "refuse": _done("It did not work", isError=True),
        "meta": {"guest/mark": {"kept": [1, None]}},
        "unknown": -32602,
    }


def form(server: str, question: str) -> dict[str, Any]:
    """The form that the user of a host is shown, under the name of the server that asks."""
    return {
        "mode": "form",
        "message": f'Server "{server}" asks: {question}' if server else question,
        "requestedSchema": WORDS["form"],
    }


def _questions(server: str) -> dict[str, Any]:
    return {
        "accept": ACCEPTED,
        "decline": {"action": "decline"},
        "cancel": {"action": "cancel"},
        "sample": SAMPLED,
        "places": ROOTS,
        "interview": {"who": ACCEPTED, "word": SAMPLED},
        "asked": [
            form(server, "Please accept"),
            form(server, "Please decline"),
            form(server, "Please cancel"),
            form(server, "Who are you?"),
        ],
    }


def _work(server: str) -> dict[str, Any]:
    return {
        "result": _done("worked"),
        "progress": [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]],
        "logs": [
            {
                "level": level,
                "logger": f"{server}/guest" if server else "guest",
                "data": f"a line of {level}",
            }
            for level in ("info", "warning")
        ],
    }


def _resources(peer: Peer, server: str, *, legacy_only: bool, alone: bool) -> dict[str, Any]:
    """Behind an endpoint that shows several guests their URIs are wrapped, because all have the same."""
    wrapped = f"gatewright://{server}/"
    listed = [
        {**one, "uri": one["uri"] if alone else wrapped + quote(one["uri"], safe="")}
        for one in WORDS["resources"]
    ]
    templates = [
        {**one, "uriTemplate": one["uriTemplate"] if alone else wrapped + one["uriTemplate"]}
        for one in WORDS["templates"]
    ]
    note = {
        "uri": ("" if alone else wrapped) + "guest:///note/of%20mine",
        "mimeType": "text/plain",
        "text": "Note of%20mine",
    }
    read = {
        name: {**found, "uri": name if alone else wrapped + quote(name, safe="")}
        for name, found in WORDS["contents"].items()
    }
    return {
        "list": listed,
        "templates": templates,
        "alpha": {"contents": [read["guest:///alpha"]]},
        "pixel": {"contents": [read["guest:///pixel"]]},
        "note": {"contents": [note]},
        # The code moved with the modern revision; who asks in it hears the new one in any case.
        "nowhere": -32002 if legacy_only and not peer.modern else -32602,
    }


def _prompts() -> dict[str, Any]:
    words = {"type": "text", "text": "Greet Ada warmly"}
    return {
        "list": WORDS["prompts"],
        "get": {
            "description": "Greets somebody",
            "messages": [{"role": "user", "content": words}],
        },
        "complete": {"completion": {"values": ["alice", "albert"], "total": 2, "hasMore": False}},
    }
