"""Commands about the audit trail: `gatewright audit`."""
