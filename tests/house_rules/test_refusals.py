"""Every refusal that an operator can lift names the command that lifts it: all places that refuse are found in the source, by
reasons of the one table, and whatever names none is in a list with why."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import pytest

from gatewright.mcp.wire.codes import REASONS
from tests.house_rules.tree import source_modules

LIFTED = frozenset(
    {"access_denied", "auth_expired", "auth_failed", "auth_required", "confirmation_required"}
    | {"host_refused", "insufficient_scope", "origin_refused", "path_not_allowed"}
    | {"permission_deferred", "permission_denied", "policy_violation", "restarting"}
    | {"schema_unusable", "server_not_ready", "tool_disabled", "upstream_unavailable"}
)
"""The reasons that something which an operator does can take away."""

STAYS = {
    "the caller sends something else": {
        *("bad_security_context", "cancelled", "client_too_slow", "destructive_gate"),
        *("header_mismatch", "invalid_args", "invalid_params", "invalid_request"),
        *("limit_exceeded", "method_not_found", "missing_capability", "not_acceptable"),
        *("not_found", "parse_error", "registration_conflict", "session_unknown"),
        *("too_large", "tool_not_found", "unsupported_media", "unsupported_version"),
        *("code_safety", "validation_blocked"),
    },
    "it passes with time": {
        *("draining", "issuer_unavailable", "quota_exceeded", "rate_limited"),
        "resource_exhausted",
    },
    "a disk or a bug, for which no command is enough": {"audit_unavailable", "internal"},
    "what a server did": {
        *("output_invalid", "question_unattributable", "timeout", "tool_failed"),
        *("upstream_error", "upstream_timeout"),
    },
}

ELSEWHERE = {
    # A configuration says so, and the message names the key.
    "mcp/server/http_app.py:_mcp_socket:": "allowed_hosts",
    "rooms/endpoint.py:__call__:": "allowed_hosts",
    "flow/gate.py:__call__:policy_violation": "[flow]",
    "pins/result_filter.py:_held:policy_violation": 'injection = "mark"',
    "schemas/gate.py:_unusable:schema_unusable": 'schema = "off"',
    "missing.py:judge:policy_violation": "another gateway, made with the feature that the message names",
    "validators/gate.py:_unavailable:policy_violation": "a validator that is named but not there: the log names it",
    # It passes by itself.
    "in_force.py:identify:server_not_ready": "the gateway is about to have started",
    "call_policy.py:__call__:server_not_ready": "the gateway is about to have started",
    "call_policy.py:_nowhere:upstream_unavailable": "the gateway is about to have started",
    # The caller does something else.
    "tasks/tasks.py:_undecided:permission_denied": "make the call again",
    "tasks/tasks.py:<module>:access_denied": "a call of the tool is refused with what lifts that",
    "dialects/groundhog/sessions.py:<module>:auth_expired": "open another one with session/create",
    "approvals/gate.py:_ask_caller:permission_denied": "its own user said no",
    "approvals/texts.py:undecided:permission_denied": "an operator has decided",
    "pins/gate.py:since:confirmation_required": "call it again",
    "mcp/protocol/ggen.py:_credential:auth_failed": "the request is written wrongly",
    "rooms/hub.py:admits:access_denied": "rules and names of rooms, which are said on docs/rooms.md",
    "dialects/groundhog/register.py:_no_isolation:policy_violation": "another level, which the message proposes",
    "dialects/groundhog/directory_tool.py:_not_allowed:path_not_allowed": "folders of a tool, which its words are fixed for",
    # A rehearsal, which an operator reads.
    "approvals/gate.py:rehearse:confirmation_required": "nobody is refused",
    # Somebody else's to lift.
    "access/refusals.py:lacks:insufficient_scope": "who issues the token",
    "identity/tokens.py:<module>:auth_expired": "who issues the token",
    "identity/tokens.py:<module>:auth_failed": "who issues the token",
    "identity/tokens.py:_lacks:insufficient_scope": "who issues the token",
    "rooms/signed_tokens.py:<module>:auth_expired": "who issues the token",
    "rooms/signed_tokens.py:<module>:auth_failed": "who issues the token",
    "rooms/signed_tokens.py:_read:auth_failed": "who issues the token",
    "rooms/admin_endpoint.py:_operator:access_denied": "whoever has an operator's token sends it",
    "sdk/server/server.py:_identify:auth_required": "a server of an author's own, without our commands",
    "sdk/server/server.py:_identify:auth_failed": "a server of an author's own, without our commands",
    "sdk/server/web.py:_upgrade:": "a server of an author's own, without our commands",
    "mcp/server/server_context.py:_no_bearer:auth_failed": "serves authors' own servers as well",
    "access/gate.py:_own:access_denied": "nothing of that name is there",
    # Links know no commands: `servers.reconnector` says what an operator can do.
    "mcp/client": "told by the reconnector",
    "servers/openapi": "told by the reconnector",
    "sdk/client/calls.py:_put_once:upstream_unavailable": "a client of an author's own",
    "dialects/groundhog/registrations.py:run:upstream_unavailable": "whoever offers the tool connects again",
    "access/methods.py:_refused:permission_denied": "its two callers name one",
    "servers/dispatch.py:__call__:upstream_unavailable": "the server was taken out while the call was on its way",
    "servers/connection_wait.py:hopeless:": "it passes with time: the server is being started",
    "servers/connection_wait.py:explained:upstream_unavailable": "the problem itself says what to do",
    "servers/relisting.py:_again:restarting": "it passes with time",
    # The reason is not written where the refusal is made, and is one that the request itself earns.
    "dialects/rest/endpoint.py:refuse:": "a request that cannot be read",
    "mcp/protocol/ggen.py:refusal_of:": "a request that cannot be read",
}
"""Places that name no command, with what lifts them instead. The key ends with the reason, empty where it is not written there."""


class Place(NamedTuple):
    """Where something is refused."""

    key: str
    line: int
    reason: str
    shows: bool


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def spellers(trees: Mapping[str, ast.AST]) -> frozenset[str]:
    """`to_type`, and whatever returns what a speller makes, by whatever many steps."""
    found = {"to_type"}
    every = [
        one
        for tree in trees.values()
        for one in functions(tree)
        if isinstance(one.returns, ast.Name) and one.returns.id == "str"
    ]
    while True:
        more = {
            one.name
            for one in every
            if one.name not in found
            and any(
                calls(resolved(node.value, one), found)
                for node in ast.walk(one)
                if isinstance(node, ast.Return) and node.value is not None
            )
        }
        if not more:
            return frozenset(found)
        found |= more


def called(call: ast.Call) -> str:
    """The last word of what is called."""
    if isinstance(call.func, ast.Name | ast.Attribute):
        return call.func.id if isinstance(call.func, ast.Name) else call.func.attr
    return ""


def calls(nodes: list[ast.AST], names: set[str] | frozenset[str]) -> bool:
    return any(
        isinstance(one, ast.Call) and called(one) in names
        for node in nodes
        for one in ast.walk(node)
    )


def resolved(node: ast.AST, function: ast.AST | None) -> list[ast.AST]:
    """An expression, and what the names in it were given in the same function."""
    found, wanted = [node], {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    given: dict[str, list[ast.AST]] = {}
    for one in [] if function is None else ast.walk(function):
        if isinstance(one, ast.Assign | ast.AugAssign):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    given.setdefault(target.id, []).append(one.value)
    seen: set[str] = set()
    while wanted - seen:
        name = min(wanted - seen)
        seen.add(name)
        found += given.get(name, [])
        wanted |= {
            part.id
            for more in given.get(name, [])
            for part in ast.walk(more)
            if isinstance(part, ast.Name)
        }
    return found


def places(name: str, tree: ast.AST, names: frozenset[str]) -> Iterator[Place]:
    """Everything in a module that makes a `Refusal`, or a `Failure` of a reason that operators lift."""

    def visit(node: ast.AST, inside: ast.AST | None) -> Iterator[Place]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call) and (found := place(child, inside)) is not None:
                yield found
            within = child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else inside
            yield from visit(child, within)

    def place(call: ast.Call, inside: ast.AST | None) -> Place | None:
        kind = call.func.id if isinstance(call.func, ast.Name) else ""
        if kind not in {"Refusal", "Failure"} or not call.args:
            return None
        reasons = {
            one.value
            for one in ast.walk(call.args[0])
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value in REASONS
        }
        plain = reasons & LIFTED
        if (kind == "Failure" or reasons) and not plain:
            return None
        message = resolved(call.args[1], inside) if len(call.args) > 1 else []
        reason = min(plain) if isinstance(call.args[0], ast.Constant) else ""
        function = getattr(inside, "name", "<module>")
        return Place(f"{name}:{function}:{reason}", call.lineno, reason, calls(message, names))

    return visit(tree, None)


@cache
def every() -> list[Place]:
    trees = {name: ast.parse(text) for name, text in source_modules().items()}
    names = spellers(trees)
    return [one for name, tree in trees.items() for one in places(name, tree, names)]


def excused(place: Place) -> bool:
    return place.key in ELSEWHERE or place.key.rpartition("/")[0] in ELSEWHERE


def test_every_reason_is_one_that_an_operator_can_lift_or_says_why_not() -> None:
    said = [LIFTED, *STAYS.values()]
    assert set().union(*said) == set(REASONS)
    assert sum(map(len, said)) == len(REASONS)


def test_every_refusal_that_an_operator_can_lift_names_the_command() -> None:
    found = every()
    assert len(found) > 50
    assert [
        f"{one.key} (line {one.line})" for one in found if not one.shows and not excused(one)
    ] == []


def test_no_excuse_is_left_over() -> None:
    needed = {one.key for one in every() if not one.shows}
    needed |= {one.rpartition("/")[0] for one in needed}
    assert set(ELSEWHERE) - needed == set()


@pytest.mark.parametrize(
    ("body", "shows"),
    [
        ("return Refusal('access_denied', 'no')", False),
        ("return Refusal('access_denied', f'no: `{to_type(1)}`')", True),
        ("said = 'no'\n    return Refusal('access_denied', said)", False),
        (
            "made = to_type(1)\n    said = f'no: {made}'\n    return Refusal('access_denied', said)",
            True,
        ),
        ("return Refusal('access_denied', f'no: {granting(1)}')", True),
        ("return Refusal('access_denied', f'no: {unrelated(1)}')", False),
        ("return Refusal(why, 'no')", False),
        ("return Failure('upstream_unavailable', 'no')", False),
    ],
)
def test_a_refusal_without_a_command_is_found(body: str, shows: bool) -> None:
    text = f"""
def granting(one) -> str:
    return to_type(one)
def unrelated(one) -> str:
    return str(one)
def gate(why):
    {body}
"""
    tree = ast.parse(text)
    assert [one.shows for one in places("a.py", tree, spellers({"a.py": tree}))] == [shows]


@pytest.mark.parametrize(
    "body", ["return Refusal('invalid_args', 'no')", "return Failure('tool_failed')"]
)
def test_what_no_operator_can_lift_needs_no_command(body: str) -> None:
    tree = ast.parse(f"def gate():\n    {body}\n")
    assert list(places("a.py", tree, frozenset({"to_type"}))) == []
