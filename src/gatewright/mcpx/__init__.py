"""MCPx, the protocol of rooms, without I/O: envelopes, capabilities, and one topic as a state machine."""
