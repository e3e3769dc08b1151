"""A tool's security metadata: strictest of server, operator, tool name, with validators' pointers and options; errors in a declared one.

Theory: three voices, and the strictest wins (MGP §4.5: kernel-side validation cannot be weakened by
a server's own metadata). Risk is the maximum, permissions are the union, confirmation is needed if
anybody wants it, and every validator that anybody names is applied, joined by `+`. What cannot be
understood counts as dangerous: a server that cannot spell its own risk has not told us that it is low.

That its tool is `safe` is no server's to say (0118): a declared level may raise what holds of a tool of which nobody said anything,
`moderate`, and lowers it where the operator trusts the server (`believed`). What nobody vouched for is for no `untrusted` agent.

A server may narrow or loosen only what it asked for by itself. Where the operator named the validator, or
the tool's name did, the server's pointers and options for it do not count, except that declared code rules
are kept as far as they make nothing milder.

Tool annotations of plain MCP are hints of an untrusted server, and their defaults already call every
tool destructive, so they never lower anything; they only contradict a tool that declares itself safe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, cast

from gatewright.call import Security
from gatewright.mcp.wire.permissions import canonical_permission
from gatewright.validators.shell_by_name import runs_commands

__all__ = ["ToolPolicy", "ValidatorChoice", "declared_for", "effective_security", "problems"]

Pointers = Mapping[str, tuple[str, ...]]
Options = Mapping[str, Mapping[str, Any]]

_LEVELS = ("unrestricted", "standard", "strict", "readonly")
_UNUSABLE: Mapping[str, Any] = {"unusable": True}
"""Options that no validator takes: a declaration that cannot be read refuses the calls."""


class ValidatorChoice(Protocol):
    """What the operator says about the validator of one tool."""

    @property
    def validator(self) -> str | None: ...
    @property
    def validator_args(self) -> tuple[str, ...]: ...
    @property
    def validator_options(self) -> Mapping[str, Any]: ...


def declared_for(
    names: str, theirs: Mapping[str, Any], operator: ValidatorChoice | None
) -> tuple[Pointers, Options]:
    """Pointers and options by validator, for the validators in force (`names`, joined by `+`)."""
    pointers: dict[str, tuple[str, ...]] = {}
    options: dict[str, Mapping[str, Any]] = {}
    for name in names.split("+"):
        if operator is not None and operator.validator == name:
            pointers[name] = operator.validator_args
            options[name] = operator.validator_options or _kept(name, theirs)
        elif theirs.get("validator") == name:
            pointers[name] = _pointers(theirs, name)
            options[name] = _options(theirs, name)
    return (
        {name: found for name, found in pointers.items() if found},
        {name: found for name, found in options.items() if found},
    )


def _pointers(theirs: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Pointers from `validator_args`: a list, or lists by validator. Anything else chooses nothing."""
    found = theirs.get("validator_args")
    listed = found.get(name) if isinstance(found, Mapping) else found
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        return ()
    return tuple(one for one in listed if one.startswith("/"))


def _options(theirs: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = theirs.get(name, {})
    return found if isinstance(found, Mapping) else _UNUSABLE


def _kept(name: str, theirs: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of a server's code rules holds under an operator who named the validator and no options."""
    if name != "code_safety":
        return {}
    found = dict(_options(theirs, name))
    # `unrestricted` from the server would undo what the operator asked for.
    if found.get("level") not in _LEVELS[1:]:
        found["level"] = _LEVELS[1]
    return found if name in theirs else {}


Risk = Literal["safe", "moderate", "dangerous"]

_RISKS: tuple[Risk, ...] = ("safe", "moderate", "dangerous")
_VALIDATORS = ("sandbox", "readonly", "network_restricted", "code_safety", "paths", "none")
_SIDE_EFFECTS = ("filesystem", "network", "process", "database", "notification")
_UNREADABLE = "unreadable"
"""The validator of a tool whose validator is no text. Nobody defines it, so it refuses every call."""

_PLAIN = Security()
_PLAIN_SHELL = Security(validator="sandbox")


class ToolPolicy(Protocol):
    """What the configuration says about one tool; None where it is silent."""

    @property
    def risk_level(self) -> str | None: ...
    @property
    def permissions_required(self) -> tuple[str, ...] | None: ...
    @property
    def validator(self) -> str | None: ...
    @property
    def validator_args(self) -> tuple[str, ...]: ...
    @property
    def validator_options(self) -> Mapping[str, Any]: ...
    @property
    def confirmation_required(self) -> bool | None: ...


def effective_security(
    declared: object,
    operator: ToolPolicy | None,
    name: str,
    annotations: object = None,
    *,
    believed: bool = False,
) -> Security:
    """Join the voices about one tool.

    `declared` is the tool's decoded `security` member (None when absent), `operator` the
    configuration's word, `name` the server's own name of the tool, `annotations` its MCP hints;
    `believed` whether a declared `safe` counts without a word of the operator about the tool.
    """
    if declared is None and operator is None:
        return _PLAIN_SHELL if runs_commands(name) else _PLAIN
    theirs = declared if isinstance(declared, Mapping) else {}
    validator = _validator(theirs, operator, name)
    pointers, options = declared_for(validator, theirs, operator)
    return Security(
        risk_level=_risk(declared, operator, annotations, believed),
        permissions_required=_permissions(theirs, operator),
        validator=validator,
        confirmation_required=_confirmation(theirs, operator),
        declared=True,
        validator_args=pointers,
        validator_options=options,
    )


def problems(declared: object) -> tuple[str, ...]:
    """What is wrong with a declared `security` member, one sentence each, naming the field (§4.3)."""
    if declared is None:
        return ()
    if not isinstance(declared, Mapping):
        return ("security must be an object",)
    return tuple(
        f"security.{field} must be {expected}"
        for field, absent, valid, expected in _FIELDS
        if not valid(declared.get(field, absent))
    )


def _one_of(names: tuple[str, ...]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and value in names


def _texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _effects(value: object) -> bool:
    return _texts(value) and set(cast("list[str]", value)) <= set(_SIDE_EFFECTS)


_FIELDS: tuple[tuple[str, object, Callable[[object], bool], str], ...] = (
    # field, what counts when it is absent, the test, what it must be
    ("risk_level", None, _one_of(_RISKS), "one of " + ", ".join(_RISKS)),
    ("permissions_required", (), _texts, "an array of strings"),
    ("side_effects", (), _effects, "an array of " + ", ".join(_SIDE_EFFECTS)),
    ("validator", "none", _one_of(_VALIDATORS), "one of " + ", ".join(_VALIDATORS)),
    ("reversible", False, _flag, "true or false"),
    ("confirmation_required", False, _flag, "true or false"),
)


def _risk(
    declared: object, operator: ToolPolicy | None, annotations: object, believed: bool
) -> Risk:
    # A declaration with a fault is no word for harmlessness.
    if problems(declared):
        return "dangerous"
    voices = [_level(operator.risk_level)] if operator is not None and operator.risk_level else []
    # Where nobody has said anything that may lower it.
    if not voices and not (believed and declared is not None):
        voices.append(_RISKS.index("moderate"))
    if isinstance(declared, Mapping):
        voices.append(_level(declared.get("risk_level")))
    if _says_it_writes(annotations):
        voices.append(_RISKS.index("moderate"))
    return _RISKS[max(voices)]


def _level(risk: object) -> int:
    return _RISKS.index(risk) if risk in _RISKS else len(_RISKS) - 1


def _says_it_writes(annotations: object) -> bool:
    if not isinstance(annotations, Mapping):
        return False
    return annotations.get("readOnlyHint") is False or annotations.get("destructiveHint") is True


def _permissions(theirs: Mapping[str, Any], operator: ToolPolicy | None) -> tuple[str, ...]:
    listed = theirs.get("permissions_required", ())
    named = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    if operator is not None:
        named.extend(operator.permissions_required or ())
    # A name that is no permission stays: nobody holds it, so it refuses instead of being forgotten.
    return tuple(dict.fromkeys(canonical_permission(one) or one for one in named))


def _validator(theirs: Mapping[str, Any], operator: ToolPolicy | None, name: str) -> str:
    declared = theirs.get("validator", "none")
    # Anything but a text names a validator that nobody has, and so refuses.
    voices = [declared if isinstance(declared, str) and declared else _UNREADABLE]
    if operator is not None and operator.validator is not None:
        voices.append(operator.validator)
    # Only where the operator says nothing: who names a validator, or `none`, has looked at the tool.
    elif runs_commands(name):
        voices.append("sandbox")
    return "+".join(dict.fromkeys(one for one in voices if one != "none")) or "none"


def _confirmation(theirs: Mapping[str, Any], operator: ToolPolicy | None) -> bool:
    # Anything but a plain `false` from the server is a wish to be asked.
    if theirs.get("confirmation_required", False) is not False:
        return True
    return operator is not None and operator.confirmation_required is True
