"""Commands about access: `gatewright grant`, `gatewright server permit`."""
