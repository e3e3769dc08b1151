"""Chooses each validator's argument pointers and options: the operator's, or the server's where its own metadata named that validator.

A server may narrow or loosen only what it asked for by itself. Where the operator named the validator, or
the tool's name did, the server's pointers and options for it do not count (MGP §4.5: its own metadata cannot
weaken the kernel's validation), except that declared code rules are kept as far as they make nothing milder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ["ValidatorChoice", "declared_for"]

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
