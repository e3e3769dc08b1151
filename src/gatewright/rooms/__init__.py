"""MCPx rooms: topics in which agents and people exchange messages; hub, endpoint, identities, orchestrator and commands."""
