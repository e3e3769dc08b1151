"""Rooms of MCPx: topics in which several agents and people see everything that is said. `hub` is the way in."""
