"""Data flow control: a session that read private data and untrusted text needs a person's consent to send data out."""
