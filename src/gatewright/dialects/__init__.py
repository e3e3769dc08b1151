"""Protocols besides MCP for calling tools: ggen, REST with OpenAPI, Groundhog; and dry-run methods of the gateway (`mgp/`).

Begin with `one_shot`, which runs calls of callers that only wait for an answer (ggen, REST). `groundhog/client` handles the
messages of one Groundhog client, `sessions` and `identity` say who speaks, `endpoint` and `listener` how it comes in; its tools
are `shipped` ones and those of `register`, run `confined`. `openapi/` writes the document of the REST endpoints.
"""
