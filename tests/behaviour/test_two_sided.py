"""Between callers and between servers: whoever is told anything asked for it, subscribed to it or owns it, and what is somebody's arrives.

Clients with different grants, profiles, revisions and transports, servers one of which says anything at any time, every kind of
message both ways, connections that end and begin anew, a gateway that restarts. `two_sided_judge` judges each message from outside,
`two_sided_musts` what has to come. How many steps: `GATEWRIGHT_MODEL_STEPS`, 5,000 where it says nothing. They are the same in each run; with
`GATEWRIGHT_MODEL_SEED`, a number, they are others.
"""

from __future__ import annotations

import os
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.behaviour.two_sided_reloading import Reloading
from tests.behaviour.two_sided_steps import inside, which

_EACH = 100
_STEPS = int(os.environ.get("GATEWRIGHT_MODEL_STEPS", "5000"))
_SEED = os.environ.get("GATEWRIGHT_MODEL_SEED", "")


class TwoSided(Reloading):
    """See the module's text."""

    @rule(seconds=st.sampled_from([0.1, 0.1, 0.1, 1.5, 1.5, 1.5, 7.0, 40.0]))
    @inside
    def time_goes_by(self, seconds: float) -> Coroutine[Any, Any, None]:
        return self.house.pass_time(seconds)

    @rule(one=which, other=which)
    @inside
    def the_gateway_restarts(self, one: int, other: int) -> Coroutine[Any, Any, None] | None:
        return self.house.restart() if one == 5 and other < 3 else None


if _SEED:
    seed(int(_SEED))(TwoSided)
TestTwoSided = TwoSided.TestCase
_timed: Any = TestTwoSided
_timed.pytestmark = [pytest.mark.timeout(180 + _STEPS // 5)]
del _timed  # pytest would collect it as a second one
TestTwoSided.settings = settings(
    max_examples=max(1, _STEPS // _EACH),
    stateful_step_count=_EACH,
    deadline=None,
    derandomize=not _SEED,
    database=None,
    phases=(Phase.generate,),  # a failure names its message; shrinking would take an hour
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
