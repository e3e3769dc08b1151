"""The OpenAPI document of the REST endpoints."""
