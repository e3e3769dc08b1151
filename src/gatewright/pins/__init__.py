"""Tool pinning: tools whose definition changed or looks like prompt injection are hidden and refused until an operator accepts."""
