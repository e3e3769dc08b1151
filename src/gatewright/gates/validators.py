"""Do the named checks of the tool pass? They run here, before anything is forwarded (MGP §4.5).

A validator that this version does not have refuses the call: its name says that the operator or the
server holds the tool for dangerous without it.
"""

from __future__ import annotations

from gatewright.call import Back, Call, Refusal
from gatewright.validators import VALIDATORS, judges
from gatewright.validators.objection import Objection

__all__ = ["Validators"]


class Validators:
    """Gate `validators`. Writes the checks it ran into the fact `validator_applied`."""

    name = "validators"

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = call.tool
        if tool is None or tool.security.validator == "none":
            return call
        names = tool.security.validator
        call.facts["validator_applied"] = names
        checks = judges(names)
        if checks is None:
            return _unavailable(names)
        arguments = call.arguments
        for check in checks:
            objection = check(arguments)
            if objection is not None:
                return _blocked(names, objection)
        return call


def _blocked(names: str, objection: Objection) -> Refusal:
    return Refusal(
        "validation_blocked",
        f"blocked by the validator {names}: {objection.message}",
        {"validator": names, "path": objection.path, "rule": objection.rule},
    )


def _unavailable(names: str) -> Refusal:
    available = sorted({"none", *VALIDATORS})
    return Refusal(
        "policy_violation",
        f"the validator {names[:100]} is not available in this version, so the call is refused; "
        f"available: {', '.join(available)}",
        {"validator": names[:100], "available": available},
    )
