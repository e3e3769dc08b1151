"""I/O only: moves whole messages from one place to another and understands none of them.

Our own HTTP/1.1 server (`http_server`, `http_connection`, `http_exchange`, `http_head`) and client (`http_client`, `http_pool`,
`http_dial`, `http_caller`, `http_answer`), WebSocket, SSE, TCP, child processes (`process`, `launch`, `stderr`), our own standard
input and output. `accept` takes new connections, a few in each turn; `connection_limits` says how many may be open; `tls` decrypts a
little at a time; `http_slices` and `websocket_intake` give every connection its turn and its bounds. `workers` keeps worker
processes, `slices` does long work a few milliseconds at a time, `large_text` looks through large texts.
"""

__all__: list[str] = []
