"""What the operations of the inbox stand on, without a gateway: a state, a queue over it, held back definitions, and a clock."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from gatewright.approvals.asked_calls import AskedCalls
from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import Approval, Asked
from gatewright.console.approval_details import ApprovalDetails
from gatewright.console.changes import Changes
from gatewright.console.held_definitions import HeldDefinitions
from gatewright.console.inbox_decisions import ApprovalDecisions
from gatewright.console.operations import Asking
from gatewright.console.people import Person
from gatewright.console.whole_texts import WholeTexts
from gatewright.pins.decisions import Decisions
from gatewright.pins.store import Pins, Seen
from tests.approvals.voting import Voting
from tests.storage.parts import key_of, operated_state_in

__all__ = ["ASKED", "OPERATOR", "World"]

ASKED = Asked("ann", "files", "wipe", "a" * 64, "d" * 64, "p1")
OPERATOR = Person("olga", "operator", "key")
"""Who votes by the key that they have when they ask."""
GATES = ("authenticate", "access", "confirm")


class World:
    """All of it. The clock stands still until a test moves it."""

    now = 100.0

    def __init__(self, folder: Path) -> None:
        state = self.state = operated_state_in(folder, "ana", "olga", "mallory")
        self.store = Voting(state, clock=lambda: self.now, random=os.urandom)
        self.queue = ApprovalQueue(self.store, lambda *_, **__: 1)
        self.pins = Pins(state, clock=lambda: self.now)
        self.asked = AskedCalls()
        offers = (self.queue, Decisions(self.pins, lambda *_: self.pins.decided()), self.asked)
        self.changes = Changes(lambda: 1.0)
        policy = SimpleNamespace(gates=[SimpleNamespace(name=name) for name in GATES])
        parts: Any = SimpleNamespace(
            ground=SimpleNamespace(
                database=state,
                of=lambda kind: next((one for one in offers if isinstance(one, kind)), None),
            ),
            gateway=SimpleNamespace(inside=SimpleNamespace(kernel=SimpleNamespace(policy=policy))),
            changes=self.changes,
            texts=WholeTexts(),
            clock=lambda: self.now,
        )
        self.details = ApprovalDetails(parts)
        self.held = HeldDefinitions(parts)
        self.decisions = ApprovalDecisions(parts, self.queue, self.details)

    def ask(self, arguments: str = "{}", asked: Asked = ASKED, **more: Any) -> Approval:
        """One more request waits."""
        said: dict[str, Any] = {
            "risk": "dangerous",
            "reason": "",
            "quorum": 1,
            "lasts_s": 60,
        } | more
        made = self.store.ask(asked, arguments=arguments, **said)
        assert made is not None
        return made

    def list_tool(self, says: str, tool: str = "read") -> None:
        """The server `files` lists a tool, whose first definition is accepted."""
        seen = Seen(tool, f'{{"description":"{says}"}}', f"digest of {says}")
        self.pins.judge("files", [seen], ask_first=False)

    def asking(self, id: str, given: Any = None, person: Person = OPERATOR) -> Asking:
        """A request of a person."""
        key = person.key or key_of(self.state, person.id)
        return Asking(replace(person, key=key), {"id": id}, given)

    def close(self) -> None:
        """Give the state back."""
        self.store.close()
        self.pins.close()
