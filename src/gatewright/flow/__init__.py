"""Data flow control: a session that read private data and untrusted text needs a person's consent to send data out.

Begin with `gate`, which decides about a call; `filter` notes what a session has read, `taints` keeps it.
"""
