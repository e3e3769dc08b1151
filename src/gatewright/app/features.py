"""`FEATURES`: all feature classes, in the order in which they start; `features_of` creates them. Deleting a line removes that feature."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gatewright.access.feature import AccessFeature
from gatewright.approvals.feature import ApprovalsFeature
from gatewright.audit.feature import SinksFeature
from gatewright.console.feature import ConsoleFeature
from gatewright.dialects.ggen.feature import GgenFeature
from gatewright.dialects.groundhog.feature import GroundhogFeature
from gatewright.dialects.mgp.feature import MgpFeature
from gatewright.dialects.rest.feature import RestFeature
from gatewright.discovery.feature import DiscoveryFeature
from gatewright.events.feature import EventsFeature
from gatewright.feature import Feature, Ground
from gatewright.flow.feature import FlowFeature
from gatewright.lifecycle.feature import LifecycleFeature
from gatewright.limits.feature import LimitsFeature
from gatewright.pins.feature import PinsFeature
from gatewright.redaction.feature import RedactionFeature
from gatewright.registration.feature import RegistrationFeature
from gatewright.rooms.feature import RoomsFeature
from gatewright.schemas.feature import SchemasFeature
from gatewright.streaming.feature import StreamingFeature
from gatewright.tasks.feature import TasksFeature
from gatewright.telemetry.feature import TelemetryFeature
from gatewright.validators.feature import ValidatorsFeature

__all__ = ["FEATURES", "features_of"]

FEATURES: Sequence[type[Feature]] = (
    SinksFeature,  # first, so closed last: what others do until then is sent on
    DiscoveryFeature,  # before tasks and telemetry: to them a call through the gateway's tool is a call of the tool that is meant
    LimitsFeature,  # before approvals: whose call waits in the queue looks for free
    ApprovalsFeature,  # before tasks and access: both put something into the queue
    EventsFeature,  # before tasks: who may be asked in a task is theirs to say
    TasksFeature,  # before telemetry: the kernel's hooks are in this order, and a task is several calls
    StreamingFeature,  # after tasks: a task streams to nobody; before telemetry: what it asks of servers is sent
    TelemetryFeature,
    AccessFeature,  # before pins: no tool may look like the gateway's own
    PinsFeature,
    RedactionFeature,
    SchemasFeature,
    ValidatorsFeature,
    FlowFeature,
    RegistrationFeature,
    LifecycleFeature,
    MgpFeature,
    RoomsFeature,
    GgenFeature,
    RestFeature,
    GroundhogFeature,
    ConsoleFeature,  # last: it shows what all others offer
)


def features_of(kinds: Sequence[type[Feature]], ground: Ground) -> Sequence[Feature]:
    """One of each kind, in this order; each sees those before it."""
    made: list[Feature] = []
    ground = replace(
        ground, open_methods=frozenset(name for one in kinds for name in one.open_methods)
    )
    for kind in kinds:
        made.append(kind(replace(ground, before=tuple(made))))
    return made
