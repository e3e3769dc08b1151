"""Gate `confirm`: does somebody agree to this very call?"""

from gatewright.approvals.gate import Confirm, OpenWorld, Rule
from gatewright.approvals.operators import Desk, Operators, Queue

__all__ = ["Confirm", "Desk", "OpenWorld", "Operators", "Queue", "Rule"]
