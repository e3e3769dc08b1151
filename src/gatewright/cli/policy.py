"""Command group `gatewright policy`: explain, simulate and try policy decisions without making a call."""

from __future__ import annotations

from gatewright.cli.options import group
from gatewright.cli.policy_explain import explain
from gatewright.cli.policy_simulate import simulated
from gatewright.cli.policy_try import try_inputs

__all__ = ["app"]

app = group("Ask what the rules would say, without calling anything.")


@app.callback()
def _group() -> None:
    """Ask what the rules would say, without calling anything."""


app.command("explain")(explain)
app.command("simulate")(simulated)
app.command("try")(try_inputs)
