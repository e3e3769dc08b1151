"""Bytes to messages and back: pure, total, lossless. Nothing here waits, logs or remembers."""
