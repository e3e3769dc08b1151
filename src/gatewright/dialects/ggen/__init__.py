"""ggen dialect: JSON-RPC at `/rpc`, with the credential inside the request or in a header."""
