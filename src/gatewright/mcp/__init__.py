"""MCP itself: message formats (`wire`), protocol state machines (`protocol`), the server side towards hosts (`server`), and
the client side towards tool servers (`client`).
"""
