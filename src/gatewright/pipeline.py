"""`Gates` and `Filters`: the fixed order of gates for every call and of filters for its results and events; leaves idle ones out.

A gate asks one question of a call. It refuses, or hands the call on with what it found out. Facts for the record: `access`
(the level that decided), `limited_by`, `look_at`, `sanitized`, `validator_applied`, `flow`, `confirmed_by`, `approval`; and
`task`, which is there already where the caller takes one to wait by. A gate that adds nothing returns the very call it was
given.

A call that has waited in any gate is asked about once more before it is sent (`Policy.refused_since`): a grant, a key or a definition
may have gone meanwhile.

A filter cleans an outcome or an event on its way back: it hands on what it was given, or something that says less. A result
that no filter needs to look into stays the bytes that the server sent.

Gates and filters that are `idle`, because nothing was configured for them, are left out of the walk. Where the feature that would make
one is not part of the gateway, what `missing` says of it stands in its place, and refuses what may not pass without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gatewright.call import Filter, Gate

__all__ = ["Filters", "Gates", "ordered_filters", "ordered_gates"]


class Gates(NamedTuple):
    """One of each, in order."""

    authenticate: Gate  # first: everything after it is about somebody
    session: Gate  # before anything is spent on a stolen handle
    draining: Gate  # before the call counts: what comes once the gateway shuts down was never taken
    rate: Gate  # before work that costs more than counting; after we know whose count it is
    resolve: Gate  # from here on there is one subject, whatever it was called
    access: Gate  # before schema and policy details are revealed to those who may not call it
    tool_rate: Gate  # after access: who may not use a tool cannot use it up for others
    definition: Gate  # after access, too: what is held back exists for nobody else
    sanitize: Gate  # before arguments are judged: what is judged is what is forwarded
    schema: Gate  # before validators, which judge arguments of the right shape
    validators: Gate  # before permission: a blocked argument is blocked whoever sends it
    permission: Gate  # before confirm: nobody is asked about what would not be allowed anyway
    flow: Gate  # before confirm, which asks for what it found out
    confirm: Gate  # last, a person's time; asks access once more after the wait


class Filters(NamedTuple):
    """One of each, in order."""

    injection: Filter  # before flow, which notes what it finds, and before redact: marks of what was taken out break words
    flow: Filter  # before what follows can fail: what was read was read
    output_schema: Filter  # before redact: marks of what was taken out fit no schema
    redact: Filter  # before the size is judged: marks count
    links: Filter  # after redact: what is named is what is shown
    size: Filter  # last: what others cut out or put in counts


def ordered_gates(gates: Iterable[Gate]) -> tuple[Gate, ...]:
    """The gates that the kernel walks, without idle ones."""
    return tuple(gate for gate in gates if not getattr(gate, "idle", False))


def ordered_filters(filters: Iterable[Filter]) -> tuple[Filter, ...]:
    """The filters that the kernel walks, without idle ones."""
    return tuple(one for one in filters if not getattr(one, "idle", False))
