"""JSON Schema: compiled, bounded, and its errors in words; and what else is asked of the arguments and results of any tool."""
