"""The audit trail: every call's intent and end, in a hash chain on disk, before its answer leaves.

Begin with `trail`, which is opened with each call and closed with its outcome. `journal` appends each record to a file and
`flusher` brings it to disk: that file is the record. `feeder` copies it into SQLite (`rows`), where `reader` finds it. `records`
and `call_records` say what a record holds, `chain`, `verify` and `recovery` prove it, `intents` keeps those of running calls,
`retention` lets the oldest go. `anchors` and `anchoring` compare the state database with the record. `sinks/` sends records
elsewhere, in the forms of `formats`, `ocsf` and `groundhog_events`; `notifications` sends them to MGP clients.
"""
