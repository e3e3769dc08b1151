"""MCPx, the protocol of rooms, without I/O: envelopes, payloads, capabilities, and one topic as a state machine.

Begin with `topic`, which uses all others but `payload`; `rooms/` drives it.
"""
