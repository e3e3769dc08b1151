"""Data flow rules: a session that read private data and text of strangers needs a person before it sends."""
