"""ggen: JSON-RPC at `/rpc` with credentials inside the request."""
