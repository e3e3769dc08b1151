"""Groundhog dialect: JSON-RPC over WebSocket, HTTP or TCP, with sessions, tool registration and shipped tools.

Its parts can each be replaced: `sessions` (who has which session), `client` (requests to answers),
`types.Parts` (what they need of the gateway: kernel, registry of names, error handler, record), and
`endpoint` (WebSocket and HTTP). The shapes of requests are `mcp/wire/groundhog`, those of
answers `dialects/groundhog/outcomes`.
"""
