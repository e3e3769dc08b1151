"""`MgpFeature`: methods `gatewright/policy/explain` and `tools/validate`, which ask the gates about a call without making it."""

from __future__ import annotations

from collections.abc import Mapping

from gatewright.dialects.mgp import validate
from gatewright.dialects.mgp.explain import METHOD, Explain
from gatewright.feature import Feature, Ground, Inside
from gatewright.servers.dispatch import Builtin

__all__ = ["MgpFeature"]


class MgpFeature(Feature):
    """Asks the gates about calls that are not made."""

    name = "mgp"

    def __init__(self, ground: Ground) -> None:
        self._who = ground.who

    def methods(self, inside: Inside) -> Mapping[str, Builtin]:
        """Both."""
        return {
            METHOD: Explain(self._who, inside.kernel, inside.gates),
            validate.METHOD: validate.Validate(inside.kernel),
        }
