"""Metrics, traces and health: `/metrics`, `/livez`, `/readyz`, OTLP, and the event-loop watchdog."""
