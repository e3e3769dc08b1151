"""REST dialect: each tool is a path and its arguments are the JSON body; with an HTML page for calling tools."""
