"""Rooms (MCPx): topics where agents and people exchange messages, and the gateway offers its tools and an orchestrator.

Begin with `hub`: it has all topics and is the one way into them, for sockets (`endpoint`) and for parts of this process
(`in_process`) alike; one topic as a state machine is `mcpx.topic`. `identities` makes a participant of a token, `callers` says who
a participant is to the kernel, `participant_changes` gives and takes capabilities, `gateway_participant` offers the gateway's own tools.
`participants/` is the library for taking part: proposals, tools, rules, the orchestrator.
"""
