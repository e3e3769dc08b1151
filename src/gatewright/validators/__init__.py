"""The named checks (MGP §4.5): pure functions over decoded arguments.

`VALIDATORS` is the whole vocabulary that this version can keep. A name that is not in it is not a
check that passes: `judges` answers None for it, and whoever asked has to refuse. Adding a validator
means adding a function here, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gatewright.validators.by_name import runs_commands
from gatewright.validators.objection import Objection, Validator
from gatewright.validators.sandbox import sandbox
from gatewright.validators.security import OperatorWord, effective_security, problems

__all__ = [
    "VALIDATORS",
    "Objection",
    "OperatorWord",
    "Validator",
    "effective_security",
    "judges",
    "problems",
    "runs_commands",
]

VALIDATORS: Mapping[str, Validator] = MappingProxyType({"sandbox": sandbox})
"""Name → check. `none` is not here: it is the absence of a check, and `judges` knows it."""


def judges(names: str) -> tuple[Validator, ...] | None:
    """The checks behind a `Security.validator`, whose names are joined by `+`.

    Empty for `none`; None when any of the names is unknown, which must end in a refusal.
    """
    found = [VALIDATORS.get(name) for name in names.split("+") if name != "none"]
    known = tuple(check for check in found if check is not None)
    return known if len(known) == len(found) else None
