"""HTTP APIs as tool servers: an OpenAPI document read into tools, and their calls as HTTP requests.

Begin with `link`, the connection that reads the document and calls the API. `reader` parses it in a child process by `text`,
`document` and `from_openapi`; `request` and `result` translate one call and its answer.
"""
