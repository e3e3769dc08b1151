"""Where callers come in: transport, protocol and kernel joined, and nothing else."""
