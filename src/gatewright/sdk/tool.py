"""`Tool`: immutable declaration of one tool (name, schemas, annotations, security, function) with its fingerprint.

A `Tool` never changes. It is equal to its declaration: two tools of the same name and version are the same tool
when their fingerprints are, which is what makes registration idempotent (`registry`). It knows no transport, so
that the same tool runs in a test, in a server of its own and inside the gateway.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from gatewright.patterns import ASCII, Pattern
from gatewright.sdk.context import context_parameter
from gatewright.sdk.errors import RegistrationError, SchemaError
from gatewright.sdk.versions import is_version

if TYPE_CHECKING:
    from gatewright.schemas.schema import CompiledSchema

__all__ = [
    "CACHE_TTL_S",
    "Risk",
    "Tool",
    "ToolSecurity",
    "Validator",
    "canonical",
    "copied",
    "is_generator",
]

Risk = Literal["safe", "moderate", "dangerous"]

Validator = Callable[[dict[str, Any]], Any]
"""A plug-in that judges arguments which fit the schema: it raises `ValueError`, or returns a text, in order to
reject them. It may be a coroutine function. Whatever else it raises rejects them too."""

CACHE_TTL_S = 300
"""How long what discovery found stays valid, in seconds, unless a tool says otherwise."""

_NAME = Pattern(r"[A-Za-z0-9_.\-]{1,128}", ASCII)
_RISKS = ("safe", "moderate", "dangerous")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSecurity:
    """What the author says about a tool's danger (MGP §4.3). The operator's word can only make it stricter."""

    risk_level: Risk = "moderate"
    permissions_required: tuple[str, ...] = ()
    """Names of MGP §3.2, or reverse-domain names."""
    validator: str = "none"
    """One of the gateway's validators: `sandbox`, `paths`, `network_restricted`, `readonly`, `code_safety` …"""
    confirmation_required: bool = False
    """Whether a person has to agree to each call."""

    def to_json(self) -> dict[str, Any]:
        """The `security` object of a tool definition."""
        return {
            "risk_level": self.risk_level,
            "permissions_required": list(self.permissions_required),
            "validator": self.validator,
            "confirmation_required": self.confirmation_required,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """One declared tool. Raises `RegistrationError` for a declaration that cannot work.

    Schemas are JSON Schema 2020-12 as plain dicts, copied once; treat them as read-only.
    """

    name: str
    """1 to 128 characters of A-Z, a-z, 0-9, `_`, `.` and `-` (MCP 2026-07-28)."""
    description: str
    input_schema: dict[str, Any]
    function: Callable[..., Any]
    """Takes the arguments by name. A coroutine function runs on the loop, a plain one in a thread."""
    version: str = "1.0.0"
    output_schema: dict[str, Any] | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    category: str = ""
    examples: tuple[Mapping[str, Any], ...] = ()
    """Arguments that work. Each has to satisfy the input schema; `check` looks."""
    deprecated_in: str | None = None
    """The version that deprecated it. It still runs, and says so."""
    author: str = ""
    destructive: bool = False
    """Changes or deletes something: runs only while the trust gateway is TRUSTED."""
    read_only: bool = False
    idempotent: bool = False
    security: ToolSecurity | None = None
    timeout_s: float | None = None
    """Seconds one call may take; None is the registry's limit."""
    validators: tuple[Validator, ...] = ()
    """Asked in this order, after the schema and those of the registry."""
    cache_ttl: int = CACHE_TTL_S
    """Seconds that discovery may go on using what it found without looking again."""
    module: str = ""
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Turns checked JSON arguments into what the function takes (`function_schema`); None where they are the same."""
    wraps_result: bool = False
    """The output schema is that of `{"result": value}`, because the function returns no object."""
    context: str | None = field(init=False, default=None)
    """The parameter that is given the call's context (`context.Context`)."""
    waits: bool = field(init=False, default=False)
    """Whether the function is a coroutine function or an asynchronous generator; any other runs in a thread."""
    yields: bool = field(init=False, default=False)
    """Whether the function is a generator of texts: its result is all of them, and each is sent ahead to who asked for a stream."""
    fingerprint: str = field(init=False, default="")
    """SHA-256 of name, version, schemas, `destructive` and security in canonical JSON, hexadecimal."""

    # A list, because the instance is frozen; filled at the first call.
    _checks: list[CompiledSchema] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        _check_words(self)
        _set(self, "input_schema", _object_schema(self.name, "inputSchema", self.input_schema))
        if self.output_schema is not None:
            out = _object_schema(self.name, "outputSchema", self.output_schema)
            _set(self, "output_schema", out)
        _set(self, "tags", tuple(self.tags))
        _set(self, "validators", tuple(self.validators))
        _set(self, "context", context_parameter(self.function))
        plain = _plain(self.function)
        _set(self, "waits", inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain))
        _set(self, "yields", is_generator(self.function))
        if self.yields and self.output_schema is not None:
            raise RegistrationError(
                f"tool {self.name} yields texts, which no output schema describes",
                advice="Leave the output schema out, or return one value",
            )
        _set(self, "examples", tuple(copied(dict(one)) for one in self.examples))
        _set(self, "fingerprint", _fingerprint(self))

    @property
    def effective_security(self) -> ToolSecurity | None:
        """The author's word, with a destructive tool at least dangerous (decision C-43)."""
        if not self.destructive:
            return self.security
        said = self.security or ToolSecurity()
        return ToolSecurity(
            # C-43: a destructive tool is at least dangerous, whatever its author says.
            risk_level="dangerous",
            permissions_required=said.permissions_required,
            validator=said.validator,
            confirmation_required=said.confirmation_required,
        )

    def definition(self) -> dict[str, Any]:
        """The tool as `tools/list` of MCP shows it, with MGP's `security` where there is any."""
        found: dict[str, Any] = {"name": self.name}
        if self.title:
            found["title"] = self.title
        found["description"] = self._described()
        found["inputSchema"] = copied(self.input_schema)
        if self.output_schema is not None:
            found["outputSchema"] = copied(self.output_schema)
        found["annotations"] = {
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
        }
        security = self.effective_security
        if security is not None:
            found["security"] = security.to_json()
        return found

    def input_check(self) -> CompiledSchema:
        """The compiled input schema, made once. Raises `SchemaError` where nothing can be checked by it."""
        return self._compiled()[0]

    def output_check(self) -> CompiledSchema:
        """The compiled output schema; without one everything passes. Raises `SchemaError`."""
        return self._compiled()[1]

    def check(self) -> None:
        """Look now at what is otherwise found at the first call: both schemas can be used, and the examples
        satisfy them. Raises `RegistrationError`."""
        try:
            check = self.input_check()
        except SchemaError as problem:
            raise RegistrationError(problem.message) from problem
        for index, example in enumerate(self.examples):
            objection = check.objection(example)
            if objection is not None:
                raise RegistrationError(
                    f"tool {self.name}: example {index} does not satisfy the input schema: "
                    f"{objection.path or '/'}: {objection.message}"
                )

    def _compiled(self) -> list[CompiledSchema]:
        if not self._checks:
            from gatewright.schemas.graph import UnusableSchema
            from gatewright.schemas.schema import compile_schema

            # The schema `true` admits everything.
            out = True if self.output_schema is None else self.output_schema
            try:
                self._checks[:] = [compile_schema(self.input_schema), compile_schema(out)]
            except UnusableSchema as problem:
                raise SchemaError(
                    f"a schema of {self.name} {problem}",
                    reason="schema_unusable",
                    details={"tool_name": self.name},
                    advice="The author has to correct the schema",
                ) from problem
        return self._checks

    def entry(self) -> dict[str, Any]:
        """The registration entry: name, description, inputSchema, and metadata (module, destructive,
        deprecated_in, cache_ttl, and what else is known)."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": copied(self.input_schema),
            "metadata": {
                "module": self.module,
                "destructive": self.destructive,
                "deprecated_in": self.deprecated_in,
                "cache_ttl": self.cache_ttl,
                "version": self.version,
                "category": self.category,
                "tags": list(self.tags),
                "author": self.author,
            },
        }

    def _described(self) -> str:
        if self.deprecated_in is None:
            return self.description
        return f"{self.description}\n\nDeprecated since {self.deprecated_in}.".lstrip()


def copied(value: Any) -> Any:
    """A JSON value of its own; a tenth of what `deepcopy` takes."""
    if isinstance(value, dict):
        return {name: copied(one) for name, one in value.items()}
    return [copied(one) for one in value] if isinstance(value, list | tuple) else value


def canonical(value: Any) -> bytes:
    """JSON text in which the order of members does not matter. Raises `ValueError` or `TypeError`."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def _set(tool: Tool, name: str, value: Any) -> None:
    object.__setattr__(tool, name, value)


def _plain(function: Callable[..., Any]) -> Any:
    plain = function.func if isinstance(function, functools.partial) else function
    return plain if inspect.isroutine(plain) else type(plain).__call__


def is_generator(function: Callable[..., Any]) -> bool:
    """Whether a function yields, with or without `async`."""
    plain = _plain(function)
    return inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain)


def _check_words(tool: Tool) -> None:
    name: Any = tool.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RegistrationError(
            f"{name!r} cannot be a tool's name",
            advice="Use 1 to 128 of A-Z, a-z, 0-9, _, . and -",
        )
    if not callable(tool.function):
        raise RegistrationError(
            f"tool {name}: {tool.function!r} cannot be called",
            advice="Decorate a function, or pass one",
        )
    if not is_version(tool.version):
        raise RegistrationError(
            f"tool {name}: {tool.version!r} is no version", advice="Write it like 1.4.0"
        )
    if tool.destructive and tool.read_only:
        raise RegistrationError(f"tool {name} cannot be destructive and read-only at once")
    if tool.security is not None and tool.security.risk_level not in _RISKS:
        raise RegistrationError(
            f"tool {name}: there is no risk level {tool.security.risk_level!r}",
            advice="Use safe, moderate or dangerous",
        )


def _object_schema(name: str, which: str, schema: Any) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise RegistrationError(
            f"tool {name}: {which} has to be a JSON Schema of type object",
            advice='Begin it with {"type": "object", "properties": {…}}',
        )
    try:
        canonical(schema)
    except (TypeError, ValueError, RecursionError) as problem:
        raise RegistrationError(f"tool {name}: {which} is no JSON: {problem}") from None
    return {name: copied(one) for name, one in schema.items()}


def _fingerprint(tool: Tool) -> str:
    security = tool.effective_security
    words = [
        tool.name,
        tool.version,
        tool.input_schema,
        tool.output_schema,
        tool.destructive,
        None if security is None else security.to_json(),
    ]
    return hashlib.sha256(canonical(words)).hexdigest()
