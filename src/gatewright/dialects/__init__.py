"""Protocols besides MCP through which tools are called: ggen, REST, Groundhog; and MGP methods about the gateway as a whole.

`one_shot` runs calls of callers that only wait for an answer (ggen, REST). `groundhog/client` handles messages of one Groundhog
client, `sessions` and `identity` say who speaks, `endpoint` and `listener` how it comes in; its tools are `shipped` ones and those
of `register`, whose processes are `confined`. `openapi/` writes the document of the REST endpoints.
"""
