"""Wiring: makes the parts of a gateway from its settings, starts, reloads and stops them.

`run` is a gateway as the business of a process, `gateway` starts and stops everything in order, `features` is the list of what is made,
`policy_factory` puts the gates and filters of one configuration together, `state_watcher` applies what other processes change, `worker` is
what worker processes run: nothing is imported here, because they would load the whole gateway with it.
"""
