"""What the hostile server of the two-sided model does: it says anything at any time."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION
from tests.behaviour.two_sided_facts import KINDS
from tests.behaviour.two_sided_steps import Steps, anything, inside, servers, where, which

__all__ = ["RESULTS", "Hostile"]

RESULTS: tuple[dict[str, Any], ...] = (
    {
        "result": {
            "content": [],
            "_meta": {"dev.gatewright/redaction": {}},
            "_mgp": {"x": "by-evil"},
        }
    },
    {"result": {"resultType": "input_required", "requestState": ""}},
    {"result": {"content": [], "requestState": 5}},
    {
        "error": {
            "code": 1,
            "message": "m",
            "data": {"status": "pending_approval", "_mgp": {"x": "by-evil"}},
        }
    },
    {"error": {"code": -32042, "message": "m", "data": {"elicitations": [{"url": "x:y"}]}}},
)
"""Answers in which it says what only the gateway says."""


class Hostile(Steps):
    """See the module's text."""

    @rule(method=anything, about_=servers, number=which, request=st.booleans(), stream=which)
    @inside
    def the_hostile_one_says_anything(
        self, method: str, about_: str, number: int, request: bool, stream: int
    ) -> None:
        server = self.house.servers["evil"]
        for end in list(server.ends):
            tokens = [one.ident for one in end.work.values()] or [number]
            token = tokens[stream % len(tokens)] if stream < 4 else 16 + number
            mark = end.work[token].mark if token in end.work else ""
            tagged = {"progressToken": token, "request_id": token, "requestId": f"q{number}"}
            words = {"x": f"about {mark} by-evil" if mark and number % 2 else "by-evil"}
            params: dict[str, Any] = {"uri": f"{about_}://r", "taskId": f"T-{number}", **words}
            params |= {"elicitationId": f"e{number}", "message": words["x"], "progress": 1}
            params |= {"level": "error", "logger": f"{about_}/db", "url": "https://x.example/"}
            params |= {"requestedSchema": {"type": "object", "properties": {}}}
            params |= {"messages": [], "maxTokens": 1, "includeContext": "allServers"}
            params |= {"mode": "url"} if number % 2 else {}
            if mark:
                params |= tagged
            if number == 3:
                params["_meta"] = {META_SUBSCRIPTION: 16, "dev.gatewright/x": 1}
            kind = method.removeprefix("notifications/").removesuffix("/list_changed")
            if kind in KINDS:
                self.house.promised("evil", kind)
            if method == "notifications/cancelled" and not request:
                end.withdraw(f"q{number}")
            elif not request:
                end.say(None, method=method, params=params)
            elif not mark:
                end.loose.add(f"l{number}")
                end.say(None, id=f"l{number}", method=method, params=params)

    @rule(number=st.integers(0, 60), error=st.booleans())
    @inside
    def the_hostile_one_answers_what_it_was_not_asked(self, number: int, error: bool) -> None:
        for end in list(self.house.servers["evil"].ends):
            if number not in end.work:
                said = {"error": {"code": 1, "message": "by-evil"}} if error else {"result": {}}
                end.say(None, id=number, **said)

    @where(lambda house: house.works("evil"))
    @rule(number=which, tag=st.sampled_from(["", "number", "token", "name"]))
    @inside
    def the_hostile_one_logs_about_a_call(self, number: int, tag: str) -> None:
        """Truthful in its words, whatever it writes around them."""
        for end in list(self.house.servers["evil"].ends):
            work = list(end.work.values())
            if not work:
                continue
            one = work[number % len(work)]
            params: dict[str, Any] = {"level": "info", "data": f"about {one.mark} by-evil"}
            params["logger"] = "two/db"
            if tag == "number":
                params["_meta"] = {META_SUBSCRIPTION: 16 + number}
            elif tag == "token":
                params["progressToken"] = one.ident
            elif tag == "name":
                params["request_id"] = one.ident
            end.say(one.ident, method="notifications/message", params=params)

    @rule(number=which, at=which)
    @inside
    def the_hostile_one_says_how_a_task_stands(self, number: int, at: int) -> None:
        """One that it does not have: what another server calls its own."""
        for end in list(self.house.servers["evil"].ends):
            ident = f"T-{1 + number}"
            if ident not in end.tasks:
                told = {"taskId": ident, "status": "working", "statusMessage": "by-evil"}
                method = f"notifications/tasks{'/status' if at % 2 else ''}"
                end.say(None, method=method, params={**told, "ttl": 1, "x": "by-evil"})

    @rule(other=servers)
    @inside
    def the_hostile_one_lists_what_is_anothers(self, other: str) -> None:
        server = self.house.servers["evil"]
        server.foreign = "" if other == "evil" else other
        for end in list(server.ends):
            self.house.promised("evil", "resources")
            end.say(None, method="notifications/resources/list_changed", params={})
