"""MCP: message formats (`wire`), state machines (`protocol`), server side for hosts (`server`), client side for tool servers (`client`).

Begin with `server/__init__` or `client/__init__`, which say how their files work together.
"""
