"""JSON Schema of tools: compiles schemas within bounds, checks arguments and results, explains violations; detects look-alike names.

Begin with `schema` (compile and validate), which `gate` asks about arguments and `output_filter` about results; `cost`,
`graph` and `member_names` are its parts. `messages` and `flaws` tell callers what is wrong.
"""
