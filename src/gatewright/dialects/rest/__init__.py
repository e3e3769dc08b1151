"""REST: each tool is a path, its arguments are the body."""
