"""Streaming (MGP §12): results in chunks, progress and cancellation for clients that negotiated `streaming`.

What a stream is stands in `mcp/server/streams.py`, which servers made with the SDK use as well; `feature.py` puts it around every call
of the gateway. Chunks come from MGP servers and from Python tools that yield; plain servers are asked for MCP's progress, which is
translated. Begin with `feature.py`.
"""
