"""MCPx rooms: topics in which agents and people send messages; hub, endpoint, identities, orchestrator and commands."""
