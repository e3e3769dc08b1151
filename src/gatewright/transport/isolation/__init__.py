"""Isolated child processes by bubblewrap: namespaces, read-only file system, seccomp filter, resource limits and control groups.

Begin with `rules.Isolation`, what a child is kept to, and `sandbox.prepare`, which makes the command line for it.
"""
