"""The gateway's own methods: `gatewright/policy/explain` and `tools/validate`. They are calls like any other."""
