"""Commands about callers: `gatewright key`, `gatewright session`."""
