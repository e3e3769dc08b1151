"""Approvals: calls that wait for a person's consent. Gate `confirm`, queue, store, web page and commands."""

from gatewright.approvals.gate import Confirm, OpenWorld, Rule
from gatewright.approvals.operators import Desk, Operators, Queue

__all__ = ["Confirm", "Desk", "OpenWorld", "Operators", "Queue", "Rule"]
