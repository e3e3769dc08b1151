"""Lifecycle (MGP §11): health of the gateway and its servers, graceful shutdown of either, and notifications of their transitions.

Begin with `methods`. `servers/states.py` has the state machine, `servers/server_life.py` what happens to one server.
"""
