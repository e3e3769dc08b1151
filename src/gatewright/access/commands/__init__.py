"""Commands of access control: `gatewright grant` and `gatewright server permit`, one module each."""
