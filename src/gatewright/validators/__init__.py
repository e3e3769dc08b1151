"""Argument validators (MGP §4.5): `sandbox`, `paths`, `network_restricted`, `readonly`, `code_safety`, and their gate.

Begin with `registry`, which has the vocabulary and asks the validators of one tool; each is a module with `prepare`:
`sandbox` (`shell_*`), `paths`, `network`, `readonly` (`sql_reading`), `code_safety` (`code_*`). `effective_security` computes which
ones apply, `gate` runs them on each call. A name that nobody knows is not a check that passes: it refuses.
"""

from __future__ import annotations

from gatewright.schemas.objection import Objection, Prepare, Validator
from gatewright.validators.effective_security import ToolPolicy, effective_security, problems
from gatewright.validators.options import BadOptions
from gatewright.validators.registry import BUILT_IN, Checks, available, checks_for
from gatewright.validators.shell_by_name import runs_commands

__all__ = [
    "BUILT_IN",
    "BadOptions",
    "Checks",
    "Objection",
    "Prepare",
    "ToolPolicy",
    "Validator",
    "available",
    "checks_for",
    "effective_security",
    "problems",
    "runs_commands",
]
