"""`gatewright policy try --validator NAME [INPUT]`: judges an input, or JSON lines of standard input, by one validator; `--why` explains.

A line is an object with `id` and `input`; `input` is what the validator judges: a command line, a URL, a path,
code, SQL. `{url, dns, redirects}` plays look-ups and redirects, `{path, symlinks}` links, and the options of
`code_safety` may stand beside `input`, for that line alone. Nothing is run, opened or asked, except name
servers with --resolve.
"""

from __future__ import annotations

import json as plain_json
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import Json
from gatewright.cli.output import print_text
from gatewright.validators import BadOptions, Objection, Prepare, Validator, available
from gatewright.validators.network import Unresolved
from gatewright.validators.network import prepare as prepare_network
from gatewright.validators.registry import Checks, preparer
from gatewright.validators.why import why as explained_by

__all__ = ["try_inputs"]

_Judge = Callable[[Any], Objection | None]

_BESIDE = ("level", "max_code_size_bytes", "blocked_imports", "blocked_patterns", "allowed_imports")
"""Options of `code_safety` that a line may bring."""


class _BadLine(ValueError):  # noqa: N818 - a verdict on a line
    """A line cannot be judged; the text says why."""


def try_inputs(  # noqa: PLR0913, PLR0917 - one argument for each option
    validator: Annotated[
        str,
        typer.Option("--validator", metavar="NAME", help="Which one; an unknown name lists all."),
    ],
    line: Annotated[
        str | None,
        typer.Argument(
            metavar="[INPUT]", help="What is judged; unless given, JSON lines of standard input."
        ),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option("--root", metavar="DIR", help="paths: the folder that must not be left."),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option("--level", help="code_safety: unrestricted, standard, strict or readonly."),
    ] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", help="sandbox: allow-list, deny-list or strict.")
    ] = None,
    pipes: Annotated[
        bool, typer.Option("--pipes/--no-pipes", help="sandbox: whether commands may be piped.")
    ] = True,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", help="sandbox: a preset or a capability; may be repeated."),
    ] = None,
    options: Annotated[
        str,
        typer.Option(
            "--options", metavar="JSON", help="Further options, as validator_options has them."
        ),
    ] = "{}",
    arguments: Annotated[
        bool, typer.Option("--arguments", help="Each input is a tool's whole arguments object.")
    ] = False,
    resolve: Annotated[
        bool, typer.Option("--resolve", help="network_restricted: look names up.")
    ] = False,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Say what decided: table, entry, option and effect, and settings with which it would pass.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Judge one input, or those of standard input, one JSON object with id and input a line, by one validator.

    Of standard input one verdict a line, in the same order, as soon as it is there: id, verdict (allow or block), the
    rule and reasons. A line that cannot be judged gets an error in its place; the exit code is 2 then.
    """
    folder = None if root is None else str(Path(root).absolute())
    named = {"root": folder, "level": level, "mode": mode, "allow": allow or None}
    given = _given(validator, named, pipes=pipes, more=options)
    beside = _BESIDE if validator == "code_safety" else ()
    judges = _Judges(_prepare(validator, resolve=resolve), given, beside, whole=arguments)
    judges.why = validator if why else ""
    judges.of({})
    if line is None:
        _try_lines(judges)
        return
    value = _arguments(line) if arguments else line
    found = _told(judges, {"id": None, "input": value})
    _print(found) if json else _say(found, validator)


def _arguments(line: str) -> dict[str, Any]:
    try:
        return _decoded(line.encode(errors="replace"))
    except _BadLine as problem:
        raise CliError(
            f"the input is no arguments of a tool: {problem}",
            code="usage",
            exit_code=Exit.USAGE,
            hint='with --arguments it is an object like {"command": "ls -la"}',
        ) from None


def _try_lines(judges: _Judges) -> None:
    bad = 0
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            try:
                _print(_verdict(judges, line))
            except _BadLine as problem:
                bad += 1
                _print(
                    {
                        "id": _id_of(line),
                        "line": number,
                        "error": {"code": "bad_line", "message": str(problem)},
                    }
                )
    if bad:
        raise CliError(
            f"{bad} lines could not be judged",
            code="usage",
            exit_code=Exit.USAGE,
            hint='each line is an object like {"id": "1", "input": "ls -la"}',
        )


def _given(
    validator: str, named: Mapping[str, str | list[str] | None], *, pipes: bool, more: str
) -> dict[str, Any]:
    try:
        found = plain_json.loads(more)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise CliError("--options is no JSON object", code="usage", exit_code=Exit.USAGE)
    own = {"sandbox": {"mode", "allow"}, "paths": {"root"}, "code_safety": {"level"}}.get(
        validator, set()
    )
    for name, value in named.items():
        if value is not None and name not in own:
            raise CliError(
                f"--{name} is no option of the validator {validator}",
                code="usage",
                exit_code=Exit.USAGE,
            )
    return (
        ({"pipes": pipes} if validator == "sandbox" else {})
        | found
        | {name: value for name, value in named.items() if value is not None}
    )


def _prepare(validator: str, *, resolve: bool) -> Prepare:
    if validator == "none":
        return lambda _options, _tool: Checks([], {})  # type: ignore[return-value]
    found = preparer(validator)
    if found is None:
        raise CliError(
            f"there is no validator {validator}",
            code="usage",
            exit_code=Exit.USAGE,
            hint=f"there are {', '.join(available())}",
        )
    if resolve and validator == "network_restricted":
        return lambda options, tool: prepare_network(options, tool, _looked_up)
    return found


def _looked_up(host: str) -> Sequence[str]:
    try:
        return [
            str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        ]
    except (OSError, UnicodeError):
        raise Unresolved(host) from None


class _Judges:
    """Prepared validators, one for each set of options that lines bring."""

    def __init__(
        self, prepare: Prepare, given: Mapping[str, Any], beside: Sequence[str], *, whole: bool
    ) -> None:
        self._prepare = prepare
        self._given = given
        self._beside = beside
        self._whole = whole
        self._known: dict[str, _Judge] = {}
        self.why = ""
        """The validator whose verdicts are explained; empty for none."""

    def of(self, line: Mapping[str, Any]) -> _Judge:
        """The judge of a line. Raises `CliError` where already the command line's options are unusable."""
        beside = {name: line[name] for name in self._beside if name in line}
        key = plain_json.dumps(beside, sort_keys=True)
        if key not in self._known:
            try:
                made = self._prepare({**beside, **self._given}, "")
            except BadOptions as problem:
                if beside:
                    raise _BadLine(f"its options cannot be used: {problem}") from None
                raise CliError(str(problem), code="usage", exit_code=Exit.USAGE) from None
            self._known[key] = _judge_of(made, whole=self._whole)
        return self._known[key]

    def explained(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """Why a line gets its verdict."""
        beside = {name: line[name] for name in self._beside if name in line}
        value, options = line["input"], {**beside, **self._given}

        def judged(tried: Mapping[str, Any]) -> Objection | None:
            return _judge_of(self._prepare(tried, ""), whole=self._whole)(value)

        part = value
        if self._whole:
            made = self._prepare(options, "")
            checks = made if isinstance(made, Checks) else Checks([("", made)], {})
            part = checks.refused(value)
        found = explained_by(self.why, self._prepare, options, part, judged)
        told: dict[str, Any] = msgspec.to_builtins(found)
        return told


def _judge_of(made: Validator | Checks, *, whole: bool) -> _Judge:
    checks = made if isinstance(made, Checks) else Checks([("", made)], {})
    if not whole and isinstance(made, Checks):
        return lambda _: None
    if not whole and not isinstance(made, Checks):
        return made.judge

    def judge(value: Any) -> Objection | None:
        found = checks.objection(value)
        return None if found is None else found[1]

    return judge


def _verdict(judges: _Judges, line: bytes) -> dict[str, Any]:
    found = _decoded(line)
    if "input" not in found:
        raise _BadLine("it has no input")
    return _told(judges, found)


def _told(judges: _Judges, line: Mapping[str, Any]) -> dict[str, Any]:
    objection = judges.of(line)(line["input"])
    return {
        "id": line.get("id"),
        "verdict": "allow" if objection is None else "block",
        "rule": None if objection is None else objection.rule,
        "reasons": list(_reasons(objection)),
        **({"why": judges.explained(line)} if judges.why else {}),
    }


def _say(found: Mapping[str, Any], validator: str) -> None:
    """One verdict for people."""
    if found["verdict"] == "allow":
        print_text(f"{validator} lets it pass\n")
    else:
        print_text(f"{validator} refuses it: {'; '.join(found['reasons'])}\n")
    why = found.get("why")
    if why is None:
        return
    for one in why["steps"]:
        said = " ".join(filter(None, (one["option"], one["effect"], one["value"])))
        where = one["table"] or "no table"
        verdict = f"refused by the rule {one['rule']}" if one["rule"] else "passes"
        print_text(f"  {one['entry']}: {said} ({where}): {verdict}\n")
    for options in why["widened_by"]:
        print_text(f"  passes with validator_options = {_toml(options)}\n")
    if found["verdict"] == "block" and not why["widened_by"]:
        print_text("  no option of this validator that is known to widen it lets it pass\n")


def _toml(value: Any) -> str:
    """Options as a line of `mgp.toml` has them."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_toml(one)}' for name, one in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return plain_json.dumps(value, ensure_ascii=False)


def _reasons(objection: Objection | None) -> Iterator[str]:
    if objection is None:
        return
    violations = objection.details.get("violations")
    if violations:
        yield from violations
    else:
        where = f"{objection.path} " if objection.path else ""
        yield f"{objection.rule}: {where}{objection.message}"


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        found = plain_json.loads(line)
    except (ValueError, RecursionError):
        raise _BadLine("it is no JSON") from None
    if not isinstance(found, dict):
        raise _BadLine("it is no object")
    return found


def _id_of(line: bytes) -> Any:
    try:
        return _decoded(line).get("id")
    except _BadLine:
        return None


def _print(document: Mapping[str, Any]) -> None:
    sys.stdout.write(plain_json.dumps(document) + "\n")
    sys.stdout.flush()
