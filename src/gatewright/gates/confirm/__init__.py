"""Gate `confirm`: does somebody agree to this very call?"""

from gatewright.gates.confirm.gate import Confirm, Rule
from gatewright.gates.confirm.operators import Desk, Operators, Queue

__all__ = ["Confirm", "Desk", "Operators", "Queue", "Rule"]
