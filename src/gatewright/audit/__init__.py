"""Audit trail: journal, hash chain, SQLite copy, verification, retention, sinks and commands.

The trail is written twice. `journal` appends each record to a file before the answer leaves: that
file is the record. `feeder` copies it into SQLite behind the calls' back, where `reader` finds it.
"""
