"""Room participants (MCPx): client library for joining, requests, proposals, offered tools and a learning orchestrator.

Joins a topic for as long as the block, sends a request and makes a proposal:

    async with dial.join("ws://127.0.0.1:8765/ws", topic="deploys", token=token) as ada:
        tools = await ada.request("builder", "tools/list")
        proposal = ada.propose("tools/call", {"name": "deploy", "arguments": {}}, to=["builder"])
        print(await proposal.outcome(timeout_s=300))
"""

from gatewright.rooms.participants.errors import (
    AnswerTimeoutError,
    CallError,
    GoneError,
    NotAllowedError,
    NotFulfillableError,
    RoomError,
    RoomRefusedError,
)
from gatewright.rooms.participants.participant import Participant
from gatewright.rooms.participants.proposals import Ledger, Pending, Proposal
from gatewright.rooms.participants.wait_until import until

__all__ = [
    "AnswerTimeoutError",
    "CallError",
    "GoneError",
    "Ledger",
    "NotAllowedError",
    "NotFulfillableError",
    "Participant",
    "Pending",
    "Proposal",
    "RoomError",
    "RoomRefusedError",
    "until",
]
