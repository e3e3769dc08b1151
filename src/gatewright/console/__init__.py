"""The web console: screens, a JSON API below `/api/v1` and one event stream for people who answer for agents; at an address of its own.

Begin with `feature.py` (when it is served), then `site.py` (routes and what every request passes), `screen.py` (what a screen is made
of) and `screens/inbox.py`, the model of a screen.
"""
