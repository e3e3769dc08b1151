"""Gate `confirm`: does somebody agree to this very call?"""

from gatewright.gates.confirm.gate import Confirm, OpenWorld, Rule
from gatewright.gates.confirm.operators import Desk, Operators, Queue

__all__ = ["Confirm", "Desk", "OpenWorld", "Operators", "Queue", "Rule"]
