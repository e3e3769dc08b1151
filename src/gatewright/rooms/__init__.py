"""Rooms (MCPx): topics in which several agents and people see everything that is said.

`hub` has all topics and is the one way into them, for sockets (`endpoint`) and for parts of this process (`inside`) alike; one topic
as a state machine is `mcpx.topic`. `identities` makes a participant of a token, `callers` says who a participant is to the kernel,
`promotion` gives and takes capabilities, `gateway_participant` offers the gateway's own tools. `participants/` is the library for
taking part: proposals, tools, rules, the orchestrator.
"""
