"""Tool pinning: tools whose definition changed or looks like prompt injection are hidden and refused until an operator accepts.

Begin with `pinning`, which judges what a server lists: `store` remembers definitions and `poisoning` reads them.
"""
