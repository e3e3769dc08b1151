"""OpenAPI 3.0 document of the REST endpoint, made from the tools that a caller may call."""
