"""Load generators: one in C and one in Python, with the same command line and the same answer."""
