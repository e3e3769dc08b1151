"""The configuration of Groundhog's specification, word for word."""

__all__ = ["SEED"]

SEED = """\
[mcp.protocol]
# Protocol version
version = "1.0.0"

# Transport settings
[mcp.protocol.transport]
# Transport type (websocket, http, tcp)
type = "websocket"

# Connection settings
host = "localhost"
port = 8080
path = "/mcp"

# TLS settings
[mcp.protocol.transport.tls]
enabled = true
cert_file = "/etc/groundhog/certs/server.crt"
key_file = "/etc/groundhog/certs/server.key"
ca_file = "/etc/groundhog/certs/ca.crt"

# Security settings
[mcp.protocol.security]
# Authentication requirements
require_authentication = true
authentication_timeout = 30

# Session management
session_timeout = 3600
max_concurrent_sessions = 100

# Rate limiting
[mcp.protocol.rate_limits]
# Global rate limits
global_requests_per_second = 1000
global_requests_per_minute = 60000

# Per-user rate limits
user_requests_per_second = 10
user_requests_per_minute = 600

# Per-tool rate limits
tool_requests_per_second = 5
tool_requests_per_minute = 300

# Audit settings
[mcp.protocol.audit]
# Enable audit logging
enabled = true

# Audit event types to log
log_tool_invocations = true
log_security_events = true
log_performance_events = true
log_protocol_errors = true

# Audit retention
retention_days = 90

# Audit sinks
[mcp.protocol.audit.sinks]
# File sink
file_sink = true
file_path = "/var/log/groundhog/mcp-audit.log"

# Database sink
database_sink = true
database_url = "postgresql://user:pass@localhost/groundhog"

# Remote sink
remote_sink = false
remote_endpoint = "https://audit.example.com/api/events"
"""
