"""HTTP APIs as tool servers: an OpenAPI document read into tools, and their calls as HTTP requests."""
