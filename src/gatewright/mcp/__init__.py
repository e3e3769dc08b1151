"""MCP itself: messages (`wire`), state machines (`protocol`), the side that hosts talk to (`server`), and the side that
talks to tool servers (`client`)."""
