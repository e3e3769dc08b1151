"""THE ordered lists of gates and filters that every call through every endpoint passes, without the idle ones.

A gate asks one question of a call. It refuses, or hands the call on with what it found out. Facts for the record: `access`
(the level that decided), `limited_by`, `look_at`, `sanitized`, `validator_applied`, `flow`, `confirmed_by`, `approval`; and
`task`, which is there already where the caller takes one to wait by. A gate that adds nothing returns the very call it was
given.

A filter cleans an outcome or an event on its way back: it hands on what it was given, or something that says less. A result
that no filter needs to look into stays the bytes that the server sent.

Gates and filters that are `idle`, because nothing was configured for them, are left out of the walk.
"""

from __future__ import annotations

from typing import NamedTuple

from gatewright.access.gate import Access
from gatewright.access.permission_gate import Permission
from gatewright.access.resolve_gate import Resolve
from gatewright.approvals.gate import Confirm
from gatewright.call import Filter, Gate
from gatewright.flow.filter import Flow as FlowFilter
from gatewright.flow.gate import Flow
from gatewright.identity.gate import Authenticate
from gatewright.identity.session_gate import Session
from gatewright.limits.gate import Rate
from gatewright.limits.size_filter import Size
from gatewright.limits.tool_gate import ToolRate
from gatewright.pins.gate import Definition
from gatewright.redaction.filter import Redact
from gatewright.redaction.sanitize_gate import Sanitize
from gatewright.schemas.gate import Schema
from gatewright.schemas.output_filter import OutputSchema
from gatewright.servers.link_filter import Links
from gatewright.validators.gate import Validators

__all__ = ["Filters", "Gates", "ordered_filters", "ordered_gates"]


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


class Filters(NamedTuple):
    """One of each, in order."""

    flow: FlowFilter  # before anything can fail: what was read was read
    output_schema: OutputSchema  # before redact: marks of what was taken out fit no schema
    redact: Redact  # before the size is judged: marks count
    links: Links  # after redact: what is named is what is shown
    size: Size  # last: what others cut out or put in counts


def ordered_gates(gates: Gates) -> tuple[Gate, ...]:
    """The gates that the kernel walks, without idle ones."""
    return tuple(gate for gate in gates if not getattr(gate, "idle", False))


def ordered_filters(filters: Filters) -> tuple[Filter, ...]:
    """The filters that the kernel walks, without idle ones."""
    return tuple(one for one in filters if not getattr(one, "idle", False))
