"""`why`: explains a verdict by rule id: validator, table, entry, option and effect that decided, and settings with which it would pass.

Which settings widen a validator is a list of attempts, from the narrowest on: the validator is made once more with each, and judges the
same input. So nothing is said here that it does not hold itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.schemas.objection import Objection, Prepare
from gatewright.validators.code_source import BadSource, parsed
from gatewright.validators.options import BadOptions
from gatewright.validators.sandbox import Placed, Value
from gatewright.validators.shell.table import data_file_of

__all__ = ["Step", "Why", "why"]

_MOST_STEPS, _MOST_SETTINGS, _SHOWN = 40, 3, 200

Judge = Callable[[Mapping[str, Any]], Objection | None]
"""Judges the input with options of the validator. Raises `BadOptions`."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a command does."""

    entry: str
    """The program or subcommand in the table."""
    option: str
    """The option that says so, `operand`, or nothing for what the program always does."""
    effect: str
    value: str
    table: str
    """The data file that has the entry; empty for what no entry names."""
    rule: str | None
    """What speaks against it; None where it passes."""


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why an input passes or does not."""

    validator: str
    rule: str | None
    argument: str
    """JSON pointer of the argument that is judged; empty for an input that is judged as a whole."""
    message: str
    steps: Sequence[Step]
    """What the commands of a line do, as far as it was judged; the last one decides where it is refused."""
    widened_by: Sequence[Mapping[str, Any]]
    """`validator_options` with which it would pass, each by itself; empty where none of those that are known would do."""


def why(
    validator: str, prepare: Prepare, options: Mapping[str, Any], value: Any, judge: Judge
) -> Why:
    """Why a value gets its verdict: an input, or what a validator makes of a part of it. `judge` is how the input is judged."""
    objection = judge(options)
    steps = _steps(prepare(options, ""), value)
    bare = value.line if isinstance(value, Placed) else value.text if isinstance(value, Value) else value  # fmt: skip
    widened = () if objection is None else tuple(_widened(validator, options, objection, bare, judge))  # fmt: skip
    return Why(
        validator=validator,
        rule=None if objection is None else objection.rule,
        argument="" if objection is None else objection.path,
        message="" if objection is None else objection.message,
        steps=steps,
        widened_by=widened,
    )


def _steps(made: Any, value: Any) -> list[Step]:
    """What is known of the commands of a line; nothing of what is no line."""
    watch = getattr(made, "watched", None)
    if watch is None or not isinstance(value, str | list | Placed):
        return []
    seen, refused = watch(value)
    found = [
        Step(
            entry=effect.of,
            option=effect.by,
            effect=effect.kind,
            value=effect.text[:_SHOWN],
            table=data_file_of(effect.of),
            rule=rule,
        )
        for effect, rule in seen[-_MOST_STEPS:]
    ]
    decided = bool(found) and found[-1].rule is not None
    if refused is None or decided:
        return found
    # Its words mean nothing to the table: nothing was found out that could be judged.
    rule, about = refused
    if not about:  # there is no word to name
        return found
    entry, _, option = about.partition(" -")
    last = Step(
        entry=entry,
        option=f"-{option}" if option else "",
        effect="unknown",
        value=about[:_SHOWN],
        table=data_file_of(entry),
        rule=rule,
    )
    return [*found, last]


def _widened(
    validator: str, options: Mapping[str, Any], objection: Objection, value: Any, judge: Judge
) -> Iterator[Mapping[str, Any]]:
    attempts = _ATTEMPTS.get(validator)
    left = _MOST_SETTINGS
    enough: list[list[str]] = []
    for more in () if attempts is None else attempts(options, objection, value):
        tried = {**options, **more}
        if tried.get("allow"):
            tried.pop("pipes", None)  # which has no meaning beside it
        if any(set(one) <= set(tried.get("allow") or ()) for one in enough):
            continue
        try:
            passes = judge(tried) is None
        except BadOptions:
            continue
        if passes:
            left -= 1
            enough += [tried["allow"]] if tried.get("allow") else []
            yield {
                name: one
                for name, one in tried.items()
                if one or name in options or name in {"hosts", "root"} & more.keys()
            }
            if not left:
                return


def _of_sandbox(
    options: Mapping[str, Any], objection: Objection, value: Any
) -> Iterator[Mapping[str, Any]]:
    allow = list(options.get("allow", ()))
    further = ("network", "endless", "environment")
    if not allow:
        yield {"allow": ["inspect"]}
        yield {"pipes": True}
        allow = ["inspect"]
    yield from ({"allow": [*allow, one]} for one in further if one not in allow)
    yield {"allow": [*allow, *(one for one in further if one not in allow)]}
    yield {"allow": ["develop"]}
    yield {"allow": ["develop", "environment"]}
    words = value.split() if isinstance(value, str) else value
    if objection.rule == "unknown_program" and isinstance(words, list) and words:
        yield {"programs": [*options.get("programs", ()), str(words[0])]}
    yield {"allow": [], "mode": "deny-list"}


def _of_code(
    options: Mapping[str, Any], objection: Objection, value: Any
) -> Iterator[Mapping[str, Any]]:
    names = _imports(value)
    if names:
        yield {"allowed_imports": [*(options.get("allowed_imports") or ()), *names]}
    levels = ("readonly", "strict", "standard", "unrestricted")
    at = levels.index(options.get("level", "standard"))
    yield from ({"level": one} for one in levels[at + 1 :])


def _imports(value: Any) -> list[str]:
    """The modules that a source imports."""
    try:
        tree = parsed(value) if isinstance(value, str) and len(value) < 10_000 else None
    except BadSource:
        tree = None
    found: dict[str, None] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found[node.module.partition(".")[0]] = None
    return list(found)


def _of_network(
    options: Mapping[str, Any], objection: Objection, value: Any
) -> Iterator[Mapping[str, Any]]:
    hosts = list(options.get("hosts", ()))
    if hosts:
        text = str(value.get("url", "")) if isinstance(value, dict) else str(value)
        host = text.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
        if host:
            yield {"hosts": [*hosts, host]}
        yield {"hosts": []}


def _of_paths(
    options: Mapping[str, Any], objection: Objection, value: Any
) -> Iterator[Mapping[str, Any]]:
    text = str(value.get("path", "")) if isinstance(value, dict) else str(value)
    if text.startswith("/"):
        yield {"root": text.rpartition("/")[0] or "/"}


def _of_readonly(
    options: Mapping[str, Any], objection: Objection, value: Any
) -> Iterator[Mapping[str, Any]]:
    if objection.rule == "write_tool":
        yield {"trust_name": True}
    if not options.get("dialect"):
        for one in ("postgres", "mysql", "sqlite", "tsql", "bigquery", "snowflake"):
            yield {"dialect": one}


_ATTEMPTS: Mapping[
    str, Callable[[Mapping[str, Any], Objection, Any], Iterator[Mapping[str, Any]]]
] = {
    "sandbox": _of_sandbox,
    "code_safety": _of_code,
    "network_restricted": _of_network,
    "paths": _of_paths,
    "readonly": _of_readonly,
}
