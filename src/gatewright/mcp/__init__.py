"""MCP: message formats (`wire`), state machines (`protocol`), server side for hosts (`server`), client side for tool servers (`client`)."""
