"""Transports: HTTP server and client, WebSocket, SSE, TCP, child processes and stdio, with bounds on what each peer may cost.

Begin with `base`: a `Pipe` of whole messages, its `Receiver`, and the `Limits`. What a message says is read elsewhere.

Our own HTTP/1.1 server (`http_server`, `http_connection`, `http_exchange`, `http_head`) and client (`http_client`, `http_pool`,
`http_dial`, `http_client_connection`, `http_answer`); `websocket`, `sse_client`, `tcp`, child processes (`process`, `launch`, `stderr`),
our own standard input and output (`stdio`). `accept` takes new connections, a few in each turn; `connection_limits` says how
many may be open; `tls` decrypts a little at a time; `http_slices` and `websocket_intake` give every connection its turn and its
bounds. `workers` keeps worker processes, `slices` does long work a few milliseconds at a time, `large_text` looks through large
texts.
"""

__all__: list[str] = []
