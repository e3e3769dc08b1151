"""Commands about callers: `gatewright key` and `gatewright session`, one module each, and shared options."""
