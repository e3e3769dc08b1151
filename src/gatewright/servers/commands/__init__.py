"""Commands about tool servers and tools: `gatewright server`, `gatewright tool`."""
