"""Judges shell command lines by effects: a table of what each program's options and operands do, and one interpreter of it."""
