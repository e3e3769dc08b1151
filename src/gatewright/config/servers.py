"""Validates `[[servers]]`, `[[grants]]` and builds `Server`, `Grant`; substitutes variables; an undefined one makes only its server unusable.

What makes one server unusable although its text is right, an undefined variable above all, becomes
the server's own `problem`: it stays down and says why, and the others start.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

import msgspec

from gatewright.config.api import check_api, complete_api
from gatewright.config.auth import check_auth, complete_auth
from gatewright.config.check import Report, read_table
from gatewright.config.file_tables import (
    TRANSPORTS,
    GrantTable,
    MgpTable,
    RestartTable,
    ServerTable,
)
from gatewright.config.isolation import complete_isolation, isolation_of
from gatewright.config.model import Grant, Mgp, Restart, Server, ToolRule
from gatewright.config.reserved_server_ids import taken_for
from gatewright.config.substitute import Sources, Undefined, hides, substitute
from gatewright.config.toml_positions import KeyPath
from gatewright.mcp.wire.methods import flaw_of_pattern
from gatewright.mcp.wire.permissions import ALIASES, STANDARD, canonical_permission
from gatewright.patterns import Pattern
from gatewright.validators import BUILT_IN, available, checks_for

__all__ = ["build_grant", "build_server"]

_PERMISSION = f"write one of {', '.join(STANDARD)}, or a name like com.example.thing"
_RESTART_KEYS = ("max_restarts", "restart_window_secs", "backoff_base_ms", "backoff_max_ms")
_VARIABLE = Pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = Pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_UNPRINTABLE = Pattern(r"[\x00-\x1f\x7f]")


def build_server(value: Any, path: KeyPath, report: Report, sources: Sources) -> Server | None:
    """One `[[servers]]` table. None when something in it was reported as an error."""
    before = len(report.errors)
    found = read_table(value, ServerTable, path, report)
    if found is None or len(report.errors) > before:
        return None
    table = ServerTable(**found)
    if own := taken_for(table.id):
        what = "is" if own == table.id else f'reads as "{own}", which is'
        report.error((*path, "id"), f'"{table.id}" {what} the gateway itself', "choose another id")
    transport = _transport(table, path, report)
    server = Server(
        id=table.id,
        transport=transport,
        confinement=isolation_of(
            table,
            transport,
            path,
            report,
            sandboxed=table.mgp is not None and table.mgp.trust_level == "sandboxed",
        ),
        trust_gateway=table.trust_gateway,
        era=table.era,
        enabled=table.enabled,
        default_policy=table.default_policy,
        hints=table.hints,
        pin=table.pin,
        call_timeout_s=table.call_timeout_s,
        connect_timeout_s=table.connect_timeout_s,
        idle_timeout_s=table.idle_timeout_s,
        share=table.share,
        schema=table.schema,
        tool_prefix=table.tool_prefix,
        redaction=table.redaction,
        hidden=table.hidden,
        injection=table.injection,
        calls=table.calls,
        result_bytes=table.result_bytes,
        methods=table.methods,
        restart=_restart(table.mgp or MgpTable(), (*path, "mgp"), report),
        mgp=None if table.mgp is None else _mgp(table.mgp, (*path, "mgp"), report),
        tools={
            name: _rule(name, table.tools, (*path, "tools", name), report) for name in table.tools
        },
        origin=report.document.origin(path),
    )
    _check_names(table, path, report)
    check_auth(table, path, report)
    check_api(table, path, report)
    return None if len(report.errors) > before else _completed(server, table, path, report, sources)


def build_grant(value: Any, path: KeyPath, report: Report) -> Grant | None:
    """One `[[grants]]` table. None when something in it was reported as an error."""
    before = len(report.errors)
    found = read_table(value, GrantTable, path, report)
    if found is None or len(report.errors) > before:
        return None
    table = GrantTable(**found)
    permissions = _permissions(table.permissions, (*path, "permissions"), report)
    if table.permission == "deny" and permissions:
        report.error(
            (*path, "permissions"),
            "a deny gives no permissions",
            'remove this line, or write permission = "allow"',
        )
    if len(report.errors) > before:
        return None
    return Grant(
        agent=table.agent,
        server=table.server,
        tool=table.tool,
        permission=table.permission,
        permissions=permissions,
        expires_at=table.expires_at,
        justification=table.justification,
        origin=report.document.origin(path),
    )


_NEEDS = {"stdio": "command", "http": "url", "sse": "url", "openapi": "openapi", "python": "python"}
_FOLLOWS: dict[str, Literal["stdio", "http", "openapi", "python"]] = {
    "command": "stdio",
    "url": "http",
    "openapi": "openapi",
    "python": "python",
}
_EXAMPLES = {
    "command": 'command = "python3"',
    "url": 'url = "http://127.0.0.1:9000/mcp"',
    "openapi": 'openapi = "api.json"',
    "python": 'python = "mypkg.mcp_tools"',
}


def _transport(
    table: ServerTable, path: KeyPath, report: Report
) -> Literal["stdio", "http", "sse", "openapi", "python"]:
    given = [one for one in _EXAMPLES if getattr(table, one) is not None]
    if table.transport is not None:
        transport = TRANSPORTS[table.transport]
    elif len(given) > 1:
        which = " and ".join(given)
        report.error(path, f"both {which} are given", 'add transport = "stdio" or "http"')
        return "stdio"
    else:
        transport = _FOLLOWS[given[0]] if given else "stdio"
    needs = _NEEDS[transport]
    if not given and table.transport is None:
        ways = f"{_EXAMPLES['command']} for a program, {_EXAMPLES['url']} for what runs already"
        report.error(path, "nothing says what this server is", f"write {ways}")
    elif needs not in given:
        report.error(path, f"a {transport} server needs a {needs}", f"write {_EXAMPLES[needs]}")
    for other in given:
        if other != needs:
            report.warn((*path, other), f"a {transport} server does not use it", "remove this line")
    if transport == "sse":
        report.warn(
            (*path, "transport"),
            "this transport is deprecated since 2025",
            'write transport = "http" if the server speaks Streamable HTTP',
        )
    return transport


def _check_names(table: ServerTable, path: KeyPath, report: Report) -> None:
    """Names that an environment or an HTTP header could not carry, and methods that are no server's to have."""
    for name in table.methods:
        flaw = flaw_of_pattern(name)
        if flaw:
            report.error((*path, "methods"), f"{name!r}: {flaw}", 'write for example "acme/*"')
    for name in table.env:
        if not _VARIABLE.fullmatch(name):
            report.error(
                (*path, "env", name),
                "this is no name of an environment variable",
                "use letters, digits and _, and no digit first",
            )
    for name in table.headers:
        if not _HEADER.fullmatch(name):
            report.error(
                (*path, "headers", name),
                "this is no name of an HTTP header",
                'use letters, digits and -, for example "X-Api-Key"',
            )


def _restart(table: MgpTable, path: KeyPath, report: Report) -> Restart:
    """The restart rule from a word, a table, or keys beside the word (decision C-19)."""
    found = {key: getattr(table, key) for key in _RESTART_KEYS}
    policy = table.restart_policy
    if isinstance(policy, RestartTable):
        found |= {
            key: value for key in _RESTART_KEYS if (value := getattr(policy, key)) is not None
        }
        policy = policy.policy or policy.restart_policy
    found["policy"] = policy
    restart = Restart(**{key: value for key, value in found.items() if value is not None})
    if restart.backoff_max_ms < restart.backoff_base_ms:
        report.error(
            (*path, "backoff_max_ms"),
            f"{restart.backoff_max_ms} is less than backoff_base_ms = {restart.backoff_base_ms}",
            "write a larger number, or a smaller backoff_base_ms",
        )
    return restart


def _mgp(table: MgpTable, path: KeyPath, report: Report) -> Mgp:
    return Mgp(
        extensions=table.extensions,
        permissions_required=_permissions(
            table.permissions_required, (*path, "permissions_required"), report
        ),
        trust_level=table.trust_level,
        permission_policy=table.permission_policy,
        missing_permissions=table.missing_permissions,
        server_id=table.server_id,
    )


_UNSAID = ToolRule()
_OF_VALIDATOR = ("validator", "validator_args", "validator_options")


def _rule(name: str, rules: Mapping[str, ToolRule], path: KeyPath, report: Report) -> ToolRule:
    """One tool's rule, with what `*` says where it says nothing itself: a table with one key takes nothing else back."""
    own = rules[name]
    every = rules.get("*")
    rule = own if every is None or own is every else _filled(own, every)
    if rule.validator is not None and any(_says(own, one) for one in _OF_VALIDATOR):
        _check_validator(rule, rule.validator, path, report)
    if rule.permissions_required is None:
        return rule
    names = _permissions(rule.permissions_required, (*path, "permissions_required"), report)
    return msgspec.structs.replace(rule, permissions_required=names)


def _filled(rule: ToolRule, every: ToolRule) -> ToolRule:
    names = [name for name in ToolRule.__struct_fields__ if name != "enabled"]
    if rule.validator is not None:  # whose options these are
        # Arguments and options of `*` belong to the validator of `*`.
        names = [name for name in names if name not in _OF_VALIDATOR]
    missing = [name for name in names if not _says(rule, name)]
    return msgspec.structs.replace(rule, **{name: getattr(every, name) for name in missing})


def _says(rule: ToolRule, name: str) -> bool:
    return bool(getattr(rule, name) != getattr(_UNSAID, name))


def _check_validator(rule: ToolRule, name: str, path: KeyPath, report: Report) -> None:
    if name not in {"none", *BUILT_IN} and name not in available():
        known = ", ".join(f'"{one}"' for one in (*BUILT_IN, "none"))
        report.error((*path, "validator"), f'"{name}" does not fit here', f"write one of {known}")
        return
    made = checks_for(name, {name: rule.validator_options}, {}, "")
    if isinstance(made, str):
        report.error((*path, "validator_options"), made, "correct or remove them")
    if not all(one.startswith("/") for one in rule.validator_args):
        report.error(
            (*path, "validator_args"), "not all are JSON pointers", 'write e.g. ["/command"]'
        )


def _permissions(names: tuple[str, ...], path: KeyPath, report: Report) -> tuple[str, ...]:
    """Canonical names, each once; shorthand with a warning (decision C-07)."""
    found: dict[str, None] = {}
    for name in names:
        canonical = canonical_permission(name)
        if canonical is None:
            report.error(path, f'"{name}" is not a permission', _PERMISSION)
            continue
        if name in ALIASES:
            report.warn(path, f'"{name}" is shorthand', f'write "{canonical}"')
        found[canonical] = None
    return tuple(found)


def _completed(
    server: Server,
    table: ServerTable,
    path: KeyPath,
    report: Report,
    sources: Sources,
) -> Server:
    """The server with every variable replaced, or with the problem that keeps it down."""
    at: KeyPath = path
    folder = report.document.path.absolute().parent
    # A secret is given to the file that names it, not to the configuration as a whole (`secret_users`).
    sources = sources.of(report.document.path, report.document.accepted)
    written: dict[str, str] = {}

    def text(key: str | int, value: str, of: str = "") -> str:
        nonlocal at
        own = (of, key) if of else (key,)
        at = (*path, *own)
        if hides(value):
            # What `config show` and the policy's digest use in its place.
            written[".".join(map(str, own))] = value
        return substitute(value, sources, folder)

    try:
        command = text("command", table.command or "")
        python = text("python", table.python or "")
        args = tuple(text(number, arg, "args") for number, arg in enumerate(table.args))
        cwd = Path(text("cwd", table.cwd or ".")).expanduser()
        confinement = complete_isolation(server.confinement, table, text, folder, cwd)
        env = {name: text(name, value, "env") for name, value in table.env.items()}
        headers = {
            name: _header(text(name, value, "headers")) for name, value in table.headers.items()
        }
        remote = server.transport in {"http", "sse"}
        url = _url(text("url", table.url or "")) if remote else ""
        api = complete_api(table, text, _url, folder)
        auth = complete_auth(table, lambda key, value: text(key, value, "auth"))
    except Undefined as found:
        problem = report.problem(at, found.what, found.instead)
        return msgspec.structs.replace(server, problem=problem, written=written)
    except RuntimeError:
        problem = report.problem(at, "~ cannot be resolved here", "write the whole path")
        return msgspec.structs.replace(server, problem=problem, written=written)
    return msgspec.structs.replace(
        server,
        command=command,
        python=python,
        args=args,
        confinement=confinement,
        cwd=folder / cwd,
        env=env,
        headers=headers,
        url=url,
        auth=auth,
        written=written,
        **api,
    )


def _header(value: str) -> str:
    if _UNPRINTABLE.search(value):
        raise Undefined("the header value has a control character", "remove it")
    return value


def _has_port(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


def _url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        usable = False
    if usable and not _has_port(parts):
        raise Undefined("the port of this URL is none", "write a number from 1 to 65535, or none")
    if not usable or _UNPRINTABLE.search(url) or " " in url:
        raise Undefined("this is not an HTTP URL", 'write url = "https://host/mcp"')
    return url
