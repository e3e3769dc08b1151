"""THE ordered list of gates. Every call of every door passes all of them, in this order.

Each gate is one file and asks one question; it refuses, or hands the call on with what it found out.
Facts for the record: `access` (the level that decided), `limited_by`, `look_at`, `sanitized`, `validator_applied`, `flow`,
`confirmed_by`, `approval`; and `task`, which is there already where the caller takes one to wait by.
A gate that adds nothing returns the very call it was given. One that is `idle`, because nothing was configured
for it, is left out of the walk.
"""

from __future__ import annotations

from typing import NamedTuple

from gatewright.call import Gate
from gatewright.gates.access import Access
from gatewright.gates.authenticate import LOCAL, Authenticate, Keys
from gatewright.gates.confirm import Confirm, Desk, OpenWorld, Operators, Queue, Rule
from gatewright.gates.definition import Definition
from gatewright.gates.flow import Flow, FlowRule
from gatewright.gates.permission import Permission
from gatewright.gates.rate import Rate
from gatewright.gates.resolve import Catalogue, Resolve
from gatewright.gates.sanitize import Sanitize, Wanted
from gatewright.gates.schema import Schema
from gatewright.gates.session import Session
from gatewright.gates.tool_rate import ToolRate
from gatewright.gates.validators import MOST_NAMES, Judged, Validators

__all__ = [
    "LOCAL",
    "MOST_NAMES",
    "Access",
    "Authenticate",
    "Catalogue",
    "Confirm",
    "Definition",
    "Desk",
    "Flow",
    "FlowRule",
    "Gates",
    "Judged",
    "Keys",
    "OpenWorld",
    "Operators",
    "Permission",
    "Queue",
    "Rate",
    "Resolve",
    "Rule",
    "Sanitize",
    "Schema",
    "Session",
    "ToolRate",
    "Validators",
    "Wanted",
    "ordered",
]


class Gates(NamedTuple):
    """One of each, in order."""

    authenticate: Authenticate  # first: everything after it is about somebody
    session: Session  # before anything is spent on a stolen handle
    rate: Rate  # before work that costs more than counting; after we know whose count it is
    resolve: Resolve  # from here on there is one subject, whatever it was called
    access: Access  # before schema and policy details are revealed to those who may not call it
    tool_rate: ToolRate  # after access: who may not use a tool cannot use it up for others
    definition: Definition  # after access, too: what is held back exists for nobody else
    sanitize: Sanitize  # before arguments are judged: what is judged is what is forwarded
    schema: Schema  # before validators, which judge arguments of the right shape
    validators: Validators  # before permission: a blocked argument is blocked whoever sends it
    permission: Permission  # before confirm: nobody is asked about what would not be allowed anyway
    flow: Flow  # before confirm, which asks for what it found out
    confirm: Confirm  # last, a person's time; asks access once more after the wait


def ordered(gates: Gates) -> tuple[Gate, ...]:
    """The list that the kernel walks."""
    return tuple(gate for gate in gates if not getattr(gate, "idle", False))
