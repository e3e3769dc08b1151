"""Judges shell lines by what each program does with each of its options: a table of programs, and one interpreter of it."""
