"""Commands about approvals: `gatewright approve`, `gatewright deny`."""
