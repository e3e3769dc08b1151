"""Three agents, each a tool that knows one thing: what the other examples of this folder put to work."""

from __future__ import annotations

from gatewright.sdk import Server, ToolSecurity

server = Server("specialists", "1.0.0")
SAFE = ToolSecurity(risk_level="safe")


@server.tool(read_only=True, security=SAFE)
def shout(task: str) -> str:
    """Writes text in capital letters, for headlines."""
    return task.upper()


@server.tool(read_only=True, security=SAFE)
def count(task: str) -> str:
    """Counts the words of a text, for statistics."""
    return f"{len(task.split())} words"


@server.tool(read_only=True, security=SAFE)
def mirror(task: str) -> str:
    """Reverses the order of the words."""
    return " ".join(reversed(task.split()))


if __name__ == "__main__":
    server.run()
