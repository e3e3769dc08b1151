"""Dry-run methods: `gatewright/policy/explain` (every gate's decision) and `tools/validate` (arguments only)."""
