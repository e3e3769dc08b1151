"""OAuth 2.1 client logic as MCP requires it, without I/O: metadata documents, client registration, login, tokens.

Begin with `login`, the state machine; `client` builds its requests and `documents` reads the answers.
"""
