"""Approvals: calls that wait for a person's consent. Gate `confirm`, queue, store, web page and commands.

Begin with `gate`, which decides who is asked, and `operators`, which leads one call through the queue (`queue`, `store`).
"""

from gatewright.approvals.gate import Confirm, OpenWorld, Rule
from gatewright.approvals.operators import ApprovalRequests, Operators, Queue

__all__ = ["ApprovalRequests", "Confirm", "OpenWorld", "Operators", "Queue", "Rule"]
