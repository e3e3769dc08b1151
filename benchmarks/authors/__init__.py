"""The same ten tools, and the same ten mistakes, written with our SDK, the official one and FastMCP."""
