"""Commands of the approval queue: `gatewright approve` and `gatewright deny`, one module each."""
