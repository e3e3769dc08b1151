"""The Groundhog door: JSON-RPC over WebSocket, HTTP or TCP, in Groundhog's words, behind the same policy.

Its parts can each be replaced: `sessions` (who has which session), `peer` (what a message asks for),
`parts.Parts` (what they need of the gateway: kernel, registry of names, error handler, record), and
`web` (how it comes out of HTTP and WebSocket). The shapes of requests are `mcp/wire/groundhog`, those of
answers `dialects/groundhog/outcomes`.
"""
